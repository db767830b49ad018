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
    if let Some(done) = release_directly(quorum, name, step, deadline) {
        return Ok(done);
    }
    let (all, name, step) = (quorum.clone(), name.clone(), step.clone());
    quorum.on_runtime(Release::OP, async move { release_everywhere(&all, &name, &step, deadline).await }).await
}

/// On the calling thread, if that may block, at a majority; the others are asked in the background. Not where a request for the
/// owner may be under way on another connection, which this could overtake.
fn release_directly(quorum: &Arc<Quorum>, name: &ObjectName, step: &Release, deadline: Tick) -> Option<Done<Released>> {
    let directly = quorum.directly(quorum.late_at(&step.owner), deadline)?;
    // First: the caller may end with its process as soon as this returns.
    quorum.free(name, step, quorum.all().without(directly.members()));
    let (directly, sent, answers) = directly.ask(name, step).ok()?;
    directly.give_back();
    let (mut freed, mut announced) = (false, true);
    for done in answers.into_iter().flat_map(|answer| answer.outcome) {
        if let Released::Freed { announced: told, .. } = done.reply {
            (freed, announced) = (true, announced && told);
        }
    }
    Some(released(quorum, freed, announced, sent))
}

fn released(quorum: &Quorum, freed: bool, announced: bool, sent: Tick) -> Done<Released> {
    let reply = if freed { Released::Freed { announced, rank: None } } else { Released::NotHeld };
    Done { reply, sent, echo_until: None, reached: quorum.reached() }
}

async fn release_everywhere(
    quorum: &Arc<Quorum>,
    name: &ObjectName,
    step: &Release,
    deadline: Tick,
) -> Result<Done<Released>, Failed> {
    let (needed, mut answered, mut why) = (quorum.majority(), 0, Reasons::default());
    let (mut freed, mut announced) = (false, true);
    let mut round = quorum.see_to(name, step, quorum.all(), quorum.now().plus(quorum.longest_lease()));
    let sent = round.sent;
    round
        .read(deadline, |answer, open| {
            match answer.outcome {
                Ok(done) => {
                    answered += 1;
                    if let Released::Freed { announced: told, .. } = done.reply {
                        (freed, announced) = (true, announced && told);
                    }
                }
                Err(failed) => why.failed(failed),
            }
            answered >= needed || answered + open < needed
        })
        .await;
    if answered < needed {
        return Err(why.too_few(quorum, Release::OP, name));
    }
    Ok(released(quorum, freed, announced, sent))
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
                Err(failed) => why.failed(failed),
            }
            false
        })
        .await;
    if answered < needed { Err(why.too_few(quorum, ForceRelease::OP, name)) } else { Ok(freed) }
}
