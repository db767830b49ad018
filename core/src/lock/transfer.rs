//! Handing a hold to another holder or process on purpose: `detach` here, `attach` there.
//!
//! A detached hold is a line of text: `dlock1;<w|f>;<lease ms>;<token>;<owner>;<name>`. Attaching replaces the owner on the
//! server in one step, so that a text is good for one attach only.

use std::sync::Arc;
use std::time::Duration;

use super::step::{Transfer, Transferred};
use super::{Held, HolderId, Lock, quorum};
use crate::backend::{Done, Failed};
use crate::config::check_lease;
use crate::contended::{Cohort, is_owed, undo};
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, GrantSpec};
use crate::stats::Way;

/// The format's name and version.
const FORMAT: &str = "dlock1";

const DETACH: &str = "detach";

struct Detached<'a> {
    renewed: bool,
    lease: Duration,
    token: u64,
    owner: &'a str,
    name: &'a str,
}

impl Lock {
    /// Ends the hold here and leaves it on the server for whoever attaches the text that this returns, within its lease,
    /// which starts anew. A hold that was acquired more than once by `holder` cannot be detached.
    ///
    /// # Errors
    /// [`ErrorKind::NotHeld`] when `holder` does not hold it or has lost it; [`ErrorKind::InvalidArgument`] when it holds it
    /// more than once; else as the server says, and the hold goes on.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the hold with its holder.
    ///
    /// # Soon after a lost reply
    /// When the connection broke during the acquire, less than two `response_timeout` ago, its bytes may still arrive, and
    /// the detached hold has to become another owner's. Then an error of the server, or dropping the future, ends the hold:
    /// it is released in the background.
    pub async fn detach_as(&self, holder: HolderId) -> Result<String> {
        self.detach_hold(holder, None).await
    }

    /// As [`Lock::detach_as`], of the hold with this token, if one is given.
    pub(super) async fn detach_hold(&self, holder: HolderId, token: Option<u64>) -> Result<String> {
        let grant = self.held_by(DETACH, holder, token)?;
        let count = self.hold_count(holder);
        if count > 1 {
            let message = format!("held {count} times by this holder; release the inner holds first");
            return Err(Error::new(ErrorKind::InvalidArgument, DETACH, message).on(self.key()));
        }
        if is_owed(self.client(), &grant) {
            return self.detach_to_another_owner(holder, grant).await;
        }
        self.shared.extend(DETACH, &grant, grant.lease()).await?;
        let detaching = self.begin_to_detach(holder, grant)?;
        Ok(detaching.to_text(detaching.grant.owner()))
    }

    /// Takes the hold out of the holder's hands.
    fn begin_to_detach(&self, holder: HolderId, grant: Grant) -> Result<Detaching<'_>> {
        // It may have been released or acquired again meanwhile.
        if !self.shared.holds().take_single(holder, &grant) {
            let message = "the holder acquired or released it while it was being detached";
            return Err(Error::new(ErrorKind::InvalidArgument, DETACH, message).on(self.key()));
        }
        grant.begin_release();
        self.client().keeper.forget(&grant);
        self.client().counters.lock.released(self.client().clock.now().since(grant.since()));
        Ok(Detaching { lock: self, grant })
    }

    /// Detaches a hold whose owner is to be released once more, because an attempt of its acquire may still take effect. That
    /// release must not meet what was detached.
    async fn detach_to_another_owner(&self, holder: HolderId, grant: Grant) -> Result<String> {
        let client = self.client();
        let (owner, lease) = (client.next_owner(), grant.lease());
        let _under_way = client.tasks.under_way();
        let step = Transfer { from: grant.owner().to_owned(), to: owner.clone(), lease };
        let detaching = self.begin_to_detach(holder, grant)?;
        // Undone in any case.
        let _former = Orphan { lock: self.clone(), owner: Some(step.from.clone()), lease };
        let mut fresh = Orphan { lock: self.clone(), owner: Some(owner.clone()), lease };
        let refuse = |kind, message: &str| Error::new(kind, DETACH, message).on(self.key());
        let done = self.send_transfer(&step).await;
        // The hold is over in any case: a retry finds none.
        let over = |failed: Failed| failed.error.renamed(DETACH).permanent();
        match done.map_err(over)?.reply {
            Transferred::Done { .. } => {
                fresh.owner = None;
                Ok(detaching.to_text(&owner))
            }
            Transferred::NotHeld { .. } => {
                let message = "the server did not show it as held any more: it was taken away or removed";
                Err(refuse(ErrorKind::NotHeld, message))
            }
            Transferred::TooLate { .. } => {
                Err(refuse(ErrorKind::Clock, "the server's clock has jumped; the hold is released"))
            }
        }
    }

    /// Takes over the hold that `text` stands for, with its token. The first caller to present the text gets it.
    ///
    /// The watchdog renews the hold with this lock's [`watchdog_lease`](crate::lock::LockOptions::watchdog_lease), whichever
    /// lock detached it, and the longer of the two leases applies at once. A fixed lease starts anew with its length.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the text is none of ours or of another lock; [`ErrorKind::Unsupported`] when a later
    /// version wrote it; [`ErrorKind::NotHeld`] when its lease has run out or it was attached before;
    /// [`ErrorKind::Connection`] when the answer took longer than the lease, which uses up the text; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may use up the text; the hold is then released in the background.
    pub async fn attach_as(&self, holder: HolderId, text: &str) -> Result<Held> {
        const OP: &str = "attach";
        let client = self.client();
        self.shared.check_open(OP)?;
        let refuse = |kind, message: &str| Error::new(kind, OP, message).on(self.key());
        let detached = Detached::parse(text).ok_or_else(|| match is_later_format(text) {
            true => refuse(ErrorKind::Unsupported, "a later version of libdlock detached it; this one reads `dlock1;`"),
            false => {
                refuse(ErrorKind::InvalidArgument, "the text is not what detach returned; it starts with `dlock1;`")
            }
        })?;
        check_lease(OP, detached.lease).map_err(|error| error.on(self.key()))?;
        if detached.name != self.key() {
            let message = format!("the text belongs to the lock {:?}", detached.name);
            return Err(refuse(ErrorKind::InvalidArgument, &message));
        }
        // A statement of its own: telling the loss locks the holds again.
        let present = self.shared.holds().present(holder);
        if let Some(present) = present {
            self.refuse_lost(OP, &present)?;
            return Err(refuse(ErrorKind::Deadlock, "this holder holds the lock itself; attach as another holder"));
        }
        let asked_at = client.clock.now();
        let owner = client.next_owner();
        let (lease, watchdog) = detached.terms(self.watchdog_lease);
        let step = Transfer { from: detached.owner.to_owned(), to: owner.clone(), lease };
        // A client that closes waits for what is got here until it has arrived or was given back.
        let _under_way = client.tasks.under_way();
        let mut orphan = Orphan { lock: self.clone(), owner: Some(owner.clone()), lease };
        let done = self.send_transfer(&step).await.map_err(|failed| failed.error)?;
        match done.reply {
            Transferred::Done { .. } => {}
            Transferred::NotHeld { .. } => {
                return Err(refuse(ErrorKind::NotHeld, "its lease has run out, or the text was attached before"));
            }
            Transferred::TooLate { .. } => {
                return Err(refuse(ErrorKind::Clock, "the server's clock has jumped; try again").temporary());
            }
        }
        let spec = GrantSpec {
            name: self.shared.name().clone(),
            owner,
            token: detached.token,
            lease,
            leased: true,
            watchdog,
            clock_drift: client.options.clock_drift,
            sent: done.sent,
            granted: client.clock.now(),
            echo_until: done.echo_until,
            reached: done.reached,
            parcel: None,
        };
        if spec.is_over() {
            let message = format!("{}; nothing is held, and the text is used up", spec.too_slow(&client.target));
            return Err(refuse(ErrorKind::Connection, &message).permanent());
        }
        {
            // Those who come from now on wait behind this hold. It is not handed on: its tokens are another client's.
            let mut line = self.shared.line();
            if line.begin() {
                line.hold(Cohort { token: spec.token, last_token: spec.token, until: 0 });
            }
        }
        let grant = self.shared.admit(spec);
        let entered = self.enter_attached(holder, &grant);
        if let Err(error) = entered {
            // The orphan gives it back on the server.
            grant.release();
            client.keeper.forget(&grant);
            self.shared.vacate(grant.token());
            return Err(error);
        }
        orphan.owner = None;
        client.counters.lock.acquired(client.clock.now().since(asked_at), Way::AtOnce);
        Ok(Held::new(self.clone(), holder, grant))
    }

    async fn send_transfer(&self, step: &Transfer) -> Result<Done<Transferred>, Failed> {
        let (client, name) = (self.client(), self.shared.name());
        match client.backend.quorum() {
            Some(quorum) => quorum::transfer(quorum, name, step, client.operation_deadline()).await,
            None => client.operate(name, step).await,
        }
    }

    /// Makes what was attached the holder's, unless it holds the lock meanwhile or the client has begun to close.
    fn enter_attached(&self, holder: HolderId, grant: &Grant) -> Result<()> {
        const OP: &str = "attach";
        self.shared.check_open(OP)?;
        let mut holds = self.shared.holds();
        if holds.present(holder).is_some() {
            let message = "this holder has acquired the lock meanwhile; attach as another holder";
            return Err(Error::new(ErrorKind::Deadlock, OP, message).on(self.key()));
        }
        holds.enter(holder, grant.clone());
        Ok(())
    }
}

/// A hold that is its holder's no more. However this ends, those who wait in this process contend then.
struct Detaching<'a> {
    lock: &'a Lock,
    grant: Grant,
}

impl Detaching<'_> {
    fn to_text(&self, owner: &str) -> String {
        let grant = &self.grant;
        let (renewed, lease, token) = (grant.is_renewed(), grant.lease(), grant.token());
        Detached { renewed, lease, token, owner, name: self.lock.key() }.to_text()
    }
}

impl Drop for Detaching<'_> {
    fn drop(&mut self) {
        if self.lock.is_forked() {
            return;
        }
        self.grant.release();
        self.lock.shared.vacate(self.grant.token());
    }
}

/// An owner that may have got the lock without anybody to hold it, as when the caller went away.
struct Orphan {
    lock: Lock,
    owner: Option<String>,
    lease: Duration,
}

impl Drop for Orphan {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.take().filter(|_| !self.lock.is_forked()) {
            let client = self.lock.client();
            let until = client.clock.now().plus(client.backend.attempt_budget());
            undo(&Arc::clone(&self.lock.shared), &owner, self.lease, Some(until));
        }
    }
}

/// Whether the text has the form of ours with a higher number.
fn is_later_format(text: &str) -> bool {
    let version = text.strip_prefix("dlock").and_then(|rest| rest.split_once(';')).map(|(version, _)| version);
    version.and_then(|version| version.parse::<u32>().ok()).is_some_and(|version| version > 1)
}

impl<'a> Detached<'a> {
    fn to_text(&self) -> String {
        let kind = if self.renewed { 'w' } else { 'f' };
        format!("{FORMAT};{kind};{};{};{};{}", self.lease.as_millis(), self.token, self.owner, self.name)
    }

    /// The lease to ask for, and the one with which the watchdog renews the hold, if it does, when a lock with the lease
    /// `watchdog` attaches it. The lease asked for is never the shorter one: it has to last until the first renewal.
    fn terms(&self, watchdog: Duration) -> (Duration, Option<Duration>) {
        match self.renewed {
            true => (self.lease.max(watchdog), Some(watchdog)),
            false => (self.lease, None),
        }
    }

    fn parse(text: &'a str) -> Option<Detached<'a>> {
        let mut parts = text.splitn(6, ';');
        let mut next = || parts.next();
        if next()? != FORMAT {
            return None;
        }
        let renewed = match next()? {
            "w" => true,
            "f" => false,
            _ => return None,
        };
        let lease = Duration::from_millis(next()?.parse().ok()?);
        Some(Detached { renewed, lease, token: next()?.parse().ok()?, owner: next()?, name: next()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_detached_hold_survives_the_text_whatever_the_name() {
        let before =
            Detached { renewed: true, lease: Duration::from_secs(30), token: 17, owner: "u-1:2", name: "a;b;{c}" };
        let text = before.to_text();
        let after = Detached::parse(&text).unwrap();
        assert_eq!((after.renewed, after.lease, after.token), (true, Duration::from_secs(30), 17));
        assert_eq!((after.owner, after.name), ("u-1:2", "a;b;{c}"));
        for bad in ["", "dlock1", "dlock2;w;1;1;o;n", "dlock1;x;1;1;o;n", "dlock1;w;-1;1;o;n", "dlock1;w;1;1;o"] {
            assert!(Detached::parse(bad).is_none(), "{bad}");
        }
    }
}
