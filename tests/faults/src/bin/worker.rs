//! One process of the fault tests: a client that does what the lines on its standard input say (see `peer.rs` for the
//! protocol). Several requests may be under way at once. It ends when its input does.
//!
//! Verbs: `acquire HOLDER NAME WAIT_MS LEASE_MS` (-1 waits for ever; lease 0 is the client's own), `release HOLDER NAME`,
//! `renew HOLDER NAME WATCHDOG_LEASE_MS` (acquires the lock with that lease of the watchdog), `extend HOLDER NAME LEASE_MS`,
//! `valid HOLDER NAME`, `watch-for-a-stop HOLDER NAME`, `first-check-after-it`, `write REGISTER TOKEN VALUE`, `contend HOLDER
//! NAME ROUNDS COUNTER REGISTER` (which ends at the first thing that is not as it should be, unlike
//! `contend-whatever-happens`), `add COUNTER`, `add-when-told COUNTER`, `wall-clock`, `ask LIMITER TOKENS PER_US BURST ASKERS
//! MS` (answers with the server's time of every token got), `close`. Of semaphores: `take HOLDER NAME TOTAL PERMITS WAIT_MS`,
//! `give-back HOLDER NAME`, `takes HOLDER NAME`, `take-turns HOLDER NAME TOTAL ROUNDS` (reports holds, with the number of
//! permits for a token). Of counting semaphores: `draw NAME PERMITS WAIT_MS`, `put NAME PERMITS`, `draw-turns HOLDER NAME TOTAL
//! ROUNDS` (as `take-turns`). Of read-write locks: `take-side HOLDER NAME SIDE WAIT_MS`, `leave HOLDER NAME`,
//! `is-in HOLDER NAME`, `read-and-write HOLDER NAME ROUNDS` (reports holds, with 1 for a reader and 1,000 for a writer). Of
//! several locks as one, whose names a comma separates: `take-all HOLDER NAMES WAIT_MS` (answers with the tokens),
//! `leave-all HOLDER NAMES`, `has-all HOLDER NAMES`, `contend-for-some HOLDER NAMES MS` (for random sets of these; reports a
//! hold of each lock, by `HOLDER@NAME`). Of latches: `count-down NAME`
//! (answers with what is left), `wait-for NAME WAIT_MS` (with whether it is open, and when it ended).

use std::{
    collections::HashMap,
    io::BufRead,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use libdlock::lease::{Grant, HolderId, Lease};
use libdlock::lock::{AcquireOptions, LockOptions};
use libdlock::rw_lock::Side;
use libdlock::semaphore::Permits;
use libdlock::{
    Client, CountingSemaphore, ErrorKind, HeldAll, Lock, Rate, RateLimiter, RwHeld, RwLock, Semaphore, Wait,
};
use libdlock_faults::acquire;
use libdlock_testkit::{
    eventually,
    resource::{Counter, Register},
    wait::monotonic_us,
};
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinHandle,
};

/// What a request is answered with: values, or kind and message.
type Answer = Result<String, (String, String)>;

#[tokio::main(flavor = "multi_thread", worker_threads = 1)]
async fn main() -> ExitCode {
    let Some(url) = std::env::args().nth(1) else {
        eprintln!("usage: dlock-fault-worker URL");
        return ExitCode::FAILURE;
    };
    let client = match Client::connect(&url).await {
        Ok(client) => client,
        Err(e) => {
            println!("failed {} {e}", e.kind().as_str());
            return ExitCode::FAILURE;
        }
    };
    println!("ready");
    let (sender, mut lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || std::io::stdin().lock().lines().map_while(Result::ok).try_for_each(|l| sender.send(l)));
    let process = Arc::new(Process {
        url,
        client,
        locks: Mutex::default(),
        taken: Mutex::default(),
        sides: Mutex::default(),
        sets: Mutex::default(),
        check: Default::default(),
    });
    while let Some(line) = lines.recv().await {
        let process = process.clone();
        tokio::spawn(async move {
            let (id, request) = line.split_once(' ').expect("<id> <verb> ...");
            match process.run(request).await {
                Ok(values) => println!("{id} ok {values}"),
                Err((kind, message)) => println!("{id} err {kind} {message}"),
            }
        });
    }
    ExitCode::SUCCESS
}

struct Process {
    url: String,
    client: Client,
    /// Every lock that was asked for: a lock that nobody has at hand any more is abandoned, and with it what it holds.
    locks: Mutex<HashMap<String, Lock>>,
    /// What was taken of semaphores, by holder and name.
    taken: Mutex<HashMap<(String, String), Permits>>,
    /// What is held of read-write locks, by holder and name.
    sides: Mutex<HashMap<(String, String), RwHeld>>,
    /// What is held of several locks as one, by holder and names.
    sets: Mutex<HashMap<(String, String), HeldAll>>,
    /// What the first look at a hold after a stop of this process saw.
    check: tokio::sync::Mutex<Option<JoinHandle<bool>>>,
}

impl Process {
    fn lock(&self, name: &str) -> Result<Lock, (String, String)> {
        let mut locks = self.locks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lock) = locks.get(name) {
            return Ok(lock.clone());
        }
        let lock = self.client.lock(name).map_err(failure)?;
        locks.insert(name.to_owned(), lock.clone());
        Ok(lock)
    }

    async fn run(&self, request: &str) -> Answer {
        let words: Vec<&str> = request.split(' ').collect();
        match words[..] {
            ["acquire", holder, name, wait, lease] => {
                let lock = self.lock(name)?;
                let (wait, lease) = (wait_of(number(wait)), lease_of(number(lease)));
                let grant = acquire(&lock, holder_of(holder), wait, lease).await.map_err(failure)?;
                let now = monotonic_us();
                report_loss(name, &grant);
                Ok(format!("{} {} {now} {}", grant.token(), grant.owner(), valid_until(&grant)))
            }
            ["renew", holder, name, lease] => {
                let lease = Duration::from_millis(number(lease) as u64);
                let options = LockOptions::default().watchdog_lease(lease);
                let lock = self.client.lock_with(name, options).map_err(failure)?;
                self.locks.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), lock.clone());
                let grant = acquire(&lock, holder_of(holder), Wait::Try, None).await.map_err(failure)?;
                report_loss(name, &grant);
                Ok(String::new())
            }
            ["release", holder, name] => {
                let called = monotonic_us();
                self.lock(name)?.release_as(holder_of(holder)).await.map_err(failure)?;
                Ok(format!("{called} {}", monotonic_us()))
            }
            ["extend", holder, name, lease] => {
                let lease = Duration::from_millis(number(lease) as u64);
                self.lock(name)?.extend_as(holder_of(holder), lease).await.map_err(failure)?;
                Ok(String::new())
            }
            ["valid", holder, name] => {
                let grant = self.lock(name)?.grant_of(holder_of(holder));
                Ok(grant.is_some_and(|g| g.is_valid()).to_string())
            }
            ["watch-for-a-stop", holder, name] => {
                let grant = self.lock(name)?.grant_of(holder_of(holder));
                let grant = grant.ok_or(("NOT_HELD".into(), String::new()))?;
                let (watching, watches) = oneshot::channel();
                let check = tokio::task::spawn_blocking(move || first_check_after_a_stop(&grant, watching));
                watches.await.expect("it watches");
                *self.check.lock().await = Some(check);
                Ok(String::new())
            }
            ["first-check-after-it"] => {
                let check = self.check.lock().await.take().expect("watch-for-a-stop came before");
                Ok(check.await.expect("the check does not panic").to_string())
            }
            ["write", register, token, value] => {
                match Register::open(Path::new(register)).write(number(token) as u64, value) {
                    Ok(()) => Ok(String::new()),
                    Err(refused) => Err(("REFUSED".into(), refused.highest.to_string())),
                }
            }
            [verb @ ("contend" | "contend-whatever-happens"), holder, name, rounds, counter, register] => {
                let (counter, register) = (Counter::open(Path::new(counter)), Register::open(Path::new(register)));
                let lock = self.lock(name)?;
                for _ in 0..number(rounds) {
                    match contend(&lock, holder, &counter, &register).await {
                        Err((kind, _)) if verb != "contend" && LOSING.contains(&kind.as_str()) => {}
                        outcome => outcome?,
                    }
                }
                Ok(String::new())
            }
            ["add", counter] => {
                Counter::open(Path::new(counter)).add_one(|| ());
                Ok(String::new())
            }
            ["add-when-told", counter] => {
                let path = PathBuf::from(counter);
                let adding =
                    tokio::task::spawn_blocking(move || Counter::open(&path).add_one(|| wait_to_be_told(&path)));
                adding.await.expect("adding does not panic");
                Ok(String::new())
            }
            ["ask", name, tokens, per_us, burst, askers, ms] => {
                let rate = Rate::new(number(tokens) as u64, Duration::from_micros(number(per_us) as u64));
                let rate = rate.burst(number(burst) as u64);
                // Each its own client, and so its own line and its own connection.
                let mut limiters = Vec::new();
                for _ in 0..number(askers) {
                    let client = Client::connect(&self.url).await.map_err(failure)?;
                    limiters.push(client.rate_limiter(name, rate).map_err(failure)?);
                }
                let until = Instant::now() + Duration::from_millis(number(ms) as u64);
                let asking =
                    limiters.into_iter().enumerate().map(|(n, limiter)| tokio::spawn(ask(limiter, n % 2 == 0, until)));
                let asking: Vec<_> = asking.collect();
                let mut times = Vec::new();
                for asker in asking {
                    times.extend(asker.await.expect("asking does not panic").map_err(failure)?);
                }
                Ok(times.join(" "))
            }
            ["take", holder, name, total, permits, wait] => {
                let pool = self.client.semaphore(name, number(total) as u32).map_err(failure)?;
                let how = AcquireOptions::default().wait(wait_of(number(wait)));
                let permits = pool.acquire_as(holder_of(holder), number(permits) as u32, how).await.map_err(failure)?;
                let now = monotonic_us();
                let grant = pool.grant_of(holder_of(holder)).expect("it holds permits");
                report_loss(name, &grant);
                let of = (holder.to_owned(), name.to_owned());
                self.taken.lock().unwrap_or_else(PoisonError::into_inner).insert(of, permits);
                Ok(format!("{} {} {now} {}", grant.token(), grant.owner(), valid_until(&grant)))
            }
            ["give-back", holder, name] => {
                let of = (holder.to_owned(), name.to_owned());
                let permits = self.taken.lock().unwrap_or_else(PoisonError::into_inner).remove(&of);
                let called = monotonic_us();
                permits.expect("taken before").release().await.map_err(failure)?;
                Ok(format!("{called} {}", monotonic_us()))
            }
            ["takes", holder, name] => {
                let of = (holder.to_owned(), name.to_owned());
                let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(taken.get(&of).is_some_and(Permits::is_valid).to_string())
            }
            ["take-turns", holder, name, total, rounds] => {
                let pool = self.client.semaphore(name, number(total) as u32).map_err(failure)?;
                for _ in 0..number(rounds) {
                    let permits = fastrand::u32(1..=number(total) as u32);
                    take_turn(&pool, holder, permits).await.map_err(failure)?;
                }
                Ok(String::new())
            }
            ["draw", name, permits, wait] => {
                let slots = self.client.counting_semaphore(name).map_err(failure)?;
                slots.acquire_within(number(permits) as u32, wait_of(number(wait))).await.map_err(failure)?;
                Ok(monotonic_us().to_string())
            }
            ["put", name, permits] => {
                let slots = self.client.counting_semaphore(name).map_err(failure)?;
                slots.release_many(number(permits) as u32).await.map_err(failure)?;
                Ok(String::new())
            }
            ["draw-turns", holder, name, total, rounds] => {
                let slots = self.client.counting_semaphore(name).map_err(failure)?;
                for _ in 0..number(rounds) {
                    let permits = fastrand::u32(1..=number(total) as u32);
                    draw_turn(&slots, holder, permits).await.map_err(failure)?;
                }
                Ok(String::new())
            }
            ["take-side", holder, name, side, wait] => {
                let lock = self.client.rw_lock(name).map_err(failure)?;
                let side = if side == "read" { lock.read() } else { lock.write() };
                let how = AcquireOptions::default().wait(wait_of(number(wait)));
                let held = side.acquire_as(holder_of(holder), how).await.map_err(failure)?;
                let now = monotonic_us();
                report_loss(name, &held);
                let answer = format!("{} {} {now} {}", held.token(), held.owner(), valid_until(&held));
                let of = (holder.to_owned(), name.to_owned());
                self.sides.lock().unwrap_or_else(PoisonError::into_inner).insert(of, held);
                Ok(answer)
            }
            ["leave", holder, name] => {
                let of = (holder.to_owned(), name.to_owned());
                let held = self.sides.lock().unwrap_or_else(PoisonError::into_inner).remove(&of);
                let called = monotonic_us();
                held.expect("acquired before").release().await.map_err(failure)?;
                Ok(format!("{called} {}", monotonic_us()))
            }
            ["is-in", holder, name] => {
                let of = (holder.to_owned(), name.to_owned());
                let sides = self.sides.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(sides.get(&of).is_some_and(|held| held.is_valid()).to_string())
            }
            ["read-and-write", holder, name, rounds] => {
                let lock = self.client.rw_lock(name).map_err(failure)?;
                for _ in 0..number(rounds) {
                    let side = if fastrand::u8(..) < 80 { Side::Write } else { Side::Read };
                    take_side(&lock, holder, side).await.map_err(failure)?;
                }
                Ok(String::new())
            }
            ["take-all", holder, names, wait] => {
                let set = self.client.lock_all(names.split(',')).map_err(failure)?;
                let how = AcquireOptions::default().wait(wait_of(number(wait)));
                let held = set.acquire_as(holder_of(holder), how).await.map_err(failure)?;
                let now = monotonic_us();
                held.grants().for_each(|(name, grant)| report_loss(name, grant));
                let tokens: Vec<String> = held.tokens().map(|(_, token)| token.to_string()).collect();
                let of = (holder.to_owned(), names.to_owned());
                self.sets.lock().unwrap_or_else(PoisonError::into_inner).insert(of, held);
                Ok(format!("{now} {}", tokens.join(" ")))
            }
            ["leave-all", holder, names] => {
                let of = (holder.to_owned(), names.to_owned());
                let held = self.sets.lock().unwrap_or_else(PoisonError::into_inner).remove(&of);
                held.expect("acquired before").release().await.map_err(failure)?;
                Ok(String::new())
            }
            ["has-all", holder, names] => {
                let of = (holder.to_owned(), names.to_owned());
                let sets = self.sets.lock().unwrap_or_else(PoisonError::into_inner);
                Ok(sets.get(&of).is_some_and(HeldAll::is_valid).to_string())
            }
            ["contend-for-some", holder, names, ms] => {
                let until = Instant::now() + Duration::from_millis(number(ms) as u64);
                let (names, mut turns) = (names.split(',').collect::<Vec<_>>(), 0);
                while Instant::now() < until {
                    turns += u64::from(take_some(&self.client, holder, &names).await.map_err(failure)?);
                }
                Ok(turns.to_string())
            }
            ["count-down", name] => {
                let latch = self.client.latch(name).map_err(failure)?;
                Ok(latch.count_down().await.map_err(failure)?.to_string())
            }
            ["wait-for", name, wait] => {
                let latch = self.client.latch(name).map_err(failure)?;
                let open = latch.wait_for(wait_of(number(wait))).await.map_err(failure)?;
                Ok(format!("{open} {}", monotonic_us()))
            }
            ["wall-clock"] => {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
                Ok(now.as_micros().to_string())
            }
            ["close"] => {
                self.client.close().await;
                Ok(String::new())
            }
            _ => panic!("cannot read {request:?}"),
        }
    }
}

/// What a process meets that stood still past its lease: CONNECTION when it did so between an acquire and its answer.
const LOSING: [&str; 4] = ["REFUSED", "NOT_HELD", "LOST", "CONNECTION"];

/// One round: acquire, count, write, release; reports the hold.
async fn contend(lock: &Lock, holder: &str, counter: &Counter, register: &Register) -> Result<(), (String, String)> {
    let grant = acquire(lock, holder_of(holder), Wait::Forever, None).await.map_err(failure)?;
    let (acquired_at, valid_at_first) = (monotonic_us(), grant.is_valid());
    let (token, valid_until) = (grant.token(), valid_until(&grant));
    let written = register.write(token, &token.to_string());
    if written.is_ok() {
        counter.add_one(std::thread::yield_now);
    }
    let now = monotonic_us();
    let ended_at = if grant.is_valid() { now } else { now.min(valid_until).max(acquired_at) };
    // Said before the release: a worker that is killed in between has still told the truth. A hold that was over before
    // anybody looked at it was none.
    if valid_at_first {
        println!("hold {holder} {token} {acquired_at} {ended_at}");
    }
    let released = lock.release_as(holder_of(holder)).await.map_err(failure);
    match written {
        Ok(()) => released,
        Err(refused) => Err(("REFUSED".into(), format!("token {token} after {}", refused.highest))),
    }
}

/// One turn with so many permits; reports the hold.
async fn take_turn(pool: &Semaphore, holder: &str, permits: u32) -> libdlock::Result<()> {
    let held = pool.acquire_many(permits).await?;
    let (acquired_at, valid_at_first) = (monotonic_us(), held.is_valid());
    let valid_until = acquired_at + held.remaining().as_micros() as i64;
    tokio::time::sleep(Duration::from_millis(fastrand::u64(0..3))).await;
    let now = monotonic_us();
    let ended_at = if held.is_valid() { now } else { now.min(valid_until).max(acquired_at) };
    // Said before the release: a worker that is killed in between has still told the truth.
    if valid_at_first {
        println!("hold {holder} {permits} {acquired_at} {ended_at}");
    }
    held.release().await
}

/// One turn with so many permits of a counting semaphore; reports it.
async fn draw_turn(slots: &CountingSemaphore, holder: &str, permits: u32) -> libdlock::Result<()> {
    slots.acquire_many(permits).await?;
    let acquired_at = monotonic_us();
    tokio::time::sleep(Duration::from_millis(fastrand::u64(0..3))).await;
    // Said before the release: a worker that is killed in between has still told the truth.
    println!("hold {holder} {permits} {acquired_at} {}", monotonic_us());
    slots.release_many(permits).await
}

/// One turn on this side; a writer goes on as a reader at times. Reports the holds.
async fn take_side(lock: &RwLock, holder: &str, side: Side) -> libdlock::Result<()> {
    let held = match side {
        Side::Read => lock.read().acquire().await?,
        Side::Write => lock.write().acquire().await?,
    };
    let held = report_while_held(held, holder).await;
    if side == Side::Write && fastrand::bool() {
        let reads = held.downgrade().await?;
        return report_while_held(reads, holder).await.release().await;
    }
    held.release().await
}

/// One turn with some of these locks, in any order, in one of the ways to take them; whether it had them. Reports the holds.
async fn take_some(client: &Client, holder: &str, names: &[&str]) -> libdlock::Result<bool> {
    let mut names = names.to_vec();
    fastrand::shuffle(&mut names);
    names.truncate(fastrand::usize(2..=names.len()));
    let set = client.lock_all(names)?;
    let taking = match fastrand::u8(0..4) {
        0 => set.try_acquire().await,
        1 => set.acquire_timeout(Duration::from_millis(fastrand::u64(1..40))).await.map(Some),
        _ => set.acquire().await.map(Some),
    };
    let held = match taking {
        Ok(Some(held)) => held,
        Ok(None) => return Ok(false),
        Err(error) if error.kind() == ErrorKind::Busy => return Ok(false),
        Err(error) => return Err(error),
    };
    let acquired_at = monotonic_us();
    tokio::time::sleep(Duration::from_millis(fastrand::u64(0..3))).await;
    // As that of a lock, of each of them: what is said here was true before the release.
    let ended_at = if held.is_valid() { monotonic_us() } else { acquired_at };
    for (name, token) in held.tokens() {
        println!("hold {holder}@{name} {token} {acquired_at} {ended_at}");
    }
    held.release().await.map(|()| true)
}

async fn report_while_held(held: RwHeld, holder: &str) -> RwHeld {
    let weight = if held.side() == Side::Write { 1_000 } else { 1 };
    let (acquired_at, valid_at_first) = (monotonic_us(), held.is_valid());
    let valid_until = acquired_at + held.remaining().as_micros() as i64;
    tokio::time::sleep(Duration::from_millis(fastrand::u64(0..3))).await;
    let now = monotonic_us();
    let ended_at = if held.is_valid() { now } else { now.min(valid_until).max(acquired_at) };
    // Said before the release: a worker that is killed in between has still told the truth.
    if valid_at_first {
        println!("hold {holder} {weight} {acquired_at} {ended_at}");
    }
    held
}

/// Takes one token after the other until `until`, waiting for each or trying again and again; when it got them, by the
/// server's clock in us of Unix time.
async fn ask(limiter: RateLimiter, wait: bool, until: Instant) -> libdlock::Result<Vec<String>> {
    let mut times = Vec::new();
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(times);
        }
        let decision = limiter.acquire(1, if wait { Wait::For(left) } else { Wait::Try }).await?;
        if decision.allowed {
            let at = decision.server_time.expect("the server decides").duration_since(SystemTime::UNIX_EPOCH);
            times.push(at.expect("after 1970").as_micros().to_string());
        } else if wait {
            return Ok(times);
        } else {
            // Often enough to meet the others' requests, not so often that nothing else gets done.
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}

/// Tells the test when the hold is lost, and until when it was valid by the last look before.
fn report_loss(name: &str, grant: &Grant) {
    let (name, grant) = (name.to_owned(), grant.clone());
    tokio::spawn(async move {
        let Some(reason) = grant.lost().await else { return };
        println!("lost {name} {} {} {}", reason.as_str(), monotonic_us(), valid_until(&grant));
    });
}

/// Looks at the hold until this process has stood still for a quarter of a second or more, and returns what the very next
/// look saw.
fn first_check_after_a_stop(grant: &Grant, watching: oneshot::Sender<()>) -> bool {
    let mut last = Instant::now();
    // Only now: a stop from here on is seen.
    let _ = watching.send(());
    loop {
        // The time is read before the look: a look that noticed the stop was made after it.
        let now = Instant::now();
        let valid = grant.is_valid();
        if now - last > Duration::from_millis(250) {
            return valid;
        }
        last = now;
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Says that the counter was read (`COUNTER.read` appears) and waits for the word to write (`COUNTER.go`).
fn wait_to_be_told(counter: &Path) {
    std::fs::write(counter.with_extension("read"), "").expect("write the mark");
    eventually(Duration::from_secs(20), "told to go on", || counter.with_extension("go").exists());
}

fn valid_until(grant: &Grant) -> i64 {
    monotonic_us() + grant.remaining().as_micros() as i64
}

fn failure(error: libdlock::Error) -> (String, String) {
    (error.kind().as_str().to_owned(), error.to_string())
}

fn holder_of(text: &str) -> HolderId {
    libdlock::embed::holder(number(text) as u64)
}

fn number(text: &str) -> i64 {
    text.parse().unwrap_or_else(|_| panic!("no number: {text:?}"))
}

fn wait_of(ms: i64) -> Wait {
    match ms {
        0 => Wait::Try,
        1.. => Wait::For(Duration::from_millis(ms as u64)),
        _ => Wait::Forever,
    }
}

fn lease_of(ms: i64) -> Option<Lease> {
    (ms > 0).then(|| Lease::Fixed(Duration::from_millis(ms as u64)))
}
