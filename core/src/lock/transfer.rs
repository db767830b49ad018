//! Handing a hold to another holder or process on purpose: `detach` here, `attach` there.
//!
//! A detached hold is a line of text: `dlock1;<w|f>;<lease ms>;<token>;<owner>;<name>`. Attaching replaces the owner on the
//! server in one step, so that a text is good for one attach only.

use std::sync::Arc;
use std::time::Duration;

use super::contend;
use super::line::Tenure;
use super::release::undo;
use super::step::{Transfer, Transferred};
use super::{Held, HolderId, Lock};
use crate::config::check_lease;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, GrantSpec};
use crate::stats::Way;

/// The format's name and version.
const FORMAT: &str = "dlock1";

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
    pub async fn detach_as(&self, holder: HolderId) -> Result<String> {
        const OP: &str = "detach";
        let grant = self.held_by(OP, holder)?;
        let count = self.hold_count(holder);
        if count > 1 {
            let message = format!("held {count} times by this holder; release the inner holds first");
            return Err(Error::new(ErrorKind::InvalidArgument, OP, message).on(self.key()));
        }
        self.shared.extend(OP, &grant, grant.lease()).await?;
        // It may have been released or acquired again meanwhile.
        if !self.shared.holds().take_single(holder, &grant) {
            let message = "the holder acquired or released it while it was being detached";
            return Err(Error::new(ErrorKind::InvalidArgument, OP, message).on(self.key()));
        }
        self.client().keeper.forget(&grant);
        self.client().counters.released(grant.held_for());
        let detached = Detached {
            renewed: grant.is_renewed(),
            lease: grant.lease(),
            token: grant.token(),
            owner: grant.owner(),
            name: self.key(),
        };
        let text = detached.to_text();
        grant.release();
        // Those who wait here now wait for whoever attaches it.
        let rest = self.shared.line().vacate(grant.token());
        contend::go_on(&self.shared, rest);
        Ok(text)
    }

    /// Takes over the hold that `text` stands for, with its token. Whoever presents the text first gets it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidArgument`] when the text is none of ours or of another lock; [`ErrorKind::NotHeld`] when its lease
    /// has run out or it was attached before; else as the server says.
    ///
    /// # Cancel safety
    /// Dropping the future may use up the text; the hold is then released in the background.
    pub async fn attach_as(&self, holder: HolderId, text: &str) -> Result<Held> {
        const OP: &str = "attach";
        let client = self.client();
        self.shared.check_open(OP)?;
        let refuse = |kind, message: &str| Error::new(kind, OP, message).on(self.key());
        let detached = Detached::parse(text).ok_or_else(|| {
            refuse(ErrorKind::InvalidArgument, "the text is not what detach returned; it starts with `dlock1;`")
        })?;
        check_lease(OP, detached.lease).map_err(|error| error.on(self.key()))?;
        if detached.name != self.key() {
            let message = format!("the text belongs to the lock {:?}", detached.name);
            return Err(refuse(ErrorKind::InvalidArgument, &message));
        }
        if self.grant_of(holder).is_some() {
            return Err(refuse(ErrorKind::Deadlock, "this holder holds the lock itself; attach as another holder"));
        }
        let asked_at = client.clock.now();
        let (owner, lease) = (client.next_owner(), detached.lease);
        let step = Transfer { from: detached.owner.to_owned(), to: owner.clone(), lease };
        // A client that closes waits for what is got here until it has arrived or was given back.
        let _under_way = client.tasks.under_way();
        let mut orphan = Orphan { lock: self.clone(), owner: Some(owner.clone()), lease };
        let done = client
            .backend
            .run(self.shared.name(), &step, client.operation_deadline())
            .await
            .map_err(|failed| failed.error)?;
        match done.reply {
            Transferred::Done { .. } => {}
            Transferred::NotHeld { .. } => {
                return Err(refuse(ErrorKind::NotHeld, "its lease has run out, or the text was attached before"));
            }
            Transferred::Stale { .. } => {
                return Err(refuse(ErrorKind::Clock, "the server's clock has jumped; try again"));
            }
        }
        let spec = GrantSpec {
            name: self.shared.name().clone(),
            owner,
            token: detached.token,
            lease,
            watchdog: detached.renewed.then_some(client.options.lease),
            sent: done.sent,
            echo_until: done.echo_until,
            server_generation: client.backend.server_generation(),
        };
        if spec.is_over(client.clock.now()) {
            let message = "the server took longer than the lease to answer; nothing is held";
            return Err(refuse(ErrorKind::Connection, message));
        }
        {
            // Those who come from now on wait behind this hold. It is not handed on: its tokens are another client's.
            let mut line = self.shared.line();
            if line.begin() {
                line.hold(Tenure { token: spec.token, last_token: spec.token, until: 0 });
            }
        }
        let grant = self.shared.admit(spec);
        let entered = self.enter_attached(holder, &grant);
        if let Err(error) = entered {
            // The orphan gives it back on the server.
            grant.release();
            client.keeper.forget(&grant);
            let rest = self.shared.line().vacate(grant.token());
            contend::go_on(&self.shared, rest);
            return Err(error);
        }
        orphan.owner = None;
        client.counters.acquired(client.clock.now().since(asked_at), Way::AtOnce);
        Ok(Held::new(self.clone(), holder, grant))
    }

    /// Makes what was attached the holder's, unless it holds the lock meanwhile or the client has begun to close.
    fn enter_attached(&self, holder: HolderId, grant: &Grant) -> Result<()> {
        const OP: &str = "attach";
        self.shared.check_open(OP)?;
        let mut holds = self.shared.holds();
        if holds.grant(holder).is_some() {
            let message = "this holder has acquired the lock meanwhile; attach as another holder";
            return Err(Error::new(ErrorKind::Deadlock, OP, message).on(self.key()));
        }
        holds.enter(holder, grant.clone());
        Ok(())
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
        if let Some(owner) = self.owner.take() {
            let client = self.lock.client();
            let until = client.clock.now().plus(client.backend.attempt_budget());
            undo(&Arc::clone(&self.lock.shared), owner, self.lease, Some(until));
        }
    }
}

impl<'a> Detached<'a> {
    fn to_text(&self) -> String {
        let kind = if self.renewed { 'w' } else { 'f' };
        format!("{FORMAT};{kind};{};{};{};{}", self.lease.as_millis(), self.token, self.owner, self.name)
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
