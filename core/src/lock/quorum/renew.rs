//! Renewing holds, and taking them again where they are gone.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;

use super::Reasons;
use crate::backend::{Answer, Done, Failed, Members, Quorum, Round};
use crate::config::MIN_LEASE;
use crate::contended::Acquired;
use crate::lease::{Grant, Renewal, Renewed};
use crate::lock::step::{Acquire, Raise, Release, Renew};
use crate::step::Step;
use crate::time::{Tick, millis};

/// What the servers said of one hold.
#[derive(Clone, Default)]
struct Tally {
    renewed: usize,
    /// The most that a server left of it, in ms: too much where its clock was set back.
    left: u64,
    /// Where there is no such key.
    gone: Members,
    /// How many of these count: they have not lost it by a restart.
    gone_counting: usize,
    /// Where another owner has it, or the key is none of a lock. What an attempt has for a moment at a server that does not count
    /// says nothing.
    taken: usize,
}

impl Tally {
    fn note(&mut self, server: usize, counts: bool, reply: Renewed, why: &mut Reasons) {
        match reply {
            Renewed::Prolonged { left_ms } if counts => {
                self.renewed += 1;
                self.left = self.left.max(left_ms);
            }
            Renewed::Prolonged { .. } => why.restarted(server),
            Renewed::Gone => {
                self.gone.insert(server);
                self.gone_counting += usize::from(counts);
            }
            Renewed::Taken => self.taken += usize::from(counts),
            Renewed::WrongType => {
                self.taken += usize::from(counts);
                why.say(server, "the key holds something else");
            }
            Renewed::Undecided => {}
        }
    }
}

/// A hold that is being renewed.
struct Renewing {
    grant: Grant,
    lease: Duration,
    tally: Tally,
    /// Where it is being taken again, or was.
    asked: Members,
}

impl Renewing {
    fn new((grant, lease): &(Grant, Duration)) -> Renewing {
        Renewing { grant: grant.clone(), lease: *lease, tally: Tally::default(), asked: Members::default() }
    }

    /// What is known of it so far.
    fn reply(&self, quorum: &Quorum) -> Renewed {
        let (tally, needed) = (&self.tally, quorum.majority());
        match () {
            // Of those that granted it, one that has not restarted shows it no more: it was taken away.
            () if tally.gone_counting >= needed => Renewed::Gone,
            () if tally.taken > quorum.all().len() - needed => Renewed::Taken,
            () if tally.renewed >= needed => Renewed::Prolonged { left_ms: tally.left },
            () => Renewed::Undecided,
        }
    }

    fn is_lost(&self, quorum: &Quorum) -> bool {
        matches!(self.reply(quorum), Renewed::Gone | Renewed::Taken)
    }

    /// Takes it again in the background where it is gone, unless it is lost; how many of these servers count. It is for the
    /// whole lease there.
    fn take_again(&mut self, quorum: &Arc<Quorum>) -> Option<JoinHandle<usize>> {
        let gone = self.tally.gone.without(self.asked);
        // A hold is looked at with a lease of next to nothing, which is none to take a lock for.
        if gone.is_empty() || self.lease < MIN_LEASE || self.is_lost(quorum) {
            return None;
        }
        self.asked = self.asked.union(gone);
        Some(quorum.beside(take_again(quorum.clone(), self.grant.clone(), self.lease, gone)))
    }
}

/// Takes note of what a server said of each.
fn note(holds: &mut [Renewing], answer: Answer<Vec<Renewed>>, why: &mut Reasons) {
    match answer.outcome {
        Ok(done) => {
            for (hold, reply) in holds.iter_mut().zip(done.reply) {
                hold.tally.note(answer.server, answer.counts, reply, why);
            }
        }
        Err(failed) => why.failed(answer.server, failed),
    }
}

/// Renews holds, each for so long. `Undecided` is one that too few servers have answered for; an error if all are.
pub(in crate::lock) async fn renew(
    quorum: &Arc<Quorum>,
    holds: &[(Grant, Duration)],
    deadline: Tick,
) -> Result<Done<Vec<Renewed>>, Failed> {
    for (grant, lease) in holds {
        quorum.check_lease(Renew::OP, grant.name(), *lease)?;
    }
    let items: Vec<_> = holds.iter().map(|(grant, lease)| (grant.name().clone(), Renew::of(grant, *lease))).collect();
    let mut holds: Vec<Renewing> = holds.iter().map(Renewing::new).collect();
    let (needed, mut answered, mut why) = (quorum.majority(), 0, Reasons::default());
    let mut round = quorum.ask_for_each(&items, quorum.all(), deadline);
    let sent = round.sent;
    round
        .read(Tick::NEVER, |answer, _| {
            answered += 1;
            note(&mut holds, answer, &mut why);
            answered >= needed
        })
        .await;
    round
        .read(round.soon(), |answer, _| {
            note(&mut holds, answer, &mut why);
            false
        })
        .await;
    let until = patience(quorum, &holds, sent);
    // All at once, in front of what waits for some of them.
    let again: Vec<_> = holds.iter_mut().map(|hold| hold.take_again(quorum)).collect();
    for (hold, taking) in holds.iter_mut().zip(again) {
        if let Some(taking) = taking.filter(|_| hold.reply(quorum) == Renewed::Undecided) {
            let taken = quorum.by(until, pin!(taking)).await.and_then(|taken| taken.ok());
            hold.tally.renewed += taken.unwrap_or(0);
            let lease = millis(hold.lease);
            hold.tally.left = hold.tally.left.max(lease);
        }
    }
    // The servers that are needed may be the far ones.
    let is_decided = |holds: &[Renewing]| holds.iter().all(|hold| hold.reply(quorum) != Renewed::Undecided);
    if !is_decided(&holds) {
        round
            .read(until, |answer, _| {
                note(&mut holds, answer, &mut why);
                is_decided(&holds)
            })
            .await;
    }
    let replies: Vec<Renewed> = holds.iter().map(|hold| hold.reply(quorum)).collect();
    if let Some(first) = holds.first().filter(|_| replies.iter().all(|reply| *reply == Renewed::Undecided)) {
        let failed = why.too_few(quorum, Renew::OP, first.grant.name());
        follow(quorum, holds, round);
        return Err(failed);
    }
    follow(quorum, holds, round);
    Ok(Done { reply: replies, sent, echo_until: None, reached: quorum.reached() })
}

/// Until when undecided holds wait for what may decide them: those that are renewed are to learn it while they are held.
fn patience(quorum: &Quorum, holds: &[Renewing], sent: Tick) -> Tick {
    let renewed = holds.iter().filter(|hold| hold.reply(quorum) != Renewed::Undecided);
    renewed.map(|hold| sent.plus(hold.lease / 4)).min().unwrap_or(Tick::NEVER)
}

/// Frees what is lost, and takes the others again where they turn out to be gone: a far server may say so only now.
fn follow(quorum: &Arc<Quorum>, holds: Vec<Renewing>, mut round: Round<Vec<Renewed>>) {
    let (lost, mut holds): (Vec<_>, Vec<_>) = holds.into_iter().partition(|hold| hold.is_lost(quorum));
    for Renewing { grant, .. } in lost {
        let release = Release { owner: grant.owner().to_owned(), rejoin: false };
        quorum.end(grant.owner());
        quorum.free(grant.name(), &release, quorum.all());
    }
    holds.iter_mut().for_each(|hold| drop(hold.take_again(quorum)));
    if holds.is_empty() || round.open.is_empty() {
        return;
    }
    let its = quorum.clone();
    drop(quorum.beside(async move {
        while let Some(answer) = round.next().await {
            // Only what is gone: the rest was settled.
            let (counts, Ok(done)) = (answer.counts, answer.outcome) else { continue };
            for (hold, reply) in holds.iter_mut().zip(done.reply) {
                hold.tally.note(answer.server, counts, reply, &mut Reasons::default());
                drop(hold.take_again(&its));
            }
        }
    }));
}

/// Takes a hold again at servers that have lost it or never had it; how many of them count.
async fn take_again(quorum: Arc<Quorum>, grant: Grant, lease: Duration, gone: Members) -> usize {
    let (quorum, name, owner, token_ttl) = (&quorum, grant.name(), grant.owner(), quorum.token_ttl());
    // First, so that either a release finds this, or what follows finds the hold over.
    let late = quorum.late(owner, gone);
    if !grant.is_valid() {
        return 0;
    }
    let acquire = Acquire { owner: owner.to_owned(), lease, token_ttl, block: 1, waits: false };
    let release = Release { owner: owner.to_owned(), rejoin: false };
    let (mut again, mut unanswered) = (Members::default(), Members::default());
    let mut round = quorum.ask(name, &acquire, gone, Tick::NEVER);
    round
        .read(Tick::NEVER, |answer, _| {
            match answer.outcome {
                Ok(done) if done.reply.is_granted() => again.insert(answer.server),
                Err(failed) if failed.echo_until.is_some() => unanswered.insert(answer.server),
                Ok(_) | Err(_) => {}
            }
            false
        })
        .await;
    // The release of the hold may have come to them first.
    if late.is_over() {
        quorum.free(name, &release, std::mem::take(&mut again));
    }
    quorum.follow_up(late, round, unanswered, name, release, Acquired::is_granted);
    // The hold may be handed on within the process up to the last of its tokens.
    let token = grant.token() + u64::from(quorum.cohort_max()) - 1;
    let mut raised = 0;
    let mut round = quorum.ask(name, &Raise { owner: owner.to_owned(), token, token_ttl }, again, Tick::NEVER);
    round
        .read(Tick::NEVER, |answer, _| {
            raised += usize::from(answer.counts && answer.outcome.is_ok_and(|done| done.reply.done));
            false
        })
        .await;
    raised
}
