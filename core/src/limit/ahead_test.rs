//! A client reserves no more than what comes in ten seconds, and for one large caller; its other callers stand in a queue. On
//! `memory://` with a clock that the test moves.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::answer::Answer;
use super::clocks::Clocks;
use super::object::LimitObject;
use super::oracles_test::Limiter;
use super::reservations::By;
use super::step::Block;
use super::times::Time;
use super::{Algorithm, Decision, Rate, RateLimiter, Rates};
use crate::client::Client;
use crate::config::Config;
use crate::time::ManualClock;
use crate::wait::Wait;

const SECOND: Duration = Duration::from_secs(1);

/// A client, the limiter that its callers share, the same limiter as another client has it, and the clock.
async fn limiters(rate: Rate) -> (Client, RateLimiter, RateLimiter, ManualClock) {
    let clock = ManualClock::new();
    let mut config = Config::from_url("memory://").unwrap();
    config.clock(clock.clone()).unwrap();
    let client = Client::connect_with(config).await.unwrap();
    let limiter = client.rate_limiter("api", rate).unwrap();
    // Neither knows of what the other has reserved, as two processes.
    let mut theirs = limiter.clone();
    theirs.shared = Arc::new(LimitObject::new(limiter.shared.name().clone(), limiter.shared.limits().clone()));
    (client, limiter, theirs, clock)
}

async fn settle() {
    for _ in 0..50 {
        tokio::task::yield_now().await;
    }
}

/// Callers that wait, by the numbers that they are given, and what they were answered.
struct Crowd {
    done: mpsc::UnboundedSender<(u64, Decision)>,
    answers: mpsc::UnboundedReceiver<(u64, Decision)>,
    callers: Vec<JoinHandle<()>>,
}

impl Crowd {
    fn new() -> Crowd {
        let (done, answers) = mpsc::unbounded_channel();
        Crowd { done, answers, callers: Vec::new() }
    }

    async fn wait(&mut self, limiter: &RateLimiter, cost: u64, wait: Wait) -> u64 {
        let (limiter, done, number) = (limiter.clone(), self.done.clone(), self.callers.len() as u64);
        self.callers.push(tokio::spawn(async move {
            done.send((number, limiter.acquire(cost, wait).await.unwrap())).unwrap();
        }));
        settle().await;
        number
    }

    /// Returns those that were answered since the last look, in their order.
    async fn answered(&mut self) -> Vec<(u64, bool)> {
        settle().await;
        let answers = std::iter::from_fn(|| self.answers.try_recv().ok());
        answers.map(|(number, decision)| (number, decision.allowed)).collect()
    }

    async fn give_up(&self, number: u64) {
        self.callers[number as usize].abort();
        settle().await;
    }
}

fn granted(numbers: impl IntoIterator<Item = u64>) -> Vec<(u64, bool)> {
    numbers.into_iter().map(|number| (number, true)).collect()
}

/// Returns the time until another caller could have a token.
async fn pause(theirs: &RateLimiter) -> Duration {
    theirs.peek().await.unwrap().retry_after.unwrap()
}

#[tokio::test]
async fn a_crowd_reserves_ten_seconds_and_is_served_in_its_order() {
    for by in Algorithm::OWN {
        let (_client, limiter, theirs, clock) = limiters(Rate::new(1, SECOND).by(by)).await;
        assert!(limiter.try_acquire(1).await.unwrap().allowed);
        let mut crowd = Crowd::new();
        for _ in 0..40 {
            crowd.wait(&limiter, 1, Wait::Forever).await;
        }
        // A sliding counter has one every two seconds where each is taken as soon as it comes.
        let most = if by == Algorithm::SlidingCounter { 26 } else { 13 };
        let mut served = Vec::new();
        for _ in 0..100 {
            assert!(pause(&theirs).await <= most * SECOND, "{by:?} {:?}", pause(&theirs).await);
            clock.advance(SECOND);
            served.extend(crowd.answered().await);
        }
        assert_eq!(served, granted(0..40), "{by:?}");
        assert!(theirs.try_acquire(1).await.unwrap().allowed);
    }
}

#[tokio::test]
async fn one_caller_may_reserve_whatever_it_costs() {
    let (_client, limiter, _, clock) = limiters(Rate::new(60, 3_600 * SECOND)).await;
    assert!(limiter.try_acquire(60).await.unwrap().allowed);
    let mut crowd = Crowd::new();
    for cost in [60, 1, 60] {
        crowd.wait(&limiter, cost, Wait::Forever).await;
    }
    assert_eq!(pause(&limiter).await, 3_660 * SECOND, "the second waits for the first");
    for (pause, number) in [(3_600, 0), (60, 1), (3_600, 2)] {
        clock.advance(pause * SECOND);
        assert_eq!(crowd.answered().await, granted([number]));
    }
}

#[tokio::test]
async fn a_wait_behind_the_queue_that_is_too_short_is_refused_at_once() {
    for by in Algorithm::OWN {
        let (_client, limiter, _, clock) = limiters(Rate::new(10, 10 * SECOND).by(by)).await;
        assert!(limiter.try_acquire(10).await.unwrap().allowed);
        let mut crowd = Crowd::new();
        for _ in 0..50 {
            crowd.wait(&limiter, 1, Wait::Forever).await;
        }
        let refused = limiter.acquire(1, Wait::For(18 * SECOND)).await.unwrap();
        assert!(!refused.allowed && refused.granted == 0 && refused.server_time.is_some(), "{by:?} {refused:?}");
        assert!(refused.retry_after.is_some_and(|after| after > 18 * SECOND), "{by:?} {refused:?}");
        if by == Algorithm::Gcra {
            assert_eq!(refused.retry_after, Some(51 * SECOND));
        }
        // Nothing stays of it, and one that has the time is served.
        let last = crowd.wait(&limiter, 1, Wait::For(200 * SECOND)).await;
        let mut served = Vec::new();
        for _ in 0..200 {
            clock.advance(SECOND);
            served.extend(crowd.answered().await);
        }
        assert_eq!(served, granted(0..=last), "{by:?}");
    }
}

/// They come in one turn, before any of them has reserved.
#[tokio::test]
async fn a_crowd_with_little_time_is_refused_at_once() {
    let (_client, limiter, _, clock) = limiters(Rate::new(1, SECOND)).await;
    let ask = || {
        let limiter = limiter.clone();
        tokio::spawn(async move { limiter.acquire(1, Wait::For(20 * SECOND)).await.unwrap().allowed })
    };
    let crowd: Vec<_> = (0..100).map(|_| ask()).collect();
    settle().await;
    let answered = crowd.iter().filter(|caller| caller.is_finished()).count();
    assert_eq!(answered, 80, "one has its token, 20 wait, and the rest is refused now");
    for _ in 0..20 {
        clock.advance(SECOND);
        settle().await;
    }
    let mut served = 0;
    for caller in crowd {
        served += u32::from(caller.await.unwrap());
    }
    assert_eq!(served, 21);
}

/// In one turn: none of them is refused for callers that are refused themselves.
#[tokio::test]
async fn callers_without_time_take_no_place() {
    let (_client, limiter, _, clock) = limiters(Rate::new(1, SECOND)).await;
    let ask = |seconds| {
        let limiter = limiter.clone();
        tokio::spawn(async move { limiter.acquire(1, Wait::For(seconds * SECOND)).await.unwrap().allowed })
    };
    let patient: Vec<_> = (0..11).map(|_| ask(60)).collect();
    let hasty: Vec<_> = (0..90).map(|_| ask(2)).collect();
    let last = ask(12);
    settle().await;
    assert!(hasty.iter().all(JoinHandle::is_finished) && !last.is_finished());
    for _ in 0..11 {
        clock.advance(SECOND);
        settle().await;
    }
    assert!(last.await.unwrap());
    for caller in patient {
        assert!(caller.await.unwrap());
    }
}

#[tokio::test]
async fn a_wait_that_ends_in_the_queue_is_refused_then() {
    let (_client, limiter, theirs, clock) = limiters(Rate::new(1, SECOND)).await;
    assert!(limiter.try_acquire(1).await.unwrap().allowed);
    let mut crowd = Crowd::new();
    for _ in 0..15 {
        crowd.wait(&limiter, 1, Wait::Forever).await;
    }
    // It would have its token in 16 s, if others had not come between.
    let late = crowd.wait(&limiter, 1, Wait::For(17 * SECOND)).await;
    assert!(crowd.answered().await.is_empty());
    for _ in 0..3 {
        theirs.penalty(1).await.unwrap();
    }
    let mut answered = Vec::new();
    for _ in 0..17 {
        clock.advance(SECOND);
        answered.extend(crowd.answered().await);
    }
    assert!(answered.contains(&(late, false)), "{answered:?}");
    answered.extend({
        clock.advance(SECOND);
        crowd.answered().await
    });
    assert_eq!(answered.iter().filter(|(_, allowed)| *allowed).count(), 15, "{answered:?}");
}

#[tokio::test]
async fn what_a_waiter_leaves_is_taken_by_the_queue() {
    let (_client, limiter, _, clock) = limiters(Rate::new(1, SECOND)).await;
    assert!(limiter.try_acquire(1).await.unwrap().allowed);
    let mut crowd = Crowd::new();
    for _ in 0..20 {
        crowd.wait(&limiter, 1, Wait::Forever).await;
    }
    let before = pause(&limiter).await;
    // One that has reserved, and one that has not.
    crowd.give_up(0).await;
    crowd.give_up(15).await;
    assert_eq!(pause(&limiter).await, before, "the next has its time");
    for number in (1..20).filter(|number| *number != 15) {
        clock.advance(SECOND);
        assert_eq!(crowd.answered().await, granted([number]));
    }
    clock.advance(SECOND);
    assert!(limiter.try_acquire(1).await.unwrap().allowed, "nothing else is charged");
}

/// A charge that cannot be given back, because another client has charged since, goes to the first in the queue that wants as
/// many.
#[tokio::test]
async fn what_stays_charged_is_for_the_queue() {
    let (_client, limiter, theirs, clock) = limiters(Rate::new(1, SECOND).burst(3)).await;
    assert!(limiter.try_acquire(3).await.unwrap().allowed);
    let mut crowd = Crowd::new();
    for cost in [3, 3, 3, 2, 3] {
        crowd.wait(&limiter, cost, Wait::Forever).await;
    }
    let mut other = Crowd::new();
    other.wait(&theirs, 1, Wait::Forever).await;
    let before = pause(&theirs).await;
    crowd.give_up(1).await;
    assert_eq!(pause(&theirs).await, before);
    for (seconds, number) in [(3, 0), (3, 2), (3, 4)] {
        clock.advance(seconds * SECOND);
        assert_eq!(crowd.answered().await, granted([number]));
    }
    clock.advance(SECOND);
    assert_eq!(other.answered().await, granted([0]));
    clock.advance(2 * SECOND);
    assert_eq!(crowd.answered().await, granted([3]));
}

#[tokio::test]
async fn a_crowd_that_gives_up_leaves_nothing() {
    for by in Algorithm::OWN {
        let (_client, limiter, theirs, _clock) = limiters(Rate::new(5, SECOND).by(by)).await;
        assert!(limiter.try_acquire(5).await.unwrap().allowed);
        let before = theirs.peek().await.unwrap();
        let mut crowd = Crowd::new();
        for number in 0..120 {
            crowd.wait(&limiter, 1 + number % 3, Wait::Forever).await;
        }
        assert!(theirs.peek().await.unwrap().reset_after > before.reset_after);
        for number in (60..120).rev() {
            crowd.give_up(number).await;
        }
        crowd.callers.iter().for_each(JoinHandle::abort);
        for _ in 0..20 {
            settle().await;
        }
        assert_eq!(theirs.peek().await.unwrap(), before, "{by:?}");
    }
}

#[tokio::test]
async fn a_reset_lets_the_queue_ask_at_once() {
    let (_client, limiter, _, clock) = limiters(Rate::new(60, 3_600 * SECOND).burst(10)).await;
    assert!(limiter.try_acquire(10).await.unwrap().allowed);
    let mut crowd = Crowd::new();
    for _ in 0..6 {
        crowd.wait(&limiter, 1, Wait::Forever).await;
    }
    limiter.reset().await.unwrap();
    // The first has a time already, and keeps it.
    assert_eq!(crowd.answered().await, granted(1..6));
    clock.advance(60 * SECOND);
    assert_eq!(crowd.answered().await, granted([0]));
}

/// By another client: this one hears of it by the next caller that asks.
#[tokio::test]
async fn a_newcomer_finds_that_the_limiter_was_reset() {
    let (_client, limiter, theirs, _clock) = limiters(Rate::new(60, 3_600 * SECOND).burst(10)).await;
    assert!(limiter.try_acquire(10).await.unwrap().allowed);
    let mut crowd = Crowd::new();
    for _ in 0..2 {
        crowd.wait(&limiter, 1, Wait::Forever).await;
    }
    theirs.reset().await.unwrap();
    let newcomer = crowd.wait(&limiter, 1, Wait::Forever).await;
    let mut served = crowd.answered().await;
    served.sort_unstable();
    assert_eq!(served, granted([1, newcomer]), "the first has a time, and the queue asks again");
}

#[tokio::test]
async fn another_process_waits_for_ten_seconds_and_no_longer() {
    let (_client, limiter, theirs, clock) = limiters(Rate::new(10, SECOND)).await;
    let mut crowd = Crowd::new();
    for _ in 0..300 {
        crowd.wait(&limiter, 1, Wait::Forever).await;
    }
    let mut other = Crowd::new();
    other.wait(&theirs, 1, Wait::Forever).await;
    for _ in 0..101 {
        assert!(other.answered().await.is_empty());
        clock.advance(SECOND / 10);
    }
    assert_eq!(other.answered().await, granted([0]));
}

/// An event in the life of a crowd.
#[derive(Clone, Debug)]
enum Event {
    /// One more comes, for this number of tokens, and waits for some ms.
    Come(u64, Option<u64>),
    GiveUp(usize),
    Pass(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let wait = prop_oneof![Just(None), (1..60_000u64).prop_map(Some)];
    let event = prop_oneof![
        5 => (1..4u64, wait).prop_map(|(cost, wait)| Event::Come(cost, wait)),
        2 => any::<usize>().prop_map(Event::GiveUp),
        2 => (1..3_000u64).prop_map(Event::Pass),
    ];
    prop::collection::vec(event, 1..120)
}

/// Runs a crowd of one client through this, and asserts that all are served or refused in time, and that nothing stays charged.
async fn run(by: Algorithm, events: Vec<Event>) {
    let (_client, limiter, theirs, clock) = limiters(Rate::new(3, SECOND).by(by)).await;
    let (mut crowd, mut now) = (Crowd::new(), 0);
    // Until when each that is open waits.
    let (mut open, mut ends) = (BTreeSet::new(), Vec::new());
    for event in events {
        match event {
            Event::Come(cost, wait) => {
                let how = wait.map_or(Wait::Forever, |ms| Wait::For(Duration::from_millis(ms)));
                open.insert(crowd.wait(&limiter, cost, how).await);
                ends.push(wait.map_or(u64::MAX, |ms| now + ms));
            }
            Event::GiveUp(some) => {
                if let Some(number) = open.iter().nth(some % open.len().max(1)).copied() {
                    crowd.give_up(number).await;
                    open.remove(&number);
                }
            }
            Event::Pass(ms) => {
                now += ms;
                clock.advance(Duration::from_millis(ms));
            }
        }
        for (number, allowed) in crowd.answered().await {
            open.remove(&number);
            assert!(allowed || ends[number as usize] < u64::MAX, "{by:?}: {number} was refused");
        }
        // 30 tokens and one caller's, of which a window may have two where three cost two each, and a sliding counter has one and
        // a half in a period.
        assert!(pause(&theirs).await <= 24 * SECOND, "{by:?} {:?}", pause(&theirs).await);
        let late = open.iter().find(|number| ends[**number as usize] < now);
        assert!(late.is_none(), "{by:?}: {late:?} waits for too long");
    }
    for _ in 0..1_000 {
        if open.is_empty() {
            break;
        }
        clock.advance(SECOND);
        for (number, allowed) in crowd.answered().await {
            open.remove(&number);
            assert!(allowed || ends[number as usize] < u64::MAX, "{by:?}: {number} was refused");
        }
    }
    assert!(open.is_empty(), "{by:?}: {open:?} wait");
    clock.advance(3 * SECOND);
    assert!(theirs.try_acquire(3).await.unwrap().allowed, "{by:?}");
}

/// One or two rates, each by any algorithm.
fn rates() -> impl Strategy<Value = Rates> {
    let rate = (1..12u64, 1..5_000_000u64, prop::sample::select(&Algorithm::OWN[..]))
        .prop_map(|(tokens, us, by)| Rate::new(tokens, Duration::from_micros(us)).by(by));
    let rates = prop::collection::vec(rate, 1..3).prop_map(Rates::from);
    rates.prop_filter("none makes another pointless", |rates| rates.check().is_ok())
}

/// Asserts that tokens which are charged after a reservation come no sooner than it says, so that nobody is refused in vain.
fn check_soonest(rates: &Rates, before: &[u64], blocked_us: u64, after: &[(u64, u64)]) -> Result<(), TestCaseError> {
    const FOREVER: u64 = 1_000_000_000_000;
    let mut limiter = Limiter::new(rates.clone());
    let cost = |some: u64| 1 + some % rates.limit();
    for some in before {
        limiter.answer(cost(*some), FOREVER);
    }
    limiter.run(&Block::new(rates, Duration::from_micros(blocked_us)));
    let Answer::Reserved(reserved) = limiter.answer(1, FOREVER) else { return Ok(()) };
    let time = Time { clock: Clocks::default().of(By::Server, &reserved.charged), reserved };
    let mut tokens = 0;
    for (pause, some) in after {
        limiter.pass(*pause);
        tokens += cost(*some);
        if let Answer::Reserved(next) = limiter.answer(cost(*some), FOREVER) {
            let later = Duration::from_micros(next.charged.at - time.reserved.charged.at);
            let soonest = time.next(tokens);
            prop_assert!(time.due().plus(later) >= soonest, "{tokens} come after {later:?}, and not at {soonest:?}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_token_comes_sooner_than_is_known(
        rates in rates(),
        before in prop::collection::vec(any::<u64>(), 0..30),
        blocked_us in prop_oneof![3 => Just(0), 1 => 0..5_000_000u64],
        after in prop::collection::vec((prop_oneof![3 => Just(0), 1 => 0..300_000u64], any::<u64>()), 1..30),
    ) {
        check_soonest(&rates, &before, blocked_us, &after)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_are_served_or_refused_in_time(by in prop::sample::select(&Algorithm::OWN[..]), events in events()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(run(by, events));
    }
}
