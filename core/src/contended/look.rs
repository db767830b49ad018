//! A look at an object that a client waits for: how things stand, without asking for it.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::name::ObjectName;
use crate::step::{Attempt, BatchStep, Call, Malformed, Outbox, Reply, Script, State, Step, WrongType, wire};
use crate::time::ServerTime;

/// What a kind of object brings to a [`Look`].
pub(crate) trait LookedAt: State {
    /// How many objects are 1 to 2 ms of the server's time.
    const CHUNK: usize;

    /// What an acquire of a waiter does while it is not granted, in a state of which `attempt` is not too late. It stamps the
    /// client's place in the queue, and neither joins the queue nor takes anything.
    fn look(&mut self, name: &ObjectName, look: &Look<Self>, now: ServerTime, outbox: &mut Outbox<'_>) -> Looked;

    fn look_script() -> &'static Script;

    /// The keys that the script has of each object.
    fn look_keys(name: &ObjectName, call: &mut Call);

    /// Arguments that the script has of each object, before `keep`.
    fn look_args(_name: &ObjectName, _call: &mut Call) {}

    /// Reads what the script says of who is in the way.
    fn holder(reply: &Reply) -> Result<String, Malformed>;
}

/// Looks at objects of one kind, many in one script.
#[derive(Clone, Debug)]
pub(crate) struct Look<S> {
    pub(crate) client: Arc<str>,
    /// Put off the end of the queue's keys.
    pub(crate) keep: bool,
    of: PhantomData<fn() -> S>,
}

impl<S> Look<S> {
    pub(crate) fn new(client: &Arc<str>, keep: bool) -> Look<S> {
        Look { client: client.clone(), keep, of: PhantomData }
    }
}

impl<S: LookedAt> Step for Look<S> {
    type State = S;
    type Reply = Looked;

    const OP: &'static str = "look";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut S,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Looked, WrongType> {
        match now > attempt.not_after {
            true => Ok(Looked::TooLate { now }),
            false => Ok(state.look(name, self, now, outbox)),
        }
    }

    fn script() -> &'static Script {
        S::look_script()
    }

    /// All looks of a batch are one client's, and those of one attempt.
    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        S::look_keys(name, call);
        if call.args.len() == 0 {
            call.args.push(&self.client);
            call.args.number(attempt.not_after.0);
        }
        S::look_args(name, call);
        call.args.number(self.keep.into());
    }

    fn decode(reply: Reply) -> Result<Looked, Malformed> {
        Self::decode_each(reply)?.pop().ok_or(Malformed)
    }

    fn server_time(reply: &Looked) -> Option<ServerTime> {
        Some(reply.now())
    }
}

impl<S: LookedAt> BatchStep for Look<S> {
    const CHUNK: usize = S::CHUNK;

    /// An acquire finds out.
    fn wrong_type(now: ServerTime) -> Looked {
        Looked::Ask { now }
    }

    /// Of many objects: the server's time, and ttl, holder and rank of each.
    fn decode_each(reply: Reply) -> Result<Vec<Looked>, Malformed> {
        let items = wire::list(reply)?;
        let now = wire::time(items.first())?;
        let read = |item: &[Reply]| match wire::int(item.first())? {
            Looked::TOO_LATE => Ok(Looked::TooLate { now }),
            Looked::ASK => Ok(Looked::Ask { now }),
            ttl => {
                let holder = S::holder(item.get(1).ok_or(Malformed)?)?;
                Ok(Looked::Held { now, ttl, holder, rank: wire::unsigned(item.get(2))? })
            }
        };
        items[1..].chunks(3).map(read).collect()
    }
}

/// What the server says to a look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// `ttl` is -1 for a foreign key that never expires.
    Held { now: ServerTime, ttl: i64, holder: String, rank: u64 },
    /// It is free, or the client has no place in the queue, or the key is none of ours: an acquire finds out. A place is
    /// stamped also where it is free.
    Ask { now: ServerTime },
    /// The request came after its `not_after`.
    TooLate { now: ServerTime },
}

impl Looked {
    /// What the scripts say instead of a ttl: an acquire finds out.
    const ASK: i64 = -2;

    /// What the scripts say instead of a ttl: the request came too late.
    const TOO_LATE: i64 = -3;

    /// The server's time.
    pub(crate) fn now(&self) -> ServerTime {
        match self {
            Looked::Held { now, .. } | Looked::Ask { now } | Looked::TooLate { now } => *now,
        }
    }
}
