//! A process of the soak: several waiters that take locks at random, hold them, and say so on standard output.
//!
//! `ready CLIENT-ID`; `got WAITER NAME TOKEN OWNER SENT ACQUIRED VALIDITY`; `lost WAITER REASON AT`; `leaves WAITER ENDED
//! WROTE`, said before the release is called: who is killed after that has told the truth; `left WAITER OUTCOME CALLED RETURNED
//! VALID_UNTIL`; `over WAITER KIND MESSAGE`, an acquire that came to nothing, or `brief WAITER KIND MESSAGE` if its wait was
//! bounded or its lease given, either of which may be over before there is an answer; `idle WAITER`. Times in us of the
//! monotonic clock. Reads `go`, `drain` (finish what is under way, then be idle) and `cancel` (give up what waits).

use std::{io::BufRead, path::PathBuf, sync::Arc, time::Duration};

use fastrand::Rng;
use libdlock::lease::{Grant, HolderId, Lease, LossReason};
use libdlock::{Client, ErrorKind, Held, Lock, Wait};
use libdlock_testkit::{resource::Register, wait::monotonic_us};
use tokio::{sync::watch, time::sleep};

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
    live(url, seed, waiters, &names.split(',').collect::<Vec<_>>(), pace, registers.into());
    true
}

/// Starts the waiters and does what standard input says until it ends.
#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn live(url: &str, seed: u64, waiters: u32, names: &[&str], pace: Pace, registers: PathBuf) {
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
        let locks = names.iter().map(|name| ((*name).to_owned(), client.lock(name).expect("a name"))).collect();
        let waiter = Waiter {
            number,
            blocks: pace == Pace::Varied && number == BLOCKS,
            client: client.clone(),
            rng: Rng::with_seed(seed ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            locks,
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
    locks: Vec<(String, Lock)>,
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
        let (name, lock) = self.rng.choice(&self.locks).expect("names").clone();
        let wait = match self.rng.u32(0..10) {
            0 => Wait::Try,
            1 | 2 => Wait::For(Duration::from_millis(self.rng.u64(5..3_000))),
            // Nothing can end a blocking wait.
            _ if self.blocks => Wait::For(OPERATION_TIMEOUT),
            _ => Wait::Forever,
        };
        let gives_up =
            (self.rng.u32(0..10) == 0 && !self.blocks).then(|| Duration::from_micros(self.rng.u64(0..100_000)));
        let lease = (self.rng.u32(0..5) == 0).then(|| Lease::Fixed(Duration::from_millis(self.rng.u64(300..2_000))));
        let how = crate::how(wait, lease);
        let acquiring = async {
            if self.blocks {
                let (client, lock) = (self.client.clone(), lock.clone());
                blocking(move || client.block_on(lock.acquire_as(HolderId::fresh(), how))).await
            } else {
                lock.acquire_as(HolderId::fresh(), how).await
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
            Ok(held) => self.hold(&name, held, lease.is_some()).await,
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

    async fn hold(&mut self, name: &str, held: Held, given: bool) {
        // In this order: a hold that was over before anybody looked at it was none.
        let (acquired_at, valid) = (monotonic_us(), held.is_valid());
        let mut valid_until = valid_until(&held);
        if !valid || valid_until == 0 {
            drop(self.release(held).await);
            return println!("over {} TOO_LATE -", self.number);
        }
        let lease = held.lease().as_micros() as i64;
        let validity = lease - lease * MARGIN[usize::from(given)] / 100 - LEAST_MARGIN;
        let sent = valid_until - validity;
        println!("got {} {name} {} {} {sent} {acquired_at} {validity}", self.number, held.token(), held.owner());
        let register = Register::open(&self.registers.join(name));
        let wrote = register.write(held.token(), held.owner()).is_ok();

        let length = match self.rng.u32(0..40) {
            // Nobody renews it: to its very end, by whichever clock.
            0 if given && self.pace == Pace::Varied => held.lease() * 5 / 4,
            _ => self.pace.hold(&mut self.rng),
        };
        let loss = self.sit(&held, length, &mut valid_until).await;
        let called = monotonic_us();
        let ended = match loss {
            // Told a little before the end: valid until then.
            None | Some(LossReason::Expired) if held.is_valid() => called,
            _ => called.min(valid_until).max(acquired_at),
        };
        valid_until = valid_until.max(self::valid_until(&held));
        if let Some(reason) = loss {
            println!("lost {} {} {called}", self.number, reason.as_str());
        }
        println!("leaves {} {ended} {}", self.number, u8::from(wrote));
        let outcome = if loss.is_none() && self.rng.u32(0..10) == 0 {
            drop(held);
            "DROPPED"
        } else {
            self.release(held).await.map_or_else(|error| error.kind().as_str(), |()| "RELEASED")
        };
        let returned = monotonic_us();
        // A hold that was lost, or ended before its release was called, is not to be found by right.
        let valid_until = if ended == called && loss.is_none() { valid_until } else { 0 };
        println!("left {} {outcome} {called} {returned} {valid_until}", self.number);
    }

    async fn release(&self, held: Held) -> libdlock::Result<()> {
        let client = self.client.clone();
        if self.blocks { blocking(move || client.block_on(held.release())).await } else { held.release().await }
    }

    /// Holds on for `length`, until the hold is lost or everybody is to finish.
    async fn sit(&mut self, held: &Grant, length: Duration, valid_until: &mut i64) -> Option<LossReason> {
        let end = tokio::time::Instant::now() + length;
        loop {
            tokio::select! {
                biased;
                reason = held.lost() => {
                    *valid_until = (*valid_until).max(self::valid_until(held));
                    return reason;
                }
                () = tokio::time::sleep_until(end) => return None,
                _ = self.orders.wait_for(|orders| orders.drain) => return None,
                // Renewed meanwhile?
                () = sleep(Duration::from_millis(20)) => *valid_until = (*valid_until).max(self::valid_until(held)),
            }
        }
    }
}

/// Until when it is valid if nothing is renewed. When it is not, that instant is not to be had any more: 0.
fn valid_until(grant: &Grant) -> i64 {
    let (now, left) = (monotonic_us(), grant.remaining().as_micros() as i64);
    if left > 0 { now + left } else { 0 }
}
