//! Re-entry: one more acquire of what a holder holds, and the release of one that is not its last.

use super::acquire::OP;
use super::{AcquireOptions, Held, HolderId, Lock};
use crate::config::check_lease;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, Term};

impl Lock {
    /// Counts one more acquire of what `holder` holds, if that is all that [`Lock::acquire_as`] would do. False: nothing was
    /// done, and [`Lock::acquire_as`] does it or says why not.
    pub(crate) fn reenter_now(&self, holder: HolderId, how: &AcquireOptions) -> bool {
        let Some(term) = self.reentry_term(how) else { return false };
        self.shared.holds().reenter_if(holder, |grant| grant.covers(term)).is_some()
    }

    /// As [`Lock::reenter_now`], as a hold.
    pub(super) fn reenter_at_once(&self, holder: HolderId, how: &AcquireOptions) -> Option<Held> {
        let term = self.reentry_term(how)?;
        let grant = self.shared.holds().reenter_if(holder, |grant| grant.covers(term)).cloned()?;
        Some(Held::new(self.clone(), holder, grant))
    }

    /// Counts one more acquire of what `holder` holds, without I/O: its lease stays as it is, and it takes one more release.
    ///
    /// # Errors
    /// [`ErrorKind::NotHeld`] when `holder` does not hold it; [`ErrorKind::Deadlock`] and [`ErrorKind::Lost`] as
    /// [`Lock::acquire_as`].
    pub(crate) fn reenter_as(&self, holder: HolderId) -> Result<Held> {
        self.shared.check_open(OP)?;
        let present = self.shared.holds().grant(holder);
        let grant = present.ok_or_else(|| self.shared.not_held(OP, None))?;
        self.check_reentry(&grant)?;
        self.count_reentry(holder, grant).map(|grant| Held::new(self.clone(), holder, grant))
    }

    pub(super) async fn reenter(&self, holder: HolderId, grant: Grant, term: Term) -> Result<Grant> {
        self.check_reentry(&grant)?;
        if let Err(error) = self.shared.extend_for(OP, &grant, term).await {
            // The holder learns by this request that it is gone.
            self.refuse_lost(OP, &grant)?;
            return Err(error);
        }
        self.count_reentry(holder, grant)
    }

    fn check_reentry(&self, grant: &Grant) -> Result<()> {
        self.refuse_lost(OP, grant)?;
        if !self.reentrant {
            let token = grant.token();
            let message = format!(
                "this holder holds it already (token {token}) and it is not re-entrant; it would wait for itself"
            );
            return Err(Error::new(ErrorKind::Deadlock, OP, message).on(self.key()));
        }
        Ok(())
    }

    /// It may have been released since it was looked up.
    fn count_reentry(&self, holder: HolderId, grant: Grant) -> Result<Grant> {
        if self.shared.holds().reenter(holder, &grant) {
            Ok(grant)
        } else {
            Err(self.shared.not_held(OP, Some(&grant)))
        }
    }

    /// What an acquire asks for, if nothing about it is an error.
    fn reentry_term(&self, how: &AcquireOptions) -> Option<Term> {
        let term = self.term(how);
        // The lock's own leases were checked when it was made.
        let fits = how.lease.is_none() || check_lease(OP, term.lease()).is_ok();
        let may = self.reentrant && fits && self.shared.check_open(OP).is_ok();
        may.then_some(term)
    }

    /// Takes back one acquire of `holder` that is not its last, if that is all that [`Lock::release_as`] would do, or, with a
    /// token, [`Lock::release_hold_as`]. False: nothing was done.
    pub(crate) fn release_reentry(&self, holder: HolderId, token: Option<u64>) -> bool {
        !self.is_forked() && self.shared.holds().release_reentry_if(holder, token, |grant| grant.is_valid())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use crate::lease::Lease;
    use crate::lock::{AcquireOptions, HolderId, LockOptions};
    use crate::time::ManualClock;
    use crate::wait::Wait;
    use crate::{Client, Config};

    const LONGER: AcquireOptions =
        AcquireOptions { wait: Wait::Forever, lease: Some(Lease::Fixed(Duration::from_secs(60))) };

    async fn client(clock: &ManualClock) -> Client {
        let mut config = Config::from_url("memory://?lease=10s").unwrap();
        config.clock(clock.clone()).unwrap();
        Client::connect_with(config).await.unwrap()
    }

    #[tokio::test]
    async fn a_hold_is_reentered_and_released_without_io() {
        let client = client(&ManualClock::new()).await;
        let (lock, holder, how) = (client.lock("jobs").unwrap(), HolderId::fresh(), AcquireOptions::default());
        assert!(!lock.reenter_now(holder, &how) && !lock.release_reentry(holder, None), "it holds nothing");
        let held = lock.acquire_as(holder, how).await.unwrap();
        assert!(!lock.release_reentry(holder, None), "the last acquire takes a release");
        assert!(!lock.reenter_now(HolderId::fresh(), &how), "another holder waits");
        assert!(lock.reenter_now(holder, &how));
        assert_eq!(lock.hold_count(holder), 2);
        assert!(!lock.reenter_now(holder, &LONGER), "a longer lease is the server's to give");
        assert!(lock.release_reentry(holder, None) && !lock.release_reentry(holder, None));
        assert_eq!(lock.hold_count(holder), 1);
        held.release().await.unwrap();
        assert!(!lock.reenter_now(holder, &how));
    }

    #[tokio::test]
    async fn what_has_an_error_is_left_to_those_who_say_it() {
        let clock = ManualClock::new();
        let client = client(&clock).await;
        let (holder, how) = (HolderId::fresh(), AcquireOptions::default());
        let once = LockOptions { reentrant: Some(false), ..LockOptions::default() };
        let lock = client.lock_with("once", once).unwrap();
        let _once = lock.acquire_as(holder, how).await.unwrap();
        assert!(!lock.reenter_now(holder, &how), "deadlock");

        let lock = client.lock("jobs").unwrap();
        let short = AcquireOptions { lease: Some(Lease::Fixed(Duration::from_secs(1))), ..how };
        let _held = lock.acquire_as(holder, short).await.unwrap();
        assert!(!lock.reenter_now(holder, &how), "the watchdog has to be told");
        let _again = lock.acquire_as(holder, how).await.unwrap();
        let bad = AcquireOptions { lease: Some(Lease::Fixed(Duration::from_millis(1))), ..how };
        assert!(!lock.reenter_now(holder, &bad) && lock.reenter_now(holder, &how));
        clock.advance(Duration::from_secs(3600));
        assert!(!lock.reenter_now(holder, &how) && !lock.release_reentry(holder, None), "it is lost");
    }
}
