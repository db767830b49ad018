//! Freeing a lock at all servers.

use std::sync::Arc;

use super::Reasons;
use crate::backend::{Done, Failed, Quorum};
use crate::contended::Released;
use crate::lock::step::{ForceRelease, Release};
use crate::name::ObjectName;
use crate::step::Step;
use crate::time::Tick;

/// Frees a hold everywhere; done when a majority has answered. The others are asked until the lease must be over.
pub(in crate::lock) async fn release(
    quorum: &Arc<Quorum>,
    name: &ObjectName,
    step: &Release,
    deadline: Tick,
) -> Result<Done<Released>, Failed> {
    quorum.end(&step.owner);
    let tried = match release_directly(quorum, name, step, deadline) {
        Direct::Done(done) => return Ok(done),
        Direct::Tried(at) => Some(at),
        Direct::NotTried => None,
    };
    let (all, name, step) = (quorum.clone(), name.clone(), step.clone());
    quorum.on_runtime(Release::OP, async move { release_everywhere(&all, &name, &step, deadline, tried).await }).await
}

/// What came of a release on the calling thread.
enum Direct {
    Done(Done<Released>),
    /// Some may have carried it out.
    Tried(Tick),
    NotTried,
}

/// What the servers said so far.
struct Tally {
    freed: bool,
    announced: bool,
}

impl Tally {
    fn new() -> Tally {
        Tally { freed: false, announced: true }
    }

    fn note(&mut self, done: &Done<Released>) {
        match done.reply {
            Released::Freed { announced, .. } => (self.freed, self.announced) = (true, self.announced && announced),
            // A retry that finds nothing: the first attempt freed it.
            Released::NotHeld => self.freed |= done.echo_until.is_some(),
            Released::Discarded => self.freed = true,
        }
    }

    fn done(&self, quorum: &Quorum, sent: Tick, echo_until: Option<Tick>) -> Done<Released> {
        let Tally { freed, announced } = *self;
        let reply = if freed { Released::Freed { announced, rank: None } } else { Released::NotHeld };
        Done { reply, sent, echo_until, reached: quorum.reached() }
    }
}

/// On the calling thread, if that may block, at a majority; the others are asked in the background. Not where a request for the
/// owner may be under way on another connection, which this could overtake.
fn release_directly(quorum: &Arc<Quorum>, name: &ObjectName, step: &Release, deadline: Tick) -> Direct {
    let Some(directly) = quorum.directly(quorum.late_at(&step.owner), deadline) else { return Direct::NotTried };
    // First: the caller may end with its process as soon as this returns.
    quorum.free(name, step, quorum.all().without(directly.members()));
    let Ok((directly, sent, answers)) = directly.ask(name, step) else { return Direct::Tried(quorum.now()) };
    directly.give_back();
    let mut tally = Tally::new();
    answers.iter().flat_map(|answer| &answer.outcome).for_each(|done| tally.note(done));
    Direct::Done(tally.done(quorum, sent, None))
}

async fn release_everywhere(
    quorum: &Arc<Quorum>,
    name: &ObjectName,
    step: &Release,
    deadline: Tick,
    tried: Option<Tick>,
) -> Result<Done<Released>, Failed> {
    let (needed, mut answered, mut why, mut tally) = (quorum.majority(), 0, Reasons::default(), Tally::new());
    let mut round = quorum.see_to(name, step, quorum.all(), quorum.now().plus(quorum.longest_lease()));
    let sent = round.sent;
    round
        .read(deadline, |answer, open| {
            match answer.outcome {
                Ok(done) => {
                    answered += 1;
                    tally.note(&done);
                }
                Err(failed) => why.failed(answer.server, failed),
            }
            answered >= needed || answered + open < needed
        })
        .await;
    if answered < needed {
        return Err(why.too_few(quorum, Release::OP, name));
    }
    Ok(tally.done(quorum, sent, tried))
}

/// Frees it everywhere, whoever holds it; whether any server showed a holder. A holder that finds it free at a majority has lost
/// it.
pub(in crate::lock) async fn force_release(
    quorum: &Arc<Quorum>,
    name: &ObjectName,
    deadline: Tick,
) -> Result<bool, Failed> {
    let (needed, mut answered, mut freed, mut why) = (quorum.majority(), 0, false, Reasons::default());
    let mut round = quorum.ask(name, &ForceRelease, quorum.all(), deadline);
    round
        .read(Tick::NEVER, |answer, _| {
            match answer.outcome {
                Ok(done) => {
                    answered += 1;
                    freed |= done.reply;
                }
                Err(failed) => why.failed(answer.server, failed),
            }
            false
        })
        .await;
    if answered < needed { Err(why.too_few(quorum, ForceRelease::OP, name)) } else { Ok(freed) }
}
