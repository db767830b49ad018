//! A process of the soak: several waiters that take locks, sets of locks, permits and sides of read-write locks at random, hold
//! them, and say so on standard output.
//!
//! `ready CLIENT-ID`; `got WAITER NAME TOKEN PERMITS OWNER SENT ACQUIRED VALIDITY`: a lock has 0 permits, permits have the token 0,
//! and the second lock of a set has the waiter's number and 1,000 for its waiter, the third 2,000; `lost WAITER REASON AT`;
//! `leaves WAITER ENDED WROTE`, said before the release is called: who is killed after that has told the truth; `left WAITER
//! OUTCOME CALLED RETURNED VALID_UNTIL`; `over WAITER KIND MESSAGE`, an acquire that came to nothing, or `brief WAITER KIND MESSAGE`
//! if its wait was bounded or its lease given, either of which may be over before there is an answer; `latch WAITER NAME FROM TO VERDICT WHAT`, a round
//! of a latch: `KEPT`, `TOLD` an error, or `BROKEN`; `idle WAITER`. Times in us of
//! the monotonic clock. Reads `go`, `drain` (finish what is under way, then be idle) and `cancel` (give up what waits).

use std::{io::BufRead, path::PathBuf, sync::Arc, time::Duration};

use fastrand::Rng;
use libdlock::lease::{HoldState, Lease, LossReason};
use libdlock::{Client, CountingSemaphore, ErrorKind, Wait};
use libdlock_testkit::{resource::Register, wait::monotonic_us};
use tokio::{sync::watch, time::sleep};

use super::contended::{Contended, Holding, Object, Part, WRITER};
use super::latches::{Round, Verdict};

/// What everybody is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Orders {
    drain: bool,
    /// Counts the words `cancel`.
    cancels: u64,
}

/// How long a waiter holds what it got, and pauses before it asks again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// A moment, and no pause: everybody waits nearly all the time.
    Brisk,
    /// A moment as a rule, now and then for longer than a lease.
    Varied,
}

impl Pace {
    /// As an argument.
    pub fn word(self) -> &'static str {
        match self {
            Pace::Brisk => "brisk",
            Pace::Varied => "varied",
        }
    }

    fn hold(self, rng: &mut Rng) -> Duration {
        match (self, rng.u32(0..200)) {
            (Pace::Brisk, _) => Duration::from_micros(rng.u64(0..200)),
            // Past a fixed lease, or through renewals.
            (Pace::Varied, 0) => Duration::from_millis(rng.u64(500..3_000)),
            (Pace::Varied, 1..10) => Duration::from_millis(rng.u64(10..100)),
            (Pace::Varied, _) => Duration::from_micros(rng.u64(0..5_000)),
        }
    }

    fn pause(self, rng: &mut Rng) -> Duration {
        match self {
            Pace::Brisk => Duration::ZERO,
            // Now and then nobody waits.
            Pace::Varied => Duration::from_micros(rng.u64(0..10_000)),
        }
    }
}

/// In reports the further parts of a hold have holders of their own: the number of the waiter and so many more.
const PARTS: u32 = 1_000;
/// For how long counted permits are valid.
const FOR_GOOD: i64 = 1_000_000_000_000;
/// The soak's option.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(3);
/// The waiter of each process that uses blocking calls.
const BLOCKS: u32 = 3;
/// The margin of a lease that the watchdog renews, and of a given one, in percent: the option `clock_drift` of the soak.
const MARGIN: [i64; 2] = [10, 9];
/// The part of a margin that does not depend on the lease, in us.
const LEAST_MARGIN: i64 = 10_000;

/// Runs a worker with the arguments `URL SEED WAITERS NAME,... PACE REGISTERS`; false when they are others.
pub fn run(args: &[String]) -> bool {
    let [url, seed, waiters, names, pace, registers] = args else { return false };
    let (Ok(seed), Ok(waiters)) = (seed.parse(), waiters.parse()) else { return false };
    let Some(pace) = [Pace::Brisk, Pace::Varied].into_iter().find(|p| p.word() == pace) else { return false };
    let Ok(names) = names.split(',').map(str::parse).collect::<Result<Vec<Contended>, _>>() else { return false };
    live(url, seed, waiters, &names, pace, registers.into());
    true
}

/// Starts the waiters and does what standard input says until it ends.
#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn live(url: &str, seed: u64, waiters: u32, names: &[Contended], pace: Pace, registers: PathBuf) {
    let (orders, _) = watch::channel(Orders::default());
    let orders = Arc::new(orders);
    let (ended, mut end) = tokio::sync::mpsc::unbounded_channel::<()>();
    let reading = orders.clone();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            reading.send_modify(|orders| match line.as_str() {
                "go" => orders.drain = false,
                "drain" => orders.drain = true,
                "cancel" => orders.cancels += 1,
                _ => panic!("cannot read {line:?}"),
            });
        }
        drop(ended);
    });
    let client = loop {
        match Client::connect(url).await {
            Ok(client) => break client,
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    };
    println!("ready {}", client_id(&client).await);
    for number in 0..waiters {
        let objects = names.iter().map(|what| (what.name.clone(), Object::open(&client, what))).collect();
        let waiter = Waiter {
            number,
            blocks: pace == Pace::Varied && number == BLOCKS,
            client: client.clone(),
            rng: Rng::with_seed(seed ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            objects,
            pace,
            registers: registers.clone(),
            orders: orders.subscribe(),
        };
        tokio::spawn(waiter.live());
    }
    end.recv().await;
    client.close().await;
}

/// Everything before the owner's last colon.
async fn client_id(client: &Client) -> String {
    let lock = client.lock("hello").expect("a name");
    loop {
        if let Ok(held) = lock.acquire().await {
            let owner = held.owner().to_owned();
            drop(held.release().await);
            return owner.rsplit_once(':').expect("an owner").0.to_owned();
        }
        sleep(Duration::from_millis(50)).await;
    }
}

/// Runs a call that blocks its thread.
async fn blocking<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(call).await.expect("no panic")
}

struct Waiter {
    number: u32,
    /// Uses the calls that block their thread, and the connections of those.
    blocks: bool,
    client: Client,
    rng: Rng,
    objects: Vec<(String, Object)>,
    pace: Pace,
    registers: PathBuf,
    orders: watch::Receiver<Orders>,
}

impl Waiter {
    async fn live(mut self) {
        loop {
            if self.orders.borrow_and_update().drain {
                println!("idle {}", self.number);
                if self.orders.wait_for(|orders| !orders.drain).await.is_err() {
                    return;
                }
            }
            self.one_hold().await;
            let pause = self.pace.pause(&mut self.rng);
            if !pause.is_zero() {
                sleep(pause).await;
            }
        }
    }

    async fn one_hold(&mut self) {
        let (name, object) = self.rng.choice(&self.objects).expect("names").clone();
        if let Object::Latches(latches) = &object {
            let Round { name, from, to, verdict } = latches.round(&mut self.rng).await;
            return match verdict {
                Verdict::Kept => println!("latch {} {name} {from} {to} KEPT -", self.number),
                Verdict::Told(kind) => println!("latch {} {name} {from} {to} TOLD {kind}", self.number),
                Verdict::Broken(how) => println!("latch {} {name} {from} {to} BROKEN {how}", self.number),
            };
        }
        let permits = self.permits_of(&object);
        let wait = match self.rng.u32(0..10) {
            0 => Wait::Try,
            1 | 2 => Wait::For(Duration::from_millis(self.rng.u64(5..3_000))),
            // Nothing can end a blocking wait.
            _ if self.blocks => Wait::For(OPERATION_TIMEOUT),
            // What a process had when it was killed does not come back before the next calm.
            _ if matches!(object, Object::Counting(..)) => Wait::For(OPERATION_TIMEOUT),
            _ => Wait::Forever,
        };
        let gives_up =
            (self.rng.u32(0..10) == 0 && !self.blocks).then(|| Duration::from_micros(self.rng.u64(0..100_000)));
        let lease = (self.rng.u32(0..5) == 0).then(|| Lease::Fixed(Duration::from_millis(self.rng.u64(300..2_000))));
        let how = crate::how(wait, lease);
        let acquiring = async {
            if self.blocks {
                let (client, object) = (self.client.clone(), object.clone());
                blocking(move || client.block_on(object.acquire(permits, how))).await
            } else {
                object.acquire(permits, how).await
            }
        };
        let cancels = self.orders.borrow().cancels;
        let acquired = tokio::select! {
            acquired = acquiring => acquired,
            () = async { match gives_up {
                Some(after) => sleep(after).await,
                None => std::future::pending().await,
            }} => return println!("over {} GAVE_UP -", self.number),
            _ = self.orders.wait_for(|orders| orders.cancels > cancels), if !self.blocks => {
                return println!("over {} CANCELLED -", self.number);
            }
        };
        match acquired {
            Ok(Some(Holding::Counted(semaphore, permits, sent))) => {
                self.hold_counted(&name, semaphore, permits, sent).await;
            }
            Ok(Some(held)) => self.hold(&name, held, lease.is_some()).await,
            Ok(None) => println!("over {} TOO_LATE -", self.number),
            Err(error) => {
                let brief = matches!(wait, Wait::For(_)) || lease.is_some();
                let message = error.message().replace(' ', "_");
                println!(
                    "{} {} {} {message}",
                    if brief { "brief" } else { "over" },
                    self.number,
                    error.kind().as_str()
                );
                if error.kind() != ErrorKind::Busy {
                    // As a caller would: not again at once while the server is away.
                    sleep(Duration::from_millis(self.rng.u64(1..50))).await;
                }
            }
        }
    }

    /// One or a few; now and then all of them, which others must not keep it from for ever.
    fn permits_of(&mut self, object: &Object) -> u32 {
        match object {
            Object::Lock(_) | Object::Set(_) | Object::Latches(_) => 0,
            Object::RwLock(_) => {
                if self.rng.u32(0..4) == 0 {
                    WRITER
                } else {
                    1
                }
            }
            Object::Semaphore(_, total) | Object::Counting(_, total) if self.rng.u32(0..8) == 0 => *total,
            Object::Semaphore(_, total) | Object::Counting(_, total) => self.rng.u32(1..=3.min(*total)),
        }
    }

    async fn hold(&mut self, name: &str, held: Holding, given: bool) {
        let mut parts: Vec<Reported> = held.parts(name).into_iter().map(Reported::new).collect();
        // In this order: a hold that was over before anybody looked at it was none.
        let (acquired_at, valid) = (monotonic_us(), parts.iter().all(|each| each.part.grant.is_valid()));
        parts.iter_mut().for_each(Reported::look);
        if !valid || parts.iter().any(|each| each.valid_until == 0) {
            drop(self.release(held).await);
            return println!("over {} TOO_LATE -", self.number);
        }
        for (who, each) in (0..).map(|at| self.part(at)).zip(&mut parts) {
            let Reported { part: Part { name, grant, token, permits }, .. } = &each;
            let lease = grant.lease().as_micros() as i64;
            let validity = lease - lease * MARGIN[usize::from(given)] / 100 - LEAST_MARGIN;
            let sent = each.valid_until - validity;
            println!("got {who} {name} {token} {permits} {} {sent} {acquired_at} {validity}", grant.owner());
            each.wrote = each.part.is_alone()
                && Register::open(&self.registers.join(&each.part.name))
                    .write(each.part.token, each.part.grant.owner())
                    .is_ok();
        }

        let lease = parts[0].part.grant.lease();
        let length = match self.rng.u32(0..40) {
            // Nobody renews it: to its very end, by whichever clock.
            0 if given && self.pace == Pace::Varied => lease * 5 / 4,
            _ => self.pace.hold(&mut self.rng),
        };
        let lost = self.sit(&held, length, &mut parts).await;
        let called = monotonic_us();
        for (who, each) in (0..).map(|at| self.part(at)).zip(&mut parts) {
            each.ends(lost, called, acquired_at);
            if let Some(reason) = each.loss {
                println!("lost {who} {} {called}", reason.as_str());
            }
            println!("leaves {who} {} {}", each.ended, u8::from(each.wrote));
        }
        let (outcome, concerned) = if !lost && self.rng.u32(0..10) == 0 {
            drop(held);
            ("DROPPED", None)
        } else {
            match self.release(held).await {
                Ok(()) => ("RELEASED", None),
                Err(error) => (error.kind().as_str(), error.name().map(str::to_owned)),
            }
        };
        let returned = monotonic_us();
        for (who, each) in (0..).map(|at| self.part(at)).zip(&parts) {
            // Of a set the error is about one lock.
            let is_concerned = concerned.as_ref().is_none_or(|name| *name == each.part.name);
            let outcome = if is_concerned { outcome } else { "RELEASED" };
            // A hold that was lost, or ended before its release was called, is not to be found by right.
            let valid_until = if each.ended == called && !lost { each.valid_until } else { 0 };
            println!("left {who} {outcome} {called} {returned} {valid_until}");
        }
    }

    /// Has permits of which nobody knows.
    async fn hold_counted(&mut self, name: &str, semaphore: CountingSemaphore, permits: u32, sent: i64) {
        let (who, acquired_at) = (self.number, monotonic_us());
        println!("got {who} {name} 0 {permits} - {sent} {acquired_at} {FOR_GOOD}");
        let length = self.pace.hold(&mut self.rng);
        tokio::select! {
            () = sleep(length) => {}
            _ = self.orders.wait_for(|orders| orders.drain) => {}
        }
        let called = monotonic_us();
        println!("leaves {who} {called} 0");
        let released = self.release(Holding::Counted(semaphore, permits, sent)).await;
        let outcome = released.map_or_else(|error| error.kind().as_str(), |()| "RELEASED");
        println!("left {who} {outcome} {called} {} 0", monotonic_us());
    }

    /// Who holds a part of what this waiter holds: in reports each part has a holder of its own.
    fn part(&self, at: u32) -> u32 {
        self.number + at * PARTS
    }

    async fn release(&self, held: Holding) -> libdlock::Result<()> {
        let client = self.client.clone();
        if self.blocks { blocking(move || client.block_on(held.release())).await } else { held.release().await }
    }

    /// Holds on for `length`, until the hold is lost or everybody is to finish; whether it was lost.
    async fn sit(&mut self, held: &Holding, length: Duration, parts: &mut [Reported]) -> bool {
        let end = tokio::time::Instant::now() + length;
        loop {
            tokio::select! {
                biased;
                lost = held.lost() => {
                    parts.iter_mut().for_each(Reported::look);
                    return lost;
                }
                () = tokio::time::sleep_until(end) => return false,
                _ = self.orders.wait_for(|orders| orders.drain) => return false,
                // Renewed meanwhile?
                () = sleep(Duration::from_millis(20)) => parts.iter_mut().for_each(Reported::look),
            }
        }
    }
}

/// What is said of a part of a hold.
struct Reported {
    part: Part,
    /// Us of the monotonic clock, the latest that was seen.
    valid_until: i64,
    wrote: bool,
    loss: Option<LossReason>,
    ended: i64,
}

impl Reported {
    fn new(part: Part) -> Reported {
        Reported { part, valid_until: 0, wrote: false, loss: None, ended: 0 }
    }

    /// Until when it is valid if nothing is renewed. When it is not, that instant is not to be had any more.
    fn look(&mut self) {
        let (now, left) = (monotonic_us(), self.part.grant.remaining().as_micros() as i64);
        if left > 0 {
            self.valid_until = self.valid_until.max(now + left);
        }
    }

    /// It ends, because the hold that it belongs to was lost, or because its release is called now.
    fn ends(&mut self, lost: bool, called: i64, acquired_at: i64) {
        self.loss = match self.part.grant.state() {
            HoldState::Lost(reason) if lost => Some(reason),
            _ => None,
        };
        self.ended = match self.loss {
            // Told a little before the end: valid until then.
            None | Some(LossReason::Expired) if self.part.grant.is_valid() => called,
            _ => called.min(self.valid_until).max(acquired_at),
        };
        self.look();
    }
}
