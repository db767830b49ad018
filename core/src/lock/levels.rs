//! One level more or less of a hold that stays: what costs neither I/O nor a future.

use super::{AcquireOptions, Held, HolderId, Lock};
use crate::config::check_lease;
use crate::lease::Term;

const OP: &str = "acquire";

impl Lock {
    /// Counts one more acquire of what `holder` holds, if that is all that [`Lock::acquire_as`] would do. False: nothing was
    /// done, and [`Lock::acquire_as`] does it or says why not.
    pub fn add_level(&self, holder: HolderId, how: &AcquireOptions) -> bool {
        let Some(term) = self.may_reenter(how) else { return false };
        self.shared.holds().count_up(holder, |grant| grant.covers(term)).is_some()
    }

    /// As [`Lock::add_level`], as a hold.
    pub(super) fn reenter_held(&self, holder: HolderId, how: &AcquireOptions) -> Option<Held> {
        let term = self.may_reenter(how)?;
        let grant = self.shared.holds().count_up(holder, |grant| grant.covers(term)).cloned()?;
        Some(Held::new(self.clone(), holder, grant))
    }

    /// What an acquire asks for, if nothing about it is an error.
    fn may_reenter(&self, how: &AcquireOptions) -> Option<Term> {
        let term = self.term(how);
        let may = self.reentrant && check_lease(OP, term.lease()).is_ok() && self.shared.check_open(OP).is_ok();
        may.then_some(term)
    }

    /// Takes back one acquire of `holder` that is not its last, if that is all that [`Lock::release_as`] would do, or, with a
    /// token, [`Lock::release_hold_as`]. False: nothing was done.
    pub fn drop_level(&self, holder: HolderId, token: Option<u64>) -> bool {
        !self.is_forked() && self.shared.holds().count_down(holder, token, |grant| grant.is_valid())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::wait::Wait;
    use crate::lease::Lease;
    use crate::lock::{AcquireOptions, HolderId, LockOptions};
    use crate::time::ManualClock;
    use crate::{Client, Config};

    const LONGER: AcquireOptions = AcquireOptions { wait: Wait::Forever, lease: Some(Lease::Fixed(Duration::from_secs(60))) };

    async fn client(clock: &ManualClock) -> Client {
        let mut config = Config::from_url("memory://?lease=10s").unwrap();
        config.clock(clock.clone()).unwrap();
        Client::connect_with(config).await.unwrap()
    }

    #[tokio::test]
    async fn a_level_more_and_less_of_what_is_held() {
        let client = client(&ManualClock::new()).await;
        let (lock, holder, how) = (client.lock("jobs").unwrap(), HolderId::fresh(), AcquireOptions::default());
        assert!(!lock.add_level(holder, &how) && !lock.drop_level(holder, None), "it holds nothing");
        let held = lock.acquire_as(holder, how).await.unwrap();
        assert!(!lock.drop_level(holder, None), "the last level takes a release");
        assert!(!lock.add_level(HolderId::fresh(), &how), "another holder waits");
        assert!(lock.add_level(holder, &how));
        assert_eq!(lock.hold_count(holder), 2);
        assert!(!lock.add_level(holder, &LONGER), "a longer lease is the server's to give");
        assert!(lock.drop_level(holder, None) && !lock.drop_level(holder, None));
        assert_eq!(lock.hold_count(holder), 1);
        held.release().await.unwrap();
        assert!(!lock.add_level(holder, &how));
    }

    #[tokio::test]
    async fn what_has_an_error_is_left_to_those_who_say_it() {
        let clock = ManualClock::new();
        let client = client(&clock).await;
        let (holder, how) = (HolderId::fresh(), AcquireOptions::default());
        let once = LockOptions { reentrant: Some(false), ..LockOptions::default() };
        let lock = client.lock_with("once", once).unwrap();
        let _once = lock.acquire_as(holder, how).await.unwrap();
        assert!(!lock.add_level(holder, &how), "deadlock");

        let lock = client.lock("jobs").unwrap();
        let short = AcquireOptions { lease: Some(Lease::Fixed(Duration::from_secs(1))), ..how };
        let _held = lock.acquire_as(holder, short).await.unwrap();
        assert!(!lock.add_level(holder, &how), "the watchdog has to be told");
        let _again = lock.acquire_as(holder, how).await.unwrap();
        let bad = AcquireOptions { lease: Some(Lease::Fixed(Duration::from_millis(1))), ..how };
        assert!(!lock.add_level(holder, &bad) && lock.add_level(holder, &how));
        clock.advance(Duration::from_secs(3600));
        assert!(!lock.add_level(holder, &how) && !lock.drop_level(holder, None), "it is lost");
    }
}
