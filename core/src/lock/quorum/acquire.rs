//! One attempt: two rounds, and what becomes of it when it fails.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::Reasons;
use crate::backend::{Answer, Done, Failed, Members, Quorum};
use crate::contended::Acquired;
use crate::lock::step::{Acquire, Raise, Release, Undo};
use crate::name::ObjectName;
use crate::step::Step;
use crate::time::{ServerTime, Tick};

/// How long a waiter pauses when nobody has a majority, in ms.
const PAUSE_MS: RangeInclusive<u64> = 5..=50;

/// Asks all servers for the lock, once.
pub(in crate::lock) async fn acquire(
    quorum: &Arc<Quorum>,
    name: &ObjectName,
    step: &Acquire,
    deadline: Tick,
) -> Result<Done<Acquired>, Failed> {
    quorum.check_lease(Acquire::OP, name, step.lease)?;
    // Nobody stands in a queue there.
    let step = Acquire { waits: false, ..step.clone() };
    let attempt = Attempt { quorum: quorum.clone(), name: name.clone(), step };
    quorum.on_runtime(Acquire::OP, attempt.make(deadline)).await
}

struct Attempt {
    quorum: Arc<Quorum>,
    name: ObjectName,
    step: Acquire,
}

/// What the first round has brought so far.
#[derive(Default)]
struct Tally {
    granted: Members,
    /// How many of these count.
    counting: usize,
    /// They may have granted it, or may yet do so.
    unanswered: Members,
    token: u64,
    now: ServerTime,
    /// The fields in the way, and the longest lease that is left of each holder.
    holders: HashMap<String, (usize, i64)>,
    why: Reasons,
}

impl Tally {
    fn note(&mut self, answer: Answer<Acquired>) {
        let done = match answer.outcome {
            Ok(done) => done,
            Err(failed) => {
                if failed.echo_until.is_some() {
                    self.unanswered.insert(answer.server);
                }
                return self.why.failed(failed);
            }
        };
        if done.echo_until.is_some() {
            self.unanswered.insert(answer.server);
        }
        self.now = self.now.max(done.reply.now());
        match done.reply {
            Acquired::Granted { token, .. } => {
                self.granted.insert(answer.server);
                self.token = self.token.max(token);
                match answer.counts {
                    true => self.counting += 1,
                    false => self.why.restarted(),
                }
            }
            Acquired::Busy { ttl, holder, .. } => {
                let (fields, left) = self.holders.entry(holder).or_insert((0, ttl));
                (*fields, *left) = (*fields + 1, (*left).max(ttl));
            }
            _ => self.why.say("a request came too late by the clock of one: check its time synchronisation"),
        }
    }
}

impl Attempt {
    async fn make(self, deadline: Tick) -> Result<Done<Acquired>, Failed> {
        let Attempt { quorum, name, step } = &self;
        let (needed, mut tally) = (quorum.majority(), Tally::default());
        let late = quorum.late(&step.owner);
        let mut round = quorum.ask(name, step, quorum.all(), deadline);
        let sent = round.sent;
        round
            .read(Tick::NEVER, |answer, open| {
                tally.note(answer);
                tally.counting >= needed || tally.counting + open < needed
            })
            .await;
        let mut granted = tally.counting >= needed;
        if granted && !self.raise(&tally, deadline).await {
            granted = false;
            tally.why.say("the token could not be written to so many in time");
        }
        if !granted {
            // The rest says who holds it, and for how long.
            round
                .read(round.soon(), |answer, _| {
                    tally.note(answer);
                    false
                })
                .await;
            self.undo(&tally, round.open);
        }
        quorum.follow_up(late, round, tally.unanswered, name, self.release());
        if !granted {
            return self.refused(tally, sent);
        }
        let reply = Acquired::Granted { now: tally.now, token: tally.token };
        Ok(Done { reply, sent, echo_until: None, reached: quorum.reached() })
    }

    /// The second round: the last of the tokens is at a majority before anybody sees the first.
    async fn raise(&self, tally: &Tally, deadline: Tick) -> bool {
        let Attempt { quorum, name, step } = self;
        let token = tally.token + step.block - 1;
        let raise = Raise { owner: step.owner.clone(), token, token_ttl: step.token_ttl };
        let (needed, mut raised) = (quorum.majority(), 0);
        let mut round = quorum.ask(name, &raise, tally.granted, deadline);
        round
            .read(Tick::NEVER, |answer, open| {
                raised += usize::from(answer.counts && answer.outcome.is_ok_and(|done| done.reply.done));
                raised >= needed || raised + open < needed
            })
            .await;
        raised >= needed
    }

    fn release(&self) -> Release {
        Release { owner: self.step.owner.clone(), rejoin: false }
    }

    /// Frees what was granted to a failed attempt or may have been.
    fn undo(&self, tally: &Tally, open: Members) {
        let Attempt { quorum, name, step } = self;
        quorum.end(&step.owner);
        let members = tally.granted.union(tally.unanswered).union(open);
        let until = quorum.now().plus(step.lease).plus(quorum.attempt_budget() * 2);
        match members.len() >= quorum.majority() {
            // Others may have taken it for a hold, and wait for a message.
            true => drop(quorum.see_to(name, &self.release(), members, until)),
            false => drop(quorum.see_to(name, &Undo { owner: step.owner.clone() }, members, until)),
        }
    }

    fn refused(&self, tally: Tally, sent: Tick) -> Result<Done<Acquired>, Failed> {
        let quorum = &self.quorum;
        let most = tally.holders.into_iter().max_by_key(|(_, (fields, _))| *fields);
        let Some((holder, (fields, left))) = most else {
            return Err(tally.why.too_few(quorum, Acquire::OP, &self.name));
        };
        let ttl = if fields >= quorum.majority() { left } else { fastrand::u64(PAUSE_MS) as i64 };
        let reply = Acquired::Busy { now: tally.now, ttl, holder, rank: Some(0) };
        Ok(Done { reply, sent, echo_until: None, reached: quorum.reached() })
    }
}
