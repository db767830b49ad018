use super::{LockState, Release, free_lua};
use crate::contended::Released;
use crate::name::ObjectName;
use crate::step::{Attempt, BatchStep, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// A [`Release`] as one of many in one script. See `release_all.lua`.
#[derive(Clone, Debug)]
pub(crate) struct ReleaseAll(pub(crate) Release);

impl Step for ReleaseAll {
    type State = LockState;
    type Reply = Released;

    const OP: &'static str = Release::OP;
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut LockState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Released, WrongType> {
        Ok(self.0.apply(name, attempt, state, now, outbox).unwrap_or(Self::wrong_type(now)))
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(free_lua!("release_all.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        self.0.encode(name, attempt, call);
    }

    fn decode(reply: Reply) -> Result<Released, Malformed> {
        Self::decode_each(reply)?.pop().ok_or(Malformed)
    }
}

impl BatchStep for ReleaseAll {
    /// 100 locks are about 300 us of the server's time.
    const CHUNK: usize = 100;

    fn wrong_type(_now: ServerTime) -> Released {
        Released::NotHeld
    }

    fn decode_each(reply: Reply) -> Result<Vec<Released>, Malformed> {
        let read = |item: &[Reply]| match wire::int(item.first())? {
            0 => Ok(Released::NotHeld),
            1 => {
                let rank = u64::try_from(wire::int(item.get(2))?).ok();
                Ok(Released::Freed { announced: wire::int(item.get(1))? == 1, rank })
            }
            _ => Err(Malformed),
        };
        wire::list(reply)?.chunks(3).map(read).collect()
    }
}
