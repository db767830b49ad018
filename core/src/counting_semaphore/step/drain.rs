use super::{CountingState, add_keys, with_counting};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Carried, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Takes all permits that are available; how many. Not repeated when its reply is lost: the number would be lost too. See
/// `drain.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Drain;

impl Step for Drain {
    type State = CountingState;
    type Reply = Carried<i64>;

    const OP: &'static str = "drain";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        _name: &ObjectName,
        attempt: Attempt,
        state: &mut CountingState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Carried<i64>, WrongType> {
        if now > attempt.not_after {
            return Ok(Carried { now, out: None });
        }
        let available = state.count()?;
        if available.is_some() {
            state.set_count(0);
        }
        Ok(Carried { now, out: Some(available.unwrap_or(0)) })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_counting!("drain.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.number(attempt.not_after.0);
    }

    fn decode(reply: Reply) -> Result<Carried<i64>, Malformed> {
        Carried::decode(reply, |items| wire::int(items.first()))
    }

    fn server_time(reply: &Carried<i64>) -> Option<ServerTime> {
        Some(reply.now)
    }
}
