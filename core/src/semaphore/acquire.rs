//! Acquiring, releasing and extending, by holder.

use std::time::Duration;

use super::permits::PermitsWanted;
use super::{AcquireOptions, HolderId, MAX_ACQUIRED, MAX_PERMITS, Permits, Semaphore, refuse_permits};
use crate::config::check_lease;
use crate::contended::{Caller, LastHolder};
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, LossReason, Term};
use crate::objects::Object;

/// For those who know semaphores on which everybody may release.
const NO_SUCH_HOLD: &str = "this holder has no such permits (any more): a release ends one acquire of the same thread or task, \
                            with all its permits; what is taken, for no thread or task, may be released by any";
/// How many numbers of permits an error names that a release may end.
const SUMS_NAMED: usize = 4;

impl Semaphore {
    /// Acquires so many permits for `holder`. Each acquire is a hold of its own: a holder may have several, and each needs its
    /// own release.
    ///
    /// # Errors
    /// [`Busy`](crate::ErrorKind::Busy) when they were not available within the wait;
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for the lease; else as [`Semaphore::acquire_many`].
    ///
    /// # Cancel safety
    /// As [`Semaphore::acquire`].
    pub async fn acquire_as(&self, holder: HolderId, permits: u32, how: AcquireOptions) -> Result<Permits> {
        const OP: &str = "acquire";
        if !(1..=MAX_ACQUIRED).contains(&permits) {
            return Err(refuse_permits(OP, permits, MAX_ACQUIRED).on(self.key()));
        }
        let term = self.term(&how);
        if let Term::Fixed(lease) = term {
            check_lease(OP, lease).map_err(|error| error.on(self.key()))?;
        }
        let asked_at = self.client().clock.now();
        self.shared.check_open(OP)?;
        let wanted = PermitsWanted { term, permits, total: self.permits };
        let caller = Caller::new(&self.shared, holder, wanted, asked_at);
        let grant = match how.wait.until(asked_at) {
            None => caller.once().await?,
            Some(deadline) => caller.until(deadline).await?,
        };
        self.compare_permits();
        Ok(Permits::new(self.clone(), holder, grant))
    }

    /// Ends the latest hold of `holder` and wakes those whose turn it is.
    ///
    /// # Errors
    /// [`NotHeld`](crate::ErrorKind::NotHeld) when `holder` holds nothing, or has lost it: then nothing of anybody else's was
    /// touched. [`OutcomeUnknown`](crate::ErrorKind::OutcomeUnknown) or [`Connection`](crate::ErrorKind::Connection) when no
    /// reply came within `operation_timeout`: the hold is over all the same, and the lease runs out on the server.
    ///
    /// # Cancel safety
    /// Dropping the future does not stop the release.
    pub async fn release_as(&self, holder: HolderId) -> Result<()> {
        self.release_which(holder, None).await
    }

    /// As [`Semaphore::release_as`], of the hold with this number, if one is given.
    pub(crate) async fn release_which(&self, holder: HolderId, which: Option<u64>) -> Result<()> {
        const OP: &str = "release";
        if self.is_forked() {
            self.shared.check_open(OP)?;
        }
        let taken = self.shared.holds().take_back(holder, which);
        match taken {
            Some(grant) => self.shared.release(grant, LastHolder::Caller).await,
            None => {
                self.shared.check_open(OP)?;
                Err(self.no_such_hold(OP))
            }
        }
    }

    /// How many of the latest holds of `holder`, lost ones included, have exactly so many permits together. For hosts whose
    /// callers name the number of permits that they release: a hold ends with all of its permits, so any other number has to
    /// be refused.
    ///
    /// # Errors
    /// [`NotHeld`](crate::ErrorKind::NotHeld) when `holder` has no hold; [`InvalidArgument`](crate::ErrorKind::InvalidArgument)
    /// when none of its latest holds have so many, which says how many they have.
    pub(crate) fn holds_of(&self, holder: HolderId, permits: u32) -> Result<u32> {
        const OP: &str = "release";
        if permits == 0 {
            return Err(refuse_permits(OP, permits, MAX_PERMITS).on(self.key()));
        }
        let sums = if self.is_forked() { Vec::new() } else { self.shared.holds().sums(holder) };
        if sums.is_empty() {
            self.shared.check_open(OP)?;
            return Err(self.no_such_hold(OP));
        }
        match sums.iter().position(|&sum| sum == permits) {
            Some(at) => Ok(at as u32 + 1),
            None => Err(Semaphore::refuse_to_split(OP, permits, &sums).on(self.key())),
        }
    }

    fn no_such_hold(&self, op: &'static str) -> Error {
        Error::new(ErrorKind::NotHeld, op, NO_SUCH_HOLD).on(self.key())
    }

    fn refuse_to_split(op: &'static str, permits: u32, sums: &[u32]) -> Error {
        let what = format_args!(
            "{permits} permits cannot be released: an acquire ends with all of its permits, the latest first"
        );
        let mut allowed: Vec<_> = sums.iter().take(SUMS_NAMED).map(u32::to_string).collect();
        if sums.len() > SUMS_NAMED {
            allowed.push("more".to_owned());
        }
        Error::refused(ErrorKind::InvalidArgument, op, what, allowed.join(" or "))
    }

    /// Ends the hold with this number, unattended: it is not the holder's any more when this returns, and the server is told in
    /// the background. What was lost by more than its lease running out is left alone.
    pub(crate) fn release_in_background(&self, holder: HolderId, which: u64) {
        if self.is_forked() {
            return;
        }
        let taken = self.shared.holds().take_back(holder, Some(which));
        if let Some(grant) = taken
            && matches!(grant.loss(), None | Some(LossReason::Expired))
        {
            self.shared.give_back(&grant, LastHolder::Caller);
        }
    }

    /// Sets the lease of the latest hold of `holder` to `lease` from now on, 100 ms to 24 h. Only ever prolongs. The server is
    /// asked in any case, so that success means that it still showed the hold.
    ///
    /// # Errors
    /// [`NotHeld`](crate::ErrorKind::NotHeld) when `holder` does not hold it or has lost it, which this call may find out;
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for the lease; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may leave the lease prolonged on the server, and not in what the hold says.
    pub async fn extend_as(&self, holder: HolderId, lease: Duration) -> Result<()> {
        self.extend_which(holder, None, lease).await
    }

    /// As [`Semaphore::extend_as`], of the hold with this number, if one is given.
    pub(crate) async fn extend_which(&self, holder: HolderId, which: Option<u64>, lease: Duration) -> Result<()> {
        const OP: &str = "extend";
        check_lease(OP, lease).map_err(|error| error.on(self.key()))?;
        self.shared.check_open(OP)?;
        let grant = self.shared.holds().grant(holder, which);
        match grant {
            Some(grant) if grant.is_valid() && grant.loss().is_none() => self.shared.extend(OP, &grant, lease).await,
            grant => Err(self.shared.not_held(OP, grant.as_ref())),
        }
    }

    /// What `holder` holds, the latest of it, lost or not.
    pub fn grant_of(&self, holder: HolderId) -> Option<Grant> {
        if self.is_forked() { None } else { self.shared.holds().grant(holder, None) }
    }

    /// How many holds `holder` has.
    pub fn hold_count(&self, holder: HolderId) -> u32 {
        if self.is_forked() { 0 } else { self.shared.holds().count(holder) }
    }

    /// Lets the hold of this grant outlive the last [`Semaphore`] of its name: until it is released, lost, or abandoned with
    /// its holder or its client.
    pub(crate) fn keep_while_held(&self, grant: &Grant) {
        self.shared.holds().keep(grant, &self.shared);
    }

    /// Forgets what `holder` holds without a word to the server, as when the holder went away: stops its renewal and warns.
    pub(crate) fn abandon_as(&self, holder: HolderId) {
        if !self.is_forked() {
            self.shared.abandon(holder);
        }
    }
}
