//! The line of one object in this process: its waiters, and whether the process contends for it or holds it.
//!
//! Plain data, changed in single steps under one mutex by a caller that comes or gives up, by the contender that acts for all
//! of them on the server, or by a holder that releases. `tests/shuttle.rs` drives this very file.

use crate::time::Tick;
use std::collections::BTreeMap;

/// What this process does about the object, for all its callers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing: nobody waits.
    Idle,
    /// A contender or a release acts on the server: it asks, sleeps in the queue, frees, or leaves.
    Contending,
    /// A holder of this process has it, and waiters stand behind this grant, known by its token.
    Held(Cohort),
}

/// Holders of this process that pass one grant of the server on among themselves, with the tokens that came with it. (The name
/// is that of lock cohorting.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cohort {
    /// Of the present holder.
    pub(crate) token: u64,
    /// The last of the block.
    pub(crate) last_token: u64,
    /// Until when it may be passed on, on the client's clock in nanoseconds.
    pub(crate) until: u64,
}

/// A caller that waits: what it wants, and the ticket by which it gets that.
struct Waiter<T, W> {
    wanted: W,
    ticket: T,
}

/// See the module.
pub(crate) struct Line<T, W> {
    /// In the order of arrival.
    waiters: BTreeMap<u64, Waiter<T, W>>,
    arrivals: u64,
    phase: Phase,
    mail: Mail,
    /// There may be a place in the queue that no answer has shown: to be left once it is not needed.
    owes_leaving: bool,
    /// When a hold of this process last ended, on the client's clock in nanoseconds.
    ended: u64,
}

/// What was heard since the contender last looked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mail {
    /// The object may be free: ask.
    pub(crate) ask: bool,
    /// Messages may have been lost, as before the inbox was confirmed: look, which tells as much as asking while the object is
    /// held. Does not imply a place in the queue.
    pub(crate) missed: bool,
    /// This process is the one behind the head: look more often.
    pub(crate) next: bool,
    /// What is waited for is due then: ask at that time, if not before.
    pub(crate) due: Option<Tick>,
}

/// What is left to do when contending or holding is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing.
    Idle,
    /// A caller waits: contend.
    Waiting,
    /// Nobody waits, but there may be a place in the queue: leave it.
    Queued,
}

/// What a releasing holder has to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Pass<T, G> {
    /// It is this waiter's now, as this grant.
    To(T, G),
    /// Release on the server, and join the queue again if others wait here. The phase is `Contending` now.
    Release { rejoin: bool },
    /// Release on the server: the line does not stand behind this grant.
    Aside,
}

impl Mail {
    /// Only a process that stands in the queue gets such messages.
    fn tells_of_a_place(self) -> bool {
        self.ask || self.next || self.due.is_some()
    }
}

impl<T, W> Default for Line<T, W> {
    fn default() -> Self {
        let (phase, mail) = (Phase::Idle, Mail::default());
        Line { waiters: BTreeMap::new(), arrivals: 0, phase, mail, owes_leaving: false, ended: 0 }
    }
}

impl<T, W: Copy + PartialEq> Line<T, W> {
    /// A number in the order of arrival.
    pub(crate) fn number(&mut self) -> u64 {
        self.arrivals += 1;
        self.arrivals
    }

    /// A caller stands in line at its number. True when the caller has to see to it that somebody contends.
    #[must_use]
    pub(crate) fn stand(&mut self, number: u64, wanted: W, ticket: T) -> bool {
        self.waiters.insert(number, Waiter { wanted, ticket });
        self.begin()
    }

    /// Idle to contending; the number of a caller that comes now.
    pub(crate) fn begin_first(&mut self) -> Option<u64> {
        self.begin().then(|| self.number())
    }

    /// Idle to contending.
    #[must_use]
    pub(crate) fn begin(&mut self) -> bool {
        let idle = self.phase == Phase::Idle;
        if idle {
            self.phase = Phase::Contending;
        }
        idle
    }

    /// A caller leaves; true when it still stood there.
    pub(crate) fn leave(&mut self, number: u64) -> bool {
        let stood = self.waiters.remove(&number).is_some();
        self.shrink();
        stood
    }

    /// An empty tree keeps a node, which is much for each of 100,000 locks: it is given up.
    fn shrink(&mut self) {
        if self.waiters.is_empty() {
            self.waiters = BTreeMap::new();
        }
    }

    /// Whether nobody stands in front of that caller.
    pub(crate) fn is_first(&self, number: u64) -> bool {
        self.waiters.first_key_value().is_none_or(|(first, _)| *first >= number)
    }

    pub(crate) fn len(&self) -> usize {
        self.waiters.len()
    }

    /// What the first in line wants.
    pub(crate) fn wanted(&self) -> Option<W> {
        self.waiters.first_key_value().map(|(_, waiter)| waiter.wanted)
    }

    /// What those behind the first in line want, at most so many of them.
    pub(crate) fn wanted_behind(&self, most: usize) -> Vec<W> {
        self.waiters.values().skip(1).take(most).map(|waiter| waiter.wanted).collect()
    }

    /// The ticket of the first in line, if that caller wants just this.
    pub(crate) fn take_first(&mut self, wanted: W) -> Option<T> {
        let first = self.waiters.first_entry().filter(|first| first.get().wanted == wanted)?;
        let ticket = first.remove().ticket;
        self.shrink();
        Some(ticket)
    }

    /// The tickets of all at the front of the line that want just this.
    pub(crate) fn take_alike(&mut self, wanted: W) -> Vec<T> {
        std::iter::from_fn(|| self.take_first(wanted)).collect()
    }

    /// Removes and returns the waiters that `which` selects.
    pub(crate) fn take_all(&mut self, which: impl Fn(&T) -> bool) -> Vec<T> {
        let (taken, kept) =
            std::mem::take(&mut self.waiters).into_iter().partition(|(_, waiter)| which(&waiter.ticket));
        self.waiters = kept;
        taken.into_values().map(|waiter: Waiter<T, W>| waiter.ticket).collect()
    }

    /// The process holds the lock from now on.
    pub(crate) fn hold(&mut self, cohort: Cohort) {
        self.phase = Phase::Held(cohort);
    }

    /// The holder of the grant with this token releases at the time `now`; `held_as` is what a caller has to want to follow it.
    /// Where the cohort allows it and the first in line wants just that, `hand_over` makes a new grant with the next token;
    /// `None` when the hold is over.
    pub(crate) fn pass<G>(
        &mut self,
        token: u64,
        held_as: W,
        now: u64,
        hand_over: impl FnOnce(u64) -> Option<G>,
    ) -> Pass<T, G> {
        let Phase::Held(cohort) = self.phase else { return Pass::Aside };
        if cohort.token != token {
            return Pass::Aside;
        }
        self.ended = now;
        let next = token + 1;
        if token < cohort.last_token
            && now < cohort.until
            && self.wanted() == Some(held_as)
            && let Some(grant) = hand_over(next)
            && let Some(first) = self.take_first(held_as)
        {
            self.phase = Phase::Held(Cohort { token: next, ..cohort });
            return Pass::To(first, grant);
        }
        self.phase = Phase::Contending;
        Pass::Release { rejoin: !self.waiters.is_empty() }
    }

    /// One of several holders releases: as [`Line::pass`], where the line stands behind no single grant.
    pub(crate) fn pass_one_of_several<G>(&mut self, held_as: W, hand_over: impl FnOnce() -> Option<G>) -> Pass<T, G> {
        if self.wanted() == Some(held_as)
            && let Some(grant) = hand_over()
            && let Some(first) = self.take_first(held_as)
        {
            return Pass::To(first, grant);
        }
        Pass::Aside
    }

    /// The grant with this token ended at the time `now`, otherwise than by a release.
    #[must_use]
    pub(crate) fn vacate(&mut self, token: u64, now: u64) -> Rest {
        if !matches!(self.phase, Phase::Held(cohort) if cohort.token == token) {
            return Rest::Idle;
        }
        self.ended = now;
        self.rest()
    }

    /// The earliest time at which a request for the present waiters can have been sent; `None` while they stand behind a hold
    /// of this process.
    pub(crate) fn asks_since(&self) -> Option<u64> {
        (!matches!(self.phase, Phase::Held(_))).then_some(self.ended)
    }

    /// Contending or holding is over; the phase stays `Contending` if there is something left to do.
    #[must_use]
    pub(crate) fn rest(&mut self) -> Rest {
        self.phase = Phase::Contending;
        if !self.waiters.is_empty() {
            return Rest::Waiting;
        }
        if self.owes_leaving || std::mem::take(&mut self.mail).tells_of_a_place() {
            return Rest::Queued;
        }
        self.phase = Phase::Idle;
        Rest::Idle
    }

    /// Takes note of a message, also for a contender that starts later. False: nobody contends now.
    pub(crate) fn note(&mut self, mail: Mail) -> bool {
        self.mail.ask |= mail.ask;
        self.mail.next |= mail.next;
        self.mail.missed |= mail.missed;
        self.mail.due = self.mail.due.into_iter().chain(mail.due).min();
        self.phase == Phase::Contending
    }

    /// The process may have a place in the queue that no answer has shown: it is left as soon as no caller needs it.
    pub(crate) fn owe_leaving(&mut self) {
        self.owes_leaving = true;
    }

    /// The place is needed, or is being left; whether there was one to leave.
    pub(crate) fn settle_leaving(&mut self) -> bool {
        std::mem::take(&mut self.owes_leaving)
    }

    /// Takes note of a message if somebody contends; otherwise drops it and returns false.
    pub(crate) fn note_if_contending(&mut self, mail: Mail) -> bool {
        self.phase == Phase::Contending && self.note(mail)
    }

    /// Back to the beginning, because the contender has died. Returns the tickets of all waiters.
    pub(crate) fn give_up(&mut self) -> Vec<T> {
        *self = Line { arrivals: self.arrivals, waiters: std::mem::take(&mut self.waiters), ..Line::default() };
        self.take_all(|_| true)
    }

    /// Takes out what was heard: the caller acts on it.
    pub(crate) fn take_mail(&mut self) -> Mail {
        std::mem::take(&mut self.mail)
    }
}
