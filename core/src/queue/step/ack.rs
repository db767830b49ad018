use super::{QueueState, add_keys, with_jobs};
use crate::contended::Released;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Ends a delivery whose job is done. See `ack.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Ack {
    /// See [`Take`](super::Take).
    pub(crate) owner: String,
}

impl Step for Ack {
    type State = QueueState;
    type Reply = Released;

    const OP: &'static str = "ack";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut QueueState,
        _now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Released, WrongType> {
        let Some((_, id)) = state.held.remove(&self.owner) else { return Ok(Released::NotHeld) };
        state.leases.remove(&self.owner);
        state.jobs.remove(&id);
        Ok(Released::Freed { announced: true, rank: None })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(with_jobs!("ack.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.push(&self.owner);
    }

    fn decode(reply: Reply) -> Result<Released, Malformed> {
        released(wire::list(reply)?.first())
    }
}

fn released(said: Option<&Reply>) -> Result<Released, Malformed> {
    match wire::int(said)? {
        0 => Ok(Released::NotHeld),
        1 => Ok(Released::Freed { announced: true, rank: None }),
        _ => Err(Malformed),
    }
}

/// As [`Ack`], of several deliveries of the same queue, each once.
#[derive(Clone, Debug)]
pub(crate) struct AckMany {
    pub(crate) owners: Vec<String>,
}

impl Step for AckMany {
    type State = QueueState;
    type Reply = Vec<Released>;

    const OP: &'static str = Ack::OP;
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut QueueState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Vec<Released>, WrongType> {
        let each = self.owners.iter().map(|owner| Ack { owner: owner.clone() });
        each.map(|ack| ack.apply(name, attempt, state, now, outbox)).collect()
    }

    fn script() -> &'static Script {
        Ack::script()
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        self.owners.iter().for_each(|owner| call.args.push(owner));
    }

    fn decode(reply: Reply) -> Result<Vec<Released>, Malformed> {
        wire::list(reply)?.iter().map(|each| released(Some(each))).collect()
    }
}
