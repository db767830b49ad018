//! Requests of a client that are carried out once, also when a reply is lost and they are sent again.

use super::Context;
use crate::backend::Failed;
use crate::error::{Error, ErrorKind};
use crate::name::ObjectName;
use crate::step::{Carried, Once, Step};
use crate::time::Tick;

/// How often a request that came too late is made anew: the server's clock may be jumping.
const TOO_LATE_IN_A_ROW: u32 = 3;

impl Context {
    /// A request about this name that is carried out once, however often it is sent.
    fn once(&self, name: &ObjectName) -> Once {
        match self.backend.server_time(name, self.clock.now()) {
            Some(now) => Once::new(&self.next_owner(), now),
            None => Once::in_process(),
        }
    }

    /// Runs a step that is carried out once, within `operation_timeout`. `step` makes it of its request.
    ///
    /// A step that came too late did nothing. Unless a reply was lost, it is made anew then. Otherwise the server is asked
    /// about the same request again, as long as it would know it: what it has forgotten it may have carried out.
    pub(crate) async fn operate_once<S, R>(&self, name: &ObjectName, step: impl FnMut(Once) -> S) -> Result<R, Failed>
    where
        S: Step<Reply = Carried<R>>,
    {
        self.operate_once_or_again(name, step).await.map(|(out, _)| out)
    }

    /// As [`Context::operate_once`]; also the request, if the server need not know it any more because no attempt of it went
    /// unanswered.
    pub(crate) async fn operate_once_or_again<S, R>(
        &self,
        name: &ObjectName,
        mut step: impl FnMut(Once) -> S,
    ) -> Result<(R, Option<Once>), Failed>
    where
        S: Step<Reply = Carried<R>>,
    {
        let deadline = self.operation_deadline();
        let mut once = self.once(name);
        let mut echo_until = None;
        for _ in 0..=TOO_LATE_IN_A_ROW {
            let outcome = self.operate_until(name, &step(once.clone()), deadline, Tick::NEVER).await;
            let done = match outcome {
                Ok(done) => done,
                Err(failed) if echo_until.is_none() || failed.echo_until.is_some() => return Err(failed),
                Err(failed) => return Err(unknown::<S>(name, &failed.error, failed.away, echo_until)),
            };
            echo_until = done.echo_until.or(echo_until);
            let Carried { now, out } = done.reply;
            if let Some(out) = out {
                return Ok((out, echo_until.is_none().then_some(once)));
            }
            if echo_until.is_none() {
                once = self.once(name);
            } else if once.is_void(now) {
                break;
            }
        }
        let message = "the server's clock jumps back and forth; check its time synchronisation";
        let error = Error::new(ErrorKind::Clock, S::OP, message).temporary();
        Err(match echo_until {
            None => Failed { error: error.on(name.as_str()), echo_until, away: false },
            Some(_) => unknown::<S>(name, &error, false, echo_until),
        })
    }
}

/// The error of a request of which an attempt got no answer, and the last one was answered with `error`.
fn unknown<S: Step>(name: &ObjectName, error: &Error, away: bool, echo_until: Option<Tick>) -> Failed {
    let message = format!(
        "an answer was lost, and a repeat could not find out whether the request was carried out: {}",
        error.message()
    );
    let error = Error::new(ErrorKind::OutcomeUnknown, S::OP, message);
    Failed { error: error.on(name.as_str()), echo_until, away }
}
