//! How a set is taken: at once if all are free, and otherwise one after the other in the order of their keys.

use super::hold::Hold;
use super::{HolderId, LockAll};
use crate::contended::{Caller, TakenOrNot, Together};
use crate::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, Term};
use crate::lock::Exclusive;
use crate::lock::acquire::OP;
use crate::time::Tick;

/// A set that is being taken. Dropping it gives back what is taken.
pub(super) struct Taking {
    hold: Hold,
    term: Term,
    asked_at: Tick,
    /// The places in the set of those that the holder does not have yet, in order.
    missing: Vec<usize>,
}

impl Taking {
    pub(super) fn new(all: &LockAll, holder: HolderId, term: Term, asked_at: Tick) -> Taking {
        Taking { hold: Hold::new(all, holder), term, asked_at, missing: Vec::new() }
    }

    /// The hold, once all of it is held; `None` when a part of it was lost before that. Without a deadline it does not wait.
    pub(super) async fn complete(mut self, deadline: Option<Tick>) -> Result<Option<Hold>> {
        let moves = self.moves();
        self.reenter(deadline.is_some()).await?;
        let waited = match deadline {
            None => self.try_missing().await.map(|()| Some(false))?,
            Some(deadline) => self.wait_for_missing(deadline).await?,
        };
        let all = match waited {
            // A lease that the caller has set is counted from when the set is complete. And what was taken of the server before
            // may not be there any more, and the client may not have learned that yet.
            Some(waited) if waited && !self.term.is_renewed() || self.moves() != moves => self.renew().await?,
            Some(_) => true,
            None => false,
        };
        self.hold.members.sort();
        Ok((all && self.hold.members.loss().is_none()).then_some(self.hold))
    }

    /// Enters again what the holder has.
    async fn reenter(&mut self, waits: bool) -> Result<()> {
        let (locks, holder) = (self.hold.members.all.locks.clone(), self.hold.holder);
        let mut present = Vec::new();
        for (at, lock) in locks.iter().enumerate() {
            // Not by `?` on the guard: nothing is awaited while the holds are locked.
            let grant = lock.shared.holds().present(holder);
            match grant {
                Some(grant) => present.push((at, grant)),
                None => self.missing.push(at),
            }
        }
        self.refuse_what_is_left(&present, waits)?;
        for (at, grant) in present {
            let grant = locks[at].reenter(holder, grant, self.term).await?;
            self.hold.members.add(at, grant);
        }
        Ok(())
    }

    /// Refuses what the holder would get stuck with: beside locks of which it has lost some, and a wait against the order.
    fn refuse_what_is_left(&self, present: &[(usize, Grant)], waits: bool) -> Result<()> {
        let (locks, holder) = (&self.hold.members.all.locks, self.hold.holder);
        let (lost, held): (Vec<_>, Vec<_>) = present.iter().partition(|(_, grant)| grant.loss().is_some());
        let Some((last, _)) = held.last() else { return Ok(()) };
        let first = self.missing.first().filter(|first| waits && *first < last);
        // One that the holder was told of, and has not released since, is missing.
        let lost = lost.first().map(|(at, grant)| (*at, grant.clone()));
        let lost = lost.or_else(|| Some((*first?, locks[*first?].grant_of(holder)?)));
        if let Some((at, grant)) = lost
            && let Some(reason) = grant.loss()
        {
            let held: Vec<&str> = held.iter().map(|(at, _)| locks[*at].key()).collect();
            let advice = format!("Release first what this holder still holds: {}", held.join(", "));
            return Err(locks[at].lost(OP, &grant, reason, &advice));
        }
        let Some(first) = first else { return Ok(()) };
        let (first, last) = (&locks[*first], &locks[*last]);
        let message = format!(
            "this holder holds {} and would wait for {}, which comes before it: two holders could wait for each other; acquire \
             all of them in one call, or without a wait",
            last.key(),
            first.key()
        );
        Err(Error::new(ErrorKind::Deadlock, OP, message).on(first.key()))
    }

    /// Those that are missing, from the first on.
    fn together(&self, number: usize) -> Together<Exclusive> {
        let locks = &self.hold.members.all.locks;
        let objects = self.missing[..number].iter().map(|at| locks[*at].shared.clone()).collect();
        Together { objects, holder: self.hold.holder, wanted: self.term, asked_at: self.asked_at }
    }

    /// One of those that are missing, alone.
    fn caller(&self, missing: usize) -> Caller<'_, Exclusive> {
        let lock = &self.hold.members.all.locks[self.missing[missing]];
        Caller::new(&lock.shared, self.hold.holder, self.term, self.asked_at)
    }

    /// This one is missing no more.
    fn took(&mut self, missing: usize, grant: Grant) {
        let at = self.missing.remove(missing);
        self.hold.members.add(at, grant);
    }

    fn took_first(&mut self, grants: Vec<Grant>) {
        for (at, grant) in self.missing.drain(..grants.len()).zip(grants) {
            self.hold.members.add(at, grant);
        }
    }

    /// Takes what is missing without waiting, or nothing.
    async fn try_missing(&mut self) -> Result<()> {
        while self.missing.len() > 1 {
            let together = self.together(self.missing.len());
            match together.once(true, None).await? {
                TakenOrNot::Taken(grants) => self.took_first(grants),
                TakenOrNot::Refused(refusal) => {
                    let Some(at) = refusal.queue() else { return Err(refusal.error(&together)) };
                    // The head may be dead. An attempt at one lock drops it then; one at several changes no queue.
                    let grant = self.caller(at).once().await?;
                    self.took(at, grant);
                }
            }
        }
        if !self.missing.is_empty() {
            let grant = self.caller(0).once().await?;
            self.took(0, grant);
        }
        Ok(())
    }

    /// Takes what is missing, in order. Whether it had to wait; `None` when a part of what it has was lost meanwhile.
    ///
    /// As many as are free are taken at once, up to the first that is not, and that one is waited for. So whatever it waits
    /// for comes behind all that it has. A set that waits takes no lock that others wait for: it can stand in the queue.
    async fn wait_for_missing(&mut self, deadline: Tick) -> Result<Option<bool>> {
        let (mut number, mut waited) = (self.missing.len(), false);
        while !self.missing.is_empty() {
            if number > 1 {
                match self.together(number).once(false, Some(deadline)).await? {
                    TakenOrNot::Taken(grants) => {
                        self.took_first(grants);
                        // What comes next was seen to be in the way, if it was not the last.
                        number = 1;
                    }
                    TakenOrNot::Refused(refusal) => number = refusal.first(),
                }
                continue;
            }
            let granted = {
                let caller = self.caller(0);
                tokio::select! {
                    biased;
                    granted = caller.until(deadline) => Some(granted?),
                    () = self.attend() => None,
                }
            };
            let Some(grant) = granted else { return Ok(None) };
            self.took(0, grant);
            (number, waited) = (self.missing.len(), true);
        }
        Ok(Some(waited))
    }

    /// Completes when a part of what it has is lost. A lease that the watchdog does not renew is renewed here.
    async fn attend(&self) {
        let clock = &self.client().clock;
        let lost = async {
            // Nothing that it has is released meanwhile.
            if self.hold.members.lost().await.is_none() {
                std::future::pending::<()>().await;
            }
        };
        let renew = async {
            let Term::Fixed(lease) = self.term else { return std::future::pending().await };
            let left = || self.hold.members.grants().map(Grant::remaining).min().unwrap_or(lease);
            let mut pause = left().saturating_sub(lease / 2);
            loop {
                clock.sleep_until(clock.now().plus(pause)).await;
                pause = match self.hold.members.extend(OP, lease).await {
                    Ok(()) => left().saturating_sub(lease / 2),
                    Err(_) => lease / 8,
                };
            }
        };
        tokio::select! {
            biased;
            () = lost => {}
            () = renew => {}
        }
    }

    /// Asks for all that it has again. False when a part is lost.
    async fn renew(&self) -> Result<bool> {
        match self.hold.members.extend(OP, self.term.lease()).await {
            Err(_) if self.hold.members.loss().is_some() => Ok(false),
            extended => extended.map(|()| true),
        }
    }

    fn client(&self) -> &Context {
        self.hold.members.all.locks[0].client()
    }

    /// The last move of any of its locks.
    fn moves(&self) -> u64 {
        self.hold.members.all.locks.iter().map(|lock| lock.shared.moves()).max().unwrap_or_default()
    }
}
