//! Locks: `acquire HOLDER NAME WAIT_MS LEASE_MS` (-1 waits for ever; lease 0 is the client's own), `release HOLDER NAME`,
//! `renew HOLDER NAME WATCHDOG_LEASE_MS` (acquires the lock with that lease of the watchdog), `extend HOLDER NAME LEASE_MS`,
//! `valid HOLDER NAME`, `watch-for-a-stop HOLDER NAME`, `first-check-after-it`, `contend HOLDER NAME ROUNDS COUNTER REGISTER` (which
//! ends at the first thing that is not as it should be, unlike `contend-whatever-happens`), `take-part HOLDER NAME REGISTER`
//! (contends, whatever happens, until `that-is-all`, and answers with the number of rounds and of those that it lost).

use std::path::Path;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use libdlock::lease::Grant;
use libdlock::lock::LockOptions;
use libdlock::{Lock, Wait};
use libdlock_faults::acquire;
use libdlock_testkit::resource::{Counter, Register};
use libdlock_testkit::wait::monotonic_us;
use tokio::sync::oneshot;

use crate::Process;
use crate::words::{Failure, failure, holder_of, lease_of, number, report_loss, valid_until, wait_of};

/// Does what one of these verbs asks for; none for another verb.
pub async fn run(process: &Process, words: &[&str]) -> Result<Option<String>, Failure> {
    let values = match *words {
        ["acquire", holder, name, wait, lease] => {
            let lock = process.lock(name)?;
            let (wait, lease) = (wait_of(number(wait)), lease_of(number(lease)));
            let grant = acquire(&lock, holder_of(holder), wait, lease).await.map_err(failure)?;
            let now = monotonic_us();
            report_loss(name, &grant);
            format!("{} {} {now} {}", grant.token(), grant.owner(), valid_until(&grant))
        }
        ["renew", holder, name, lease] => {
            let lease = Duration::from_millis(number(lease) as u64);
            let options = LockOptions::default().watchdog_lease(lease);
            let lock = process.client.lock_with(name, options).map_err(failure)?;
            process.locks.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), lock.clone());
            let grant = acquire(&lock, holder_of(holder), Wait::Try, None).await.map_err(failure)?;
            report_loss(name, &grant);
            String::new()
        }
        ["release", holder, name] => {
            let called = monotonic_us();
            process.lock(name)?.release_as(holder_of(holder)).await.map_err(failure)?;
            format!("{called} {}", monotonic_us())
        }
        ["extend", holder, name, lease] => {
            let lease = Duration::from_millis(number(lease) as u64);
            process.lock(name)?.extend_as(holder_of(holder), lease).await.map_err(failure)?;
            String::new()
        }
        ["valid", holder, name] => {
            let grant = process.lock(name)?.grant_of(holder_of(holder));
            grant.is_some_and(|g| g.is_valid()).to_string()
        }
        ["watch-for-a-stop", holder, name] => {
            let grant = process.lock(name)?.grant_of(holder_of(holder));
            let grant = grant.ok_or(("NOT_HELD".into(), String::new()))?;
            let (watching, watches) = oneshot::channel();
            let check = tokio::task::spawn_blocking(move || first_check_after_a_stop(&grant, watching));
            watches.await.expect("it watches");
            *process.check.lock().await = Some(check);
            String::new()
        }
        ["first-check-after-it"] => {
            let check = process.check.lock().await.take().expect("watch-for-a-stop came before");
            check.await.expect("the check does not panic").to_string()
        }
        [verb @ ("contend" | "contend-whatever-happens"), holder, name, rounds, counter, register] => {
            let (counter, register) = (Counter::open(Path::new(counter)), Register::open(Path::new(register)));
            let lock = process.lock(name)?;
            for _ in 0..number(rounds) {
                let count = async { counter.add_one(std::thread::yield_now) };
                match contend(&lock, holder, &register, count).await {
                    Err((kind, _)) if verb != "contend" && LOSING.contains(&kind.as_str()) => {}
                    outcome => outcome?,
                }
            }
            String::new()
        }
        ["take-part", holder, name, register] => {
            let (lock, register) = (process.lock(name)?, Register::open(Path::new(register)));
            let (mut rounds, mut lost) = (0, 0);
            while !process.is_over.load(Ordering::SeqCst) {
                // Long enough that others wait, and that the machine has time for the servers.
                match contend(&lock, holder, &register, tokio::time::sleep(Duration::from_millis(2))).await {
                    Err((kind, _)) if LOSING.contains(&kind.as_str()) => lost += 1,
                    outcome => outcome?,
                }
                rounds += 1;
            }
            format!("{rounds} {lost}")
        }
        ["that-is-all"] => {
            process.is_over.store(true, Ordering::SeqCst);
            String::new()
        }
        _ => return Ok(None),
    };
    Ok(Some(values))
}

/// What a process meets that stood still past its lease: CONNECTION when it did so between an acquire and its answer.
const LOSING: [&str; 4] = ["REFUSED", "NOT_HELD", "LOST", "CONNECTION"];

/// One round: acquire, write, do something, release; reports the hold.
async fn contend(
    lock: &Lock,
    holder: &str,
    register: &Register,
    something: impl Future<Output = ()>,
) -> Result<(), Failure> {
    let grant = acquire(lock, holder_of(holder), Wait::Forever, None).await.map_err(failure)?;
    let (acquired_at, valid_at_first) = (monotonic_us(), grant.is_valid());
    let (token, valid_until) = (grant.token(), valid_until(&grant));
    let written = register.write(token, &token.to_string());
    if written.is_ok() {
        something.await;
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
