//! Rate limits asked by threads that block.

use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use libdlock::embed::may_block;
use libdlock::limit::{Absent, LimiterOptions};
use libdlock::{Client, Decision, ErrorKind, Rate, RateLimiter, Result, Wait};
use libdlock_testkit::{Proxy, Server, Side, eventually, lateness};
use tokio::runtime::Runtime;

const SOON: Duration = Duration::from_secs(5);
/// One token a day, so that none comes back while a test runs.
const A_DAY: Duration = Duration::from_secs(24 * 3600);

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap()
}

fn limiter(runtime: &Runtime, url: &str, options: LimiterOptions) -> RateLimiter {
    let client = runtime.block_on(Client::connect(url)).unwrap();
    client.rate_limiter_with("api", options).unwrap()
}

/// What a thread that may block has asked.
struct Asked {
    /// The answer, if it was there at once.
    at_once: Option<Result<Decision>>,
    rest: Pin<Box<dyn Future<Output = Result<Decision>> + Send>>,
}

impl Asked {
    async fn answer(self) -> Result<Decision> {
        match self.at_once {
            Some(answer) => answer,
            None => self.rest.await,
        }
    }
}

fn ask(limiter: &RateLimiter, cost: u64, wait: Wait) -> Asked {
    let limiter = limiter.clone();
    let mut rest = Box::pin(async move { limiter.acquire(cost, wait).await });
    let polled = may_block(|| rest.as_mut().poll(&mut Context::from_waker(Waker::noop())));
    let at_once = match polled {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    };
    Asked { at_once, rest }
}

/// Until a blocking connection is open the runtime is needed; and for a while after one that a busy machine kept waiting. What
/// is answered while the runtime does nothing was asked by this thread.
fn warm_up(runtime: &Runtime, limiter: &RateLimiter) {
    let asked_here = || {
        let (idle, until) = mpsc::channel::<()>();
        let (stop, stopped) = mpsc::channel();
        let blocked = runtime.spawn(async move {
            stop.send(()).unwrap();
            assert!(until.recv().is_err());
        });
        stopped.recv().unwrap();
        let answer = ask(limiter, 0, Wait::Try).at_once;
        drop(idle);
        runtime.block_on(blocked).unwrap();
        answer.is_some_and(|answer| answer.is_ok_and(|decision| decision.server_time.is_some()))
    };
    eventually(SOON, "a blocking connection answers", asked_here);
}

#[test]
fn a_decision_is_complete_when_the_call_returns() {
    let (server, runtime) = (Server::start(), runtime());
    let limiter = limiter(&runtime, &server.url(), LimiterOptions::new(Rate::new(1, A_DAY).burst(3)));
    let _context = runtime.enter();
    warm_up(&runtime, &limiter);
    for left in [2, 1, 0] {
        let decision = ask(&limiter, 1, Wait::For(SOON)).at_once.unwrap().unwrap();
        assert_eq!((decision.allowed, decision.remaining), (true, left));
    }
    let refused = ask(&limiter, 1, Wait::For(SOON)).at_once.unwrap().unwrap();
    assert!(!refused.allowed && refused.retry_after > Some(SOON), "no wait that cannot be long enough");
    let never = ask(&limiter, 4, Wait::Try).at_once.unwrap().unwrap();
    assert_eq!((never.allowed, never.retry_after), (false, None));
}

#[test]
fn who_is_refused_waits_first_in_line_for_what_the_answer_said() {
    let (server, runtime) = (Server::start(), runtime());
    let options = LimiterOptions::new(Rate::new(1, Duration::from_millis(200)).burst(1));
    let limiter = limiter(&runtime, &server.url(), options);
    let _context = runtime.enter();
    warm_up(&runtime, &limiter);
    runtime.block_on(limiter.reset()).unwrap();
    assert!(ask(&limiter, 1, Wait::Try).at_once.unwrap().unwrap().allowed);
    let start = Instant::now();
    let first = ask(&limiter, 1, Wait::For(SOON));
    let second = ask(&limiter, 1, Wait::For(SOON));
    let (first, second) = runtime.block_on(async {
        let second = tokio::spawn(async move { (second.answer().await.unwrap(), start.elapsed()) });
        (first.answer().await.unwrap(), second.await.unwrap())
    });
    assert!(first.allowed && second.0.allowed);
    assert!(second.1 >= Duration::from_millis(350), "two tokens take 400 ms, but for what had passed: {:?}", second.1);
}

/// As a server does that takes a snapshot: 70 ms of silence, then the answer.
#[test]
fn an_answer_after_70_ms_is_the_answer() {
    let (server, runtime) = (Server::start(), runtime());
    let proxy = Proxy::start(server.address());
    let rate = Rate::new(1, A_DAY).burst(10);
    for absent in [Absent::Fail, Absent::Deny] {
        let limiter = limiter(&runtime, &proxy.url(), LimiterOptions::new(rate).absent(absent));
        let _context = runtime.enter();
        warm_up(&runtime, &limiter);
        let left = runtime.block_on(limiter.peek()).unwrap().remaining;
        // Also when it comes in pieces that are more than 40 ms apart.
        for pieces in [false, true] {
            match pieces {
                false => proxy.delay(Side::Replies, Duration::from_millis(70)),
                true => proxy.throttle(Side::Replies, Some(200)),
            }
            let start = Instant::now();
            let asked = ask(&limiter, 1, Wait::Try);
            // This thread can be interrupted again.
            assert!(start.elapsed() < Duration::from_millis(80) + lateness(), "{:?}", start.elapsed());
            let decision = runtime.block_on(asked.answer()).unwrap();
            assert!(decision.allowed && decision.server_time.is_some(), "{absent:?}, {pieces}: {decision:?}");
            assert!(start.elapsed() >= Duration::from_millis(70), "{:?}", start.elapsed());
            proxy.heal();
            warm_up(&runtime, &limiter);
        }
        assert_eq!(runtime.block_on(limiter.peek()).unwrap().remaining, left - 2, "each was charged once");
    }
}

#[test]
fn a_lost_answer_counts_as_spent_and_is_not_asked_for_again() {
    let (server, runtime) = (Server::start(), runtime());
    let proxy = Proxy::start(server.address());
    let rate = Rate::new(1, A_DAY).burst(10);
    let failing = limiter(&runtime, &proxy.url(), LimiterOptions::new(rate));
    let denying = limiter(&runtime, &proxy.url(), LimiterOptions::new(rate).absent(Absent::Deny));
    let _context = runtime.enter();
    warm_up(&runtime, &failing);
    warm_up(&runtime, &denying);
    proxy.hold(Side::Replies);
    let start = Instant::now();
    let (failed, denied) = (ask(&failing, 3, Wait::Try), ask(&denying, 3, Wait::Try));
    let (error, denied) = (runtime.block_on(failed.answer()).unwrap_err(), runtime.block_on(denied.answer()).unwrap());
    // A response_timeout of 1 s, which both have at once, and as much for a busy machine.
    let took = start.elapsed();
    assert!(took >= Duration::from_millis(950) && took < Duration::from_secs(2), "{took:?}");
    assert_eq!((error.kind(), denied.allowed, denied.server_time), (ErrorKind::OutcomeUnknown, false, None));
    proxy.heal();
    let left = runtime.block_on(failing.peek()).unwrap().remaining;
    assert_eq!(left, 4, "each was asked for once");
}

#[test]
fn a_memory_limiter_answers_at_once() {
    let runtime = runtime();
    let limiter = limiter(&runtime, "memory://", LimiterOptions::new(Rate::new(1, A_DAY)));
    assert!(ask(&limiter, 1, Wait::Try).at_once.unwrap().unwrap().allowed);
    assert!(!ask(&limiter, 1, Wait::Try).at_once.unwrap().unwrap().allowed);
}

/// A read with a time-out is interrupted by every signal, whatever its handler says; profilers send hundreds a second.
#[test]
fn signals_lose_no_answer() {
    static DONE: AtomicBool = AtomicBool::new(false);
    extern "C" fn nothing(_: libc::c_int) {}
    let (server, runtime) = (Server::start(), runtime());
    let proxy = Proxy::start(server.address());
    let limiter = limiter(&runtime, &proxy.url(), LimiterOptions::new(Rate::new(1_000_000, SOON)));
    let _context = runtime.enter();
    warm_up(&runtime, &limiter);
    proxy.delay(Side::Replies, Duration::from_millis(5));
    // SAFETY: the handler does nothing, and the struct is filled in by sigemptyset and the two assignments.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        libc::sigemptyset(&mut action.sa_mask);
        action.sa_sigaction = nothing as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
    // SAFETY: it has no preconditions.
    let me = unsafe { libc::pthread_self() };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            while !DONE.load(Ordering::Relaxed) {
                // SAFETY: the thread lives until this one is joined.
                unsafe { libc::pthread_kill(me, libc::SIGUSR1) };
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let (mut answered, mut lost) = (0, None);
        let until = Instant::now() + Duration::from_secs(60);
        while answered < 100 && lost.is_none() && Instant::now() < until {
            let start = Instant::now();
            match ask(&limiter, 1, Wait::Try).at_once {
                Some(Ok(decision)) => answered += u32::from(decision.allowed),
                // On a busy machine it may really take that long. Then the runtime asks for a while.
                Some(Err(error)) => lost = (start.elapsed() < Duration::from_millis(40)).then_some(error),
                None => std::thread::sleep(Duration::from_millis(10)),
            }
        }
        DONE.store(true, Ordering::Relaxed);
        assert!(lost.is_none(), "its 40 ms were not over: {lost:?}");
        assert_eq!(answered, 100, "within a minute");
    });
}

type Answers = Result<Vec<Result<Decision>>>;

/// As [`ask`], for 300 keys and one that is no key.
fn ask_many(limiter: &RateLimiter) -> (Option<Answers>, Pin<Box<dyn Future<Output = Answers> + Send>>) {
    let (limiter, mut items) = (limiter.clone(), vec![(String::new(), 1)]);
    items.extend((0..300).map(|number| (format!("user:{number}"), 1)));
    let mut rest: Pin<Box<dyn Future<Output = Answers> + Send>> =
        Box::pin(async move { limiter.try_acquire_many(&items).await });
    match may_block(|| rest.as_mut().poll(&mut Context::from_waker(Waker::noop()))) {
        Poll::Ready(answers) => (Some(answers), rest),
        Poll::Pending => (None, rest),
    }
}

fn granted(answers: Answers) -> Vec<u64> {
    answers.unwrap().into_iter().skip(1).map(|answer| answer.unwrap().granted).collect()
}

#[test]
fn a_batch_is_answered_when_the_call_returns() {
    let (server, runtime) = (Server::start(), runtime());
    let limiter = limiter(&runtime, &server.url(), LimiterOptions::new(Rate::new(1, A_DAY).burst(1)));
    let _context = runtime.enter();
    warm_up(&runtime, &limiter);
    server.cmd(&["SCRIPT", "FLUSH"]);
    let (mut rounds, mut at_once) = (0, 0);
    // A server on a busy machine may take more than the 40 ms that a call waits.
    while at_once < 5 {
        let (answers, rest) = ask_many(&limiter);
        at_once += usize::from(answers.is_some());
        let answers = answers.unwrap_or_else(|| runtime.block_on(rest));
        assert_eq!(granted(answers), [u64::from(rounds == 0); 300]);
        rounds += 1;
        assert!(rounds < 200, "{at_once} of {rounds}");
    }
    // The connection is as it was.
    assert!(runtime.block_on(ask(&limiter, 1, Wait::Try).answer()).unwrap().allowed);
}

#[test]
fn a_batch_whose_answers_come_late_is_asked_for_once() {
    let (server, runtime) = (Server::start(), runtime());
    let proxy = Proxy::start(server.address());
    let limiter = limiter(
        &runtime,
        &format!("{}?response_timeout=20s", proxy.url()),
        LimiterOptions::new(Rate::new(1, A_DAY).burst(1)),
    );
    let _context = runtime.enter();
    warm_up(&runtime, &limiter);
    for pieces in [false, true] {
        match pieces {
            false => proxy.delay(Side::Replies, Duration::from_millis(700)),
            true => proxy.throttle(Side::Replies, Some(6_000)),
        }
        let start = Instant::now();
        let (at_once, rest) = ask_many(&limiter);
        let returned = start.elapsed();
        assert!(at_once.is_none());
        assert_eq!(granted(runtime.block_on(rest)), [u64::from(!pieces); 300]);
        // It waits for 40 ms, and the answers take some hundred.
        assert!(returned < start.elapsed() / 2, "{returned:?} of {:?}", start.elapsed());
        proxy.heal();
        warm_up(&runtime, &limiter);
    }
}

/// Tasks of the runtime ask together; a call from outside loses nothing by that.
#[test]
fn a_call_is_answered_at_once_while_tasks_ask() {
    let (server, runtime) = (Server::start(), runtime());
    let limiter = limiter(&runtime, &server.url(), LimiterOptions::new(Rate::new(1_000_000, A_DAY)));
    let _context = runtime.enter();
    warm_up(&runtime, &limiter);
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let limiter = limiter.clone();
            runtime.spawn(async move {
                loop {
                    limiter.try_acquire(1).await.unwrap();
                }
            })
        })
        .collect();
    let at_once = (0..100).filter(|_| ask(&limiter, 1, Wait::Try).at_once.is_some()).count();
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    assert!(at_once >= 80, "{at_once} of 100");
}
