//! One attempt: two rounds, and what becomes of it when it fails.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use super::Reasons;
use crate::backend::{Answer, Done, Failed, Members, Quorum};
use crate::contended::Acquired;
use crate::lock::step::{Acquire, Raise, Release, Undo};
use crate::name::ObjectName;
use crate::step::Step;
use crate::time::{ServerTime, Tick};

/// How long a waiter pauses when nobody has a majority, in ms.
const PAUSE_MS: RangeInclusive<u64> = 5..=50;

/// For so long after its sending an attempt that is refused waits for more answers while fewer than a majority have come.
const UNCLEAR: Duration = Duration::from_millis(50);

/// Asks all servers for the lock, once.
pub(in crate::lock) async fn acquire(
    quorum: &Arc<Quorum>,
    name: &ObjectName,
    step: &Acquire,
    deadline: Tick,
    caller: Tick,
) -> Result<Done<Acquired>, Failed> {
    quorum.check_lease(Acquire::OP, name, step.lease)?;
    // Nobody stands in a queue there.
    let step = Acquire { waits: false, ..step.clone() };
    let attempt = Attempt { quorum: quorum.clone(), name: name.clone(), step };
    let failed = match attempt.make_directly(deadline.min(caller)) {
        Ok(done) => return Ok(done),
        Err(failed) => failed,
    };
    quorum.on_runtime(Acquire::OP, attempt.make(deadline, failed)).await
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
    /// How many said anything but an error.
    answered: usize,
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
                return self.why.failed(answer.server, failed);
            }
        };
        if done.echo_until.is_some() {
            self.unanswered.insert(answer.server);
        }
        self.now = self.now.max(done.reply.now());
        self.answered += 1;
        match done.reply {
            Acquired::Granted { token, .. } => {
                self.granted.insert(answer.server);
                self.token = self.token.max(token);
                match answer.counts {
                    true => self.counting += 1,
                    false => self.why.restarted(answer.server),
                }
            }
            Acquired::Busy { ttl, holder, .. } => {
                let (fields, left) = self.holders.entry(holder).or_insert((0, ttl));
                (*fields, *left) = (*fields + 1, (*left).max(ttl));
            }
            Acquired::NotYourTurn { .. } => {
                self.why.say(
                    answer.server,
                    "others stand in a queue there: clients that use it alone must not take the same locks",
                );
            }
            _ => self.why.say(answer.server, "the request came too late by its clock: check its time synchronisation"),
        }
    }

    /// Whether a majority has answered, or can no longer do so.
    fn is_clear(&self, open: usize, needed: usize) -> bool {
        self.answered >= needed || self.answered + open < needed
    }
}

impl Attempt {
    /// On the calling thread, if that may block: a majority is asked, which grants it or shows another holder. If it does neither,
    /// the same attempt goes on at all servers, of which those that are returned may have carried this out.
    fn make_directly(&self, deadline: Tick) -> Result<Done<Acquired>, Members> {
        let Attempt { quorum, name, step } = self;
        let Some(directly) = quorum.directly(Members::default(), deadline) else { return Err(Members::default()) };
        let (directly, sent, answers) = directly.ask(name, step)?;
        let mut tally = Tally::default();
        answers.into_iter().for_each(|answer| tally.note(answer));
        let held = tally.holders.values().any(|(fields, _)| *fields >= quorum.majority());
        if held || tally.counting < quorum.majority() {
            directly.give_back();
            return if held {
                self.refused(tally, 0, sent).map_err(|_| Members::default())
            } else {
                Err(Members::default())
            };
        }
        let (directly, _, answers) = directly.ask(name, &self.raise(tally.token))?;
        let others = quorum.all().without(directly.members());
        directly.give_back();
        if !answers.iter().all(|answer| answer.counts && answer.outcome.as_ref().is_ok_and(|done| done.reply.done)) {
            return Err(Members::default());
        }
        self.ask_others(others);
        Ok(self.granted(tally, sent))
    }

    /// Takes the lock at the servers that it was not asked of yet, in the background.
    fn ask_others(&self, others: Members) {
        let Attempt { quorum, name, step } = self;
        let late = quorum.late(&step.owner, others);
        let round = quorum.ask(name, step, others, Tick::NEVER);
        quorum.follow_up(late, round, Members::default(), name, self.release(), Acquired::is_granted);
    }

    fn granted(&self, tally: Tally, sent: Tick) -> Done<Acquired> {
        let reply = Acquired::granted(tally.now, tally.token);
        Done { reply, sent, echo_until: None, reached: self.quorum.reached() }
    }

    /// At all servers. Those in `failed` were asked before, and have not answered.
    async fn make(self, deadline: Tick, failed: Members) -> Result<Done<Acquired>, Failed> {
        let Attempt { quorum, name, step } = &self;
        let (needed, mut tally) = (quorum.majority(), Tally { unanswered: failed, ..Tally::default() });
        let late = quorum.late(&step.owner, quorum.all());
        let mut round = quorum.ask(name, step, quorum.all(), deadline);
        let sent = round.sent;
        round
            .read(Tick::NEVER, |answer, open| {
                tally.note(answer);
                tally.counting >= needed || tally.counting + open < needed
            })
            .await;
        let mut granted = tally.counting >= needed;
        if granted && let Err(why) = self.write_back(&tally, deadline).await {
            (granted, tally.why) = (false, why);
        }
        if !granted {
            // The rest says who holds it, and for how long.
            round
                .read(round.soon(), |answer, _| {
                    tally.note(answer);
                    false
                })
                .await;
            // It is busy where a majority answers, and an outage where that is impossible.
            if !tally.is_clear(round.open.len(), needed) {
                round
                    .read(sent.plus(UNCLEAR), |answer, open| {
                        tally.note(answer);
                        tally.is_clear(open, needed)
                    })
                    .await;
            }
            self.undo(&tally, round.open);
        }
        let open = round.open.len();
        quorum.follow_up(late, round, tally.unanswered, name, self.release(), Acquired::is_granted);
        if granted { Ok(self.granted(tally, sent)) } else { self.refused(tally, open, sent) }
    }

    /// The second round: the last of the tokens is at a majority before anybody sees the first.
    async fn write_back(&self, tally: &Tally, deadline: Tick) -> Result<(), Reasons> {
        let Attempt { quorum, name, .. } = self;
        let (needed, mut raised, mut why) = (quorum.majority(), 0, Reasons::default());
        let mut round = quorum.ask(name, &self.raise(tally.token), tally.granted, deadline);
        round
            .read(Tick::NEVER, |answer, open| {
                match answer.outcome {
                    Ok(done) if done.reply.done && answer.counts => raised += 1,
                    Ok(done) if done.reply.done => why.restarted(answer.server),
                    Ok(_) => why.say(answer.server, "it does not show the grant any more"),
                    Err(failed) => why.failed(answer.server, failed),
                }
                raised >= needed || raised + open < needed
            })
            .await;
        if raised >= needed { Ok(()) } else { Err(why) }
    }

    /// Writes the last of the tokens that begin with this one.
    fn raise(&self, first: u64) -> Raise {
        Raise { owner: self.step.owner.clone(), token: first + self.step.block - 1, token_ttl: self.step.token_ttl }
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

    fn refused(&self, tally: Tally, open: usize, sent: Tick) -> Result<Done<Acquired>, Failed> {
        let quorum = &self.quorum;
        // Whoever holds it at a few is not what is in the way when the others fail.
        let says = tally.answered + open >= quorum.majority();
        let most = tally.holders.into_iter().filter(|_| says).max_by_key(|(_, (fields, _))| *fields);
        let Some((holder, (fields, left))) = most else {
            return Err(tally.why.too_few(quorum, Acquire::OP, &self.name));
        };
        let ttl = if fields >= quorum.majority() { left } else { fastrand::u64(PAUSE_MS) as i64 };
        let reply = Acquired::Busy { now: tally.now, ttl, holder, rank: Some(0) };
        Ok(Done { reply, sent, echo_until: None, reached: quorum.reached() })
    }
}
