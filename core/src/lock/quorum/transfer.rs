//! Handing a detached hold to another owner.

use std::sync::Arc;

use super::Reasons;
use crate::backend::{Done, Failed, Quorum};
use crate::lock::step::{Transfer, Transferred};
use crate::name::ObjectName;
use crate::step::Step;
use crate::time::{ServerTime, Tick};

/// Done when a majority has put the new owner in the place of the old one. Else the caller releases the new owner: a text that
/// was attached at a minority is used up.
pub(in crate::lock) async fn transfer(
    quorum: &Arc<Quorum>,
    name: &ObjectName,
    step: &Transfer,
    deadline: Tick,
) -> Result<Done<Transferred>, Failed> {
    quorum.check_lease(Transfer::OP, name, step.lease)?;
    let (needed, mut why) = (quorum.majority(), Reasons::default());
    let (mut counting, mut not_held, mut too_late, mut now) = (0, 0, 0, ServerTime::default());
    let mut round = quorum.ask(name, step, quorum.all(), deadline);
    let sent = round.sent;
    round
        .read(Tick::NEVER, |answer, open| {
            match answer.outcome.map(|done| done.reply) {
                Ok(Transferred::Done { now: at }) => {
                    now = now.max(at);
                    match answer.counts {
                        true => counting += 1,
                        false => why.restarted(answer.server),
                    }
                }
                Ok(Transferred::NotHeld { .. }) => not_held += 1,
                Ok(Transferred::TooLate { .. }) => too_late += 1,
                Err(failed) => why.failed(answer.server, failed),
            }
            counting >= needed || counting + open < needed
        })
        .await;
    let done = |reply| Ok(Done { reply, sent, echo_until: None, reached: quorum.reached() });
    let most_others = quorum.all().len() - needed;
    match () {
        () if counting >= needed => done(Transferred::Done { now }),
        () if not_held > most_others => done(Transferred::NotHeld { now }),
        () if too_late > most_others => done(Transferred::TooLate { now }),
        () => Err(why.too_few(quorum, Transfer::OP, name)),
    }
}
