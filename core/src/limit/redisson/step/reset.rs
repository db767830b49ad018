use super::add_keys;
use super::state::RedissonState;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Makes all permits available, those that all clients have together and those of this one; true when there was a log of
/// them. See `reset.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Reset {
    /// The id of the client.
    pub(crate) client: String,
}

impl Step for Reset {
    type State = RedissonState;
    type Reply = bool;

    const OP: &'static str = "reset rate limit";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut RedissonState,
        _now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<bool, WrongType> {
        state.terms()?;
        let gone = ["", self.client.as_str()].map(|client| state.buckets.remove(client).unwrap_or_default());
        Ok(gone.iter().any(|bucket| !bucket.log.0.value.is_empty()))
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("reset.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, &self.client, call);
    }

    fn decode(reply: Reply) -> Result<bool, Malformed> {
        Ok(wire::int(Some(&reply))? == 1)
    }
}
