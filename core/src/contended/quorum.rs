//! A lock on several servers, of which a majority grants it: two rounds, and what becomes of an attempt that fails. See
//! docs/protocol/quorum.md, and `tests/model/src/quorum`, which checks these rules.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{AcquireStep, Acquired, Released};
use crate::backend::{Answer, Done, Failed, Quorum, Round};
use crate::config::MIN_LEASE;
use crate::lease::Renewed;
use crate::name::ObjectName;
use crate::step::Step;
use crate::time::{ServerTime, Tick};

/// An acquire that several servers can grant together.
pub(crate) trait GrantedTogether: AcquireStep {
    type Raise: Step;
    type Undo: Step;
    type Release: Step<Reply = Released>;

    /// The same for one of several servers, where nobody stands in a queue.
    fn without_queue(&self) -> Self;
    /// Writes the last of the tokens that begin with this one.
    fn raise(&self, first: u64) -> Self::Raise;
    fn is_raised(reply: &<Self::Raise as Step>::Reply) -> bool;
    fn undo(&self) -> Self::Undo;
    fn release(&self) -> Self::Release;
}

/// How long a waiter pauses when nobody has a majority.
const PAUSE_MS: std::ops::RangeInclusive<u64> = 5..=50;

/// What the first round has brought so far.
#[derive(Default)]
struct Tally {
    granted: Vec<usize>,
    counting: usize,
    unanswered: Vec<usize>,
    echo_until: Option<Tick>,
    token: u64,
    now: ServerTime,
    /// The fields in the way, and the longest lease that is left of each holder.
    holders: HashMap<String, (usize, i64)>,
    why: Vec<String>,
}

impl Tally {
    fn note(&mut self, answer: Answer<Acquired>) {
        match answer.outcome {
            Ok(done) => {
                self.now = self.now.max(done.reply.now());
                match done.reply {
                    Acquired::Granted { token, .. } => {
                        self.granted.push(answer.server);
                        self.token = self.token.max(token);
                        match answer.counts {
                            true => self.counting += 1,
                            false => {
                                self.why.push("one has restarted and does not count yet (longest_lease)".to_owned())
                            }
                        }
                    }
                    Acquired::Busy { ttl, holder, .. } => {
                        let (fields, left) = self.holders.entry(holder).or_insert((0, ttl));
                        (*fields, *left) = (*fields + 1, (*left).max(ttl));
                    }
                    _ => self.why.push("a request came too late by the clock of one".to_owned()),
                }
            }
            Err(failed) => {
                if let Some(until) = failed.echo_until {
                    self.unanswered.push(answer.server);
                    self.echo_until = self.echo_until.max(Some(until));
                }
                self.why.push(failed.error.message().to_owned());
            }
        }
    }
}

/// Waits until `needed` answers count, or cannot any more; then a little longer for those that are nearly there.
async fn gather<R: Send + 'static>(
    quorum: &Quorum,
    round: &mut Round<R>,
    mut note: impl FnMut(Answer<R>) -> usize,
) -> usize {
    let (needed, mut counting) = (quorum.majority(), 0);
    while counting < needed && counting + round.open.len() >= needed {
        let Some(answer) = round.next().await else { break };
        counting = note(answer);
    }
    let took = quorum.now().since(round.sent).max(Duration::from_millis(1));
    let grace = quorum.now().plus(took);
    loop {
        tokio::select! {
            biased;
            answer = round.next() => match answer {
                Some(answer) => counting = note(answer),
                None => return counting,
            },
            () = quorum.clock().sleep_until(grace) => return counting,
        }
    }
}

/// One attempt at all servers.
pub(crate) async fn acquire<A: GrantedTogether>(
    quorum: &Arc<Quorum>,
    name: &ObjectName,
    step: &A,
    deadline: Tick,
) -> Result<Done<Acquired>, Failed> {
    quorum.check_lease(A::OP, name, step.lease())?;
    let mut tally = Tally::default();
    let mut round = quorum.ask(name, &step.without_queue(), &quorum.all(), deadline);
    let sent = round.sent;
    gather(quorum, &mut round, |answer| {
        tally.note(answer);
        tally.counting
    })
    .await;
    for server in std::mem::take(&mut round.open) {
        tally.unanswered.push(server);
        tally.echo_until = tally.echo_until.max(Some(sent.plus(quorum.attempt_budget())));
    }
    if tally.counting >= quorum.majority() && write_back(quorum, name, step, &tally, deadline).await {
        let reply = Acquired::Granted { now: tally.now, token: tally.token };
        return Ok(Done { reply, sent, echo_until: tally.echo_until, reached: quorum.reached() });
    }
    if tally.counting >= quorum.majority() {
        tally.why.push("the token could not be written to so many in time".to_owned());
    }
    undo(quorum, name, step, &tally);
    refused::<A>(quorum, name, tally, sent)
}

/// The second round: the token is at a majority before anybody sees it.
async fn write_back<A: GrantedTogether>(
    quorum: &Arc<Quorum>,
    name: &ObjectName,
    step: &A,
    tally: &Tally,
    deadline: Tick,
) -> bool {
    let mut raised = 0;
    let mut round = quorum.ask(name, &step.raise(tally.token), &tally.granted, deadline);
    gather(quorum, &mut round, |answer| {
        raised += usize::from(answer.counts && answer.outcome.is_ok_and(|done| A::is_raised(&done.reply)));
        raised
    })
    .await
        >= quorum.majority()
}

/// Frees what a failed attempt was granted or may have been, and once more what may still arrive.
fn undo<A: GrantedTogether>(quorum: &Arc<Quorum>, name: &ObjectName, step: &A, tally: &Tally) {
    let servers = [tally.granted.as_slice(), tally.unanswered.as_slice()].concat();
    let (now, budget) = (quorum.now(), quorum.attempt_budget());
    let until = now.plus(step.lease()).plus(budget * 2);
    match servers.len() >= quorum.majority() {
        // Others may have taken it for a hold.
        true => quorum.see_to(name, &step.release(), &servers, now, until),
        false => quorum.see_to(name, &step.undo(), &servers, now, until),
    }
    if let Some(echo) = tally.echo_until {
        quorum.see_to(name, &step.release(), &tally.unanswered, echo.plus(budget), until);
    }
}

fn refused<A: GrantedTogether>(
    quorum: &Quorum,
    name: &ObjectName,
    tally: Tally,
    sent: Tick,
) -> Result<Done<Acquired>, Failed> {
    let most = tally.holders.into_iter().max_by_key(|(_, (fields, _))| *fields);
    let Some((holder, (fields, left))) = most else {
        // A majority that was granted and not raised is none of the others' doing either.
        return Err(quorum.too_few(A::OP, name, &tally.why));
    };
    let ttl = if fields >= quorum.majority() { left } else { fastrand::u64(PAUSE_MS) as i64 };
    let reply = Acquired::Busy { now: tally.now, ttl, holder, rank: Some(0) };
    Ok(Done { reply, sent, echo_until: None, reached: quorum.reached() })
}

/// Frees a hold everywhere; done when a majority has answered.
pub(crate) async fn release<S: Step<Reply = Released>>(
    quorum: &Arc<Quorum>,
    name: &ObjectName,
    step: &S,
    deadline: Tick,
) -> Result<Done<Released>, Failed> {
    let (mut answered, mut freed, mut announced, mut why) = (0, false, true, Vec::new());
    let mut missing = Vec::new();
    let mut round = quorum.ask(name, step, &quorum.all(), deadline);
    let sent = round.sent;
    gather(quorum, &mut round, |answer| {
        match answer.outcome {
            Ok(done) => {
                answered += 1;
                if let Released::Freed { announced: told, .. } = done.reply {
                    (freed, announced) = (true, announced && told);
                }
            }
            Err(failed) => {
                missing.push(answer.server);
                why.push(failed.error.message().to_owned());
            }
        }
        answered
    })
    .await;
    missing.extend(&round.open);
    let (now, budget) = (quorum.now(), quorum.attempt_budget());
    quorum.see_to(name, step, &missing, now, now.plus(quorum.longest_lease()));
    if let Some(late) = quorum.late_until(name) {
        let from = late.plus(budget);
        quorum.see_to(name, step, &quorum.all(), from, from.plus(quorum.longest_lease()));
    }
    if answered < quorum.majority() {
        return Err(quorum.too_few(S::OP, name, &why));
    }
    let reply = if freed { Released::Freed { announced, rank: None } } else { Released::NotHeld };
    Ok(Done { reply, sent, echo_until: None, reached: quorum.reached() })
}

/// Renews a hold, and takes it again where it is gone, as long as it `lasts`: it may be released meanwhile.
pub(crate) async fn renew<R, A>(
    quorum: &Arc<Quorum>,
    name: &ObjectName,
    step: &R,
    retake: (&A, u64),
    lasts: impl Fn() -> bool,
    deadline: Tick,
) -> Result<Done<Renewed>, Failed>
where
    R: Step<Reply = Renewed>,
    A: GrantedTogether,
{
    let (acquire, token) = retake;
    quorum.check_lease(R::OP, name, acquire.lease())?;
    let (mut left, mut gone, mut taken, mut counting, mut why) = (u64::MAX, Vec::new(), 0, 0, Vec::new());
    let mut round = quorum.ask(name, step, &quorum.all(), deadline);
    let sent = round.sent;
    gather(quorum, &mut round, |answer| {
        match answer.outcome.map(|done| done.reply) {
            Ok(Renewed::Prolonged { left_ms }) if answer.counts => {
                counting += 1;
                left = left.min(left_ms);
            }
            Ok(Renewed::Gone) => gone.push(answer.server),
            Ok(Renewed::Taken | Renewed::WrongType) => taken += 1,
            Ok(Renewed::Prolonged { .. }) => {
                why.push("one has restarted and does not count yet (longest_lease)".to_owned())
            }
            Err(failed) => why.push(failed.error.message().to_owned()),
        }
        counting
    })
    .await;
    // A hold is looked at with a lease of next to nothing, which is none to take a lock for.
    let retakes = !gone.is_empty() && acquire.lease() >= MIN_LEASE;
    if retakes {
        // First, so that either a release finds this, or what follows finds the hold over.
        quorum.note_late(name, quorum.now().plus(quorum.attempt_budget()));
    }
    if retakes && lasts() {
        let mut taken_again = Vec::new();
        let mut round = quorum.ask(name, &acquire.without_queue(), &gone, deadline);
        while let Some(answer) = round.next().await {
            if answer.outcome.is_ok_and(|done| matches!(done.reply, Acquired::Granted { .. })) {
                taken_again.push(answer.server);
            }
        }
        let mut round = quorum.ask(name, &acquire.raise(token), &taken_again, deadline);
        while let Some(answer) = round.next().await {
            counting += usize::from(answer.counts && answer.outcome.is_ok_and(|done| A::is_raised(&done.reply)));
        }
        left = left.min(acquire.lease().as_millis() as u64);
    }
    let reply = match counting >= quorum.majority() {
        true => Renewed::Prolonged { left_ms: left },
        false if taken > quorum.all().len() - quorum.majority() => Renewed::Taken,
        false => return Err(quorum.too_few(R::OP, name, &why)),
    };
    Ok(Done { reply, sent, echo_until: None, reached: quorum.reached() })
}
