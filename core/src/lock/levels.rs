//! One level more or less of a hold that stays: what costs neither I/O nor a future.

use super::{Acquire, Held, HolderId, Lock};
use crate::config::check_lease;
use crate::lease::Lease;

const OP: &str = "acquire";

impl Lock {
    /// Counts one more acquire of what `holder` holds, if that is all that [`Lock::acquire_as`] would do. False: nothing was
    /// done, and [`Lock::acquire_as`] does it or says why not.
    pub fn reenter_now(&self, holder: HolderId, how: &Acquire) -> bool {
        let Some(lease) = self.may_reenter(how) else { return false };
        self.shared.holds().count_up(holder, |grant| grant.covers(lease)).is_some()
    }

    /// As [`Lock::reenter_now`], as a hold.
    pub(super) fn reenter_held(&self, holder: HolderId, how: &Acquire) -> Option<Held> {
        let lease = self.may_reenter(how)?;
        let grant = self.shared.holds().count_up(holder, |grant| grant.covers(lease)).cloned()?;
        Some(Held::new(self.clone(), holder, grant))
    }

    /// The lease that an acquire asks for, if nothing about it is an error.
    fn may_reenter(&self, how: &Acquire) -> Option<Lease> {
        let lease = how.lease.unwrap_or(self.lease);
        let lease_is_well = match lease {
            Lease::Watchdog => true,
            Lease::Fixed(lease) => check_lease(OP, lease).is_ok(),
        };
        let may = self.reentrant
            && lease_is_well
            && how.wait.until(OP, &self.client().clock).is_ok()
            && self.shared.check_open(OP).is_ok();
        may.then_some(lease)
    }

    /// Takes back one acquire of `holder` that is not its last, if that is all that [`Lock::release_as`] would do. False:
    /// nothing was done.
    pub fn leave_now(&self, holder: HolderId) -> bool {
        self.shared.holds().count_down(holder, |grant| grant.is_valid())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::deadline::Wait;
    use crate::lease::Lease;
    use crate::lock::{Acquire, HolderId, LockOptions};
    use crate::time::ManualClock;
    use crate::{Client, Config};

    const LONGER: Acquire = Acquire { wait: Wait::Forever, lease: Some(Lease::Fixed(Duration::from_secs(60))) };

    async fn client(clock: &ManualClock) -> Client {
        let mut config = Config::from_url("memory://?lease=10s").unwrap();
        config.clock(clock.clone()).unwrap();
        Client::connect_with(config).await.unwrap()
    }

    #[tokio::test]
    async fn a_level_more_and_less_of_what_is_held() {
        let client = client(&ManualClock::new()).await;
        let (lock, holder, how) = (client.lock("jobs").unwrap(), HolderId::fresh(), Acquire::default());
        assert!(!lock.reenter_now(holder, &how) && !lock.leave_now(holder), "it holds nothing");
        let held = lock.acquire_as(holder, how).await.unwrap();
        assert!(!lock.leave_now(holder), "the last level takes a release");
        assert!(!lock.reenter_now(HolderId::fresh(), &how), "another holder waits");
        assert!(lock.reenter_now(holder, &how));
        assert_eq!(lock.hold_count(holder), 2);
        assert!(!lock.reenter_now(holder, &LONGER), "a longer lease is the server's to give");
        assert!(lock.leave_now(holder) && !lock.leave_now(holder));
        assert_eq!(lock.hold_count(holder), 1);
        held.release().await.unwrap();
        assert!(!lock.reenter_now(holder, &how));
    }

    #[tokio::test]
    async fn what_has_an_error_is_left_to_those_who_say_it() {
        let clock = ManualClock::new();
        let client = client(&clock).await;
        let (holder, how) = (HolderId::fresh(), Acquire::default());
        let once = LockOptions { reentrant: Some(false), ..LockOptions::default() };
        let lock = client.lock_with("once", once).unwrap();
        let _once = lock.acquire_as(holder, how).await.unwrap();
        assert!(!lock.reenter_now(holder, &how), "deadlock");

        let lock = client.lock("jobs").unwrap();
        let short = Acquire { lease: Some(Lease::Fixed(Duration::from_secs(1))), ..how };
        let _held = lock.acquire_as(holder, short).await.unwrap();
        assert!(!lock.reenter_now(holder, &how), "the watchdog has to be told");
        let bad = Acquire { wait: Wait::For(Duration::from_secs(25 * 3600)), ..short };
        assert!(!lock.reenter_now(holder, &bad));
        let _again = lock.acquire_as(holder, how).await.unwrap();
        let bad = Acquire { lease: Some(Lease::Fixed(Duration::from_millis(1))), ..how };
        assert!(!lock.reenter_now(holder, &bad) && lock.reenter_now(holder, &how));
        clock.advance(Duration::from_secs(3600));
        assert!(!lock.reenter_now(holder, &how) && !lock.leave_now(holder), "it is lost");
    }
}
