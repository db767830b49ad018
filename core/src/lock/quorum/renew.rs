//! Renewing holds, and taking them again where they are gone.

use std::sync::Arc;
use std::time::Duration;

use super::Reasons;
use crate::backend::{Answer, Done, Failed, Members, Quorum};
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
    /// The least that a server left of it, in ms.
    left: Option<u64>,
    /// Where there is no such key.
    gone: Members,
    /// How many of these count: they have not lost it by a restart.
    gone_counting: usize,
    taken: usize,
}

impl Tally {
    fn note(&mut self, server: usize, counts: bool, reply: Renewed, why: &mut Reasons) {
        match reply {
            Renewed::Prolonged { left_ms } if counts => {
                self.renewed += 1;
                self.left = Some(self.left.map_or(left_ms, |left| left.min(left_ms)));
            }
            Renewed::Prolonged { .. } => why.restarted(),
            Renewed::Gone => {
                self.gone.insert(server);
                self.gone_counting += usize::from(counts);
            }
            Renewed::Taken => self.taken += 1,
            Renewed::WrongType => {
                self.taken += 1;
                why.say("the key holds something else at one");
            }
            Renewed::Undecided => {}
        }
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
    let (needed, all) = (quorum.majority(), quorum.all());
    let (mut tallies, mut why, mut answered) = (vec![Tally::default(); holds.len()], Reasons::default(), 0);
    let mut note = |answer: Answer<Vec<Renewed>>| {
        answered += 1;
        match answer.outcome {
            Ok(done) => {
                for (tally, reply) in tallies.iter_mut().zip(done.reply) {
                    tally.note(answer.server, answer.counts, reply, &mut why);
                }
            }
            Err(failed) => why.failed(failed),
        }
        answered
    };
    let items: Vec<_> = holds.iter().map(|(grant, lease)| (grant.name().clone(), Renew::of(grant, *lease))).collect();
    let mut round = quorum.ask_for_each(&items, all, deadline);
    let sent = round.sent;
    round.read(Tick::NEVER, |answer, _| note(answer) >= needed).await;
    // A hold that is gone at some is to be taken again there.
    round
        .read(round.soon(), |answer, _| {
            note(answer);
            false
        })
        .await;
    let mut replies = Vec::with_capacity(holds.len());
    for ((grant, lease), tally) in holds.iter().zip(tallies) {
        replies.push(decide(quorum, grant, *lease, tally, deadline).await);
    }
    if replies.iter().all(|reply| *reply == Renewed::Undecided)
        && let Some((first, _)) = holds.first()
    {
        return Err(why.too_few(quorum, Renew::OP, first.name()));
    }
    Ok(Done { reply: replies, sent, echo_until: None, reached: quorum.reached() })
}

/// What the answers mean for one hold.
async fn decide(quorum: &Arc<Quorum>, grant: &Grant, lease: Duration, tally: Tally, deadline: Tick) -> Renewed {
    let (needed, others) = (quorum.majority(), quorum.all().len() - quorum.majority());
    let lost = match () {
        // Of those that granted it, one that has not restarted shows it no more: it was taken away.
        () if tally.gone_counting >= needed => Some(Renewed::Gone),
        () if tally.taken > others => Some(Renewed::Taken),
        () => None,
    };
    if let Some(lost) = lost {
        let release = Release { owner: grant.owner().to_owned(), rejoin: false };
        quorum.end(grant.owner());
        quorum.free(grant.name(), &release, quorum.all());
        return lost;
    }
    let (mut renewed, mut left_ms) = (tally.renewed, tally.left.unwrap_or(u64::MAX));
    // A hold is looked at with a lease of next to nothing, which is none to take a lock for.
    if !tally.gone.is_empty() && lease >= MIN_LEASE {
        renewed += take_again(quorum, grant, lease, tally.gone, deadline).await;
        left_ms = left_ms.min(millis(lease));
    }
    if renewed >= needed { Renewed::Prolonged { left_ms } } else { Renewed::Undecided }
}

/// Takes a hold again at servers that have lost it or never had it; how many of them count.
async fn take_again(quorum: &Arc<Quorum>, grant: &Grant, lease: Duration, gone: Members, deadline: Tick) -> usize {
    let (name, owner, token_ttl) = (grant.name(), grant.owner(), quorum.token_ttl());
    // First, so that either a release finds this, or what follows finds the hold over.
    let late = quorum.late(owner, gone);
    if !grant.is_valid() {
        return 0;
    }
    let acquire = Acquire { owner: owner.to_owned(), lease, token_ttl, block: 1, waits: false };
    let (mut again, mut unanswered) = (Members::default(), Members::default());
    let mut round = quorum.ask(name, &acquire, gone, deadline);
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
    let release = Release { owner: owner.to_owned(), rejoin: false };
    // The release of the hold may have come to them first.
    if late.is_over() {
        quorum.free(name, &release, std::mem::take(&mut again));
    }
    quorum.follow_up(late, round, unanswered, name, release, Acquired::is_granted);
    // The hold may be handed on within the process up to the last of its tokens.
    let token = grant.token() + u64::from(quorum.cohort_max()) - 1;
    let mut raised = 0;
    let mut round = quorum.ask(name, &Raise { owner: owner.to_owned(), token, token_ttl }, again, deadline);
    round
        .read(Tick::NEVER, |answer, _| {
            raised += usize::from(answer.counts && answer.outcome.is_ok_and(|done| done.reply.done));
            false
        })
        .await;
    raised
}
