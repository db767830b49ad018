use super::{Acquire, HOLDER_BYTES, LockState, QUEUE, client_of, queue_at};
use crate::contended::token::{self, TOKEN, token_lua};
use crate::contended::{Acquired, Joint, queue_lua};
use crate::name::ObjectName;
use crate::step::{Attempt, BatchStep, Call, JointStep, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::text::start_of;
use crate::time::{ServerTime, millis};

/// Takes a lock together with others, all of them or none, without waiting. See `acquire_all.lua`.
#[derive(Clone, Debug)]
pub(crate) struct AcquireAll {
    /// What would take this one alone; one token, and no waiting.
    pub(crate) one: Acquire,
    /// Jump the queue as a non-blocking attempt may. Otherwise a lock that others wait for is not taken.
    pub(crate) jumps: bool,
}

/// How a lock can be taken.
enum Free {
    /// This attempt has it, from an earlier request.
    Own,
    /// Nobody has it; whether a head is jumped.
    Yes { jumps: bool },
}

impl AcquireAll {
    /// What is in the way of taking it, if anything is. Changes nothing.
    fn look(
        &self,
        name: &ObjectName,
        state: &mut LockState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Free, Joint> {
        let owner = &self.one.owner;
        let wrong_type = |_: WrongType| Joint::WrongType { now };
        if let Some(owners) = state.main.fields().map_err(wrong_type)? {
            let holder = owners.keys().next().cloned().unwrap_or_default();
            if holder == *owner {
                return match &state.token {
                    Some(key) if token::given(key, 1).is_err() => Err(Joint::WrongType { now }),
                    _ => Ok(Free::Own),
                };
            }
            if owners.contains_key("mode") {
                return Err(Joint::WrongType { now });
            }
            let (ttl, holder) = (state.main.ttl(now), start_of(&holder, HOLDER_BYTES));
            return Err(Joint::Is(Acquired::Busy { now, ttl, holder, rank: None }));
        }
        if state.token.as_ref().is_some_and(|key| token::last(key, 1).is_err()) {
            return Err(Joint::WrongType { now });
        }
        let queue = queue_at(&mut state.queue, name, now, outbox);
        let jumps = queue.head().is_some_and(|head| head != client_of(owner));
        if jumps && !(self.jumps && queue.queue.may_barge()) {
            return Err(Joint::Is(Acquired::NotYourTurn { now, rank: None }));
        }
        Ok(Free::Yes { jumps })
    }

    /// Takes it.
    fn take(
        &self,
        name: &ObjectName,
        free: &Free,
        state: &mut LockState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Joint, WrongType> {
        let deadline = now.millis() + millis(self.one.lease);
        let token = match free {
            Free::Own => self.one.same_again(state, now)?,
            Free::Yes { .. } => self.one.mint(state, now)?,
        };
        match free {
            Free::Own => state.main.end_at(state.main.deadline().unwrap_or(0).max(deadline)),
            Free::Yes { .. } => state.set_owner(&self.one.owner, deadline),
        }
        if let Free::Yes { jumps: true } = free {
            queue_at(&mut state.queue, name, now, outbox).barge();
        }
        Ok(Joint::Is(Acquired::granted(now, token)))
    }
}

impl Step for AcquireAll {
    type State = LockState;
    type Reply = Joint;

    const OP: &'static str = Acquire::OP;
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut LockState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Joint, WrongType> {
        if now > attempt.not_after {
            return Ok(Joint::Is(Acquired::TooLate { now }));
        }
        match self.look(name, state, now, outbox) {
            Ok(free) => self.take(name, &free, state, now, outbox),
            Err(joint) => Ok(joint),
        }
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(queue_lua!(), token_lua!(), include_str!("acquire_all.lua")));
        &SCRIPT
    }

    /// All of a batch are one client's, and one attempt's, with one lease.
    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        call.keys.join(name.companion_parts(TOKEN));
        QUEUE.add_keys(name, &mut call.keys);
        if call.args.len() == 0 {
            call.args.number(attempt.not_after.0);
            call.args.number(millis(self.one.lease));
            call.args.number(self.one.token_ttl.map_or(0, millis));
            call.args.number(self.jumps.into());
        }
        call.args.push(&self.one.owner);
    }

    fn decode(reply: Reply) -> Result<Joint, Malformed> {
        Self::decode_each(reply)?.pop().ok_or(Malformed)
    }

    fn server_time(reply: &Joint) -> Option<ServerTime> {
        Some(reply.now())
    }
}

impl BatchStep for AcquireAll {
    /// 100 locks are about 550 us of the server's time.
    const CHUNK: usize = 100;

    fn wrong_type(now: ServerTime) -> Joint {
        Joint::WrongType { now }
    }

    fn decode_each(reply: Reply) -> Result<Vec<Joint>, Malformed> {
        let items = wire::list(reply)?;
        let now = wire::time(items.first())?;
        let read = |item: &[Reply]| {
            Ok(Joint::Is(match wire::int(item.first())? {
                0 => Acquired::granted(now, wire::unsigned(item.get(1))?),
                1 => {
                    let holder = wire::text(item.get(2))?.ok_or(Malformed)?;
                    Acquired::Busy { now, ttl: wire::int(item.get(1))?, holder, rank: None }
                }
                2 => Acquired::TooLate { now },
                3 => Acquired::NotYourTurn { now, rank: None },
                4 => return Ok(Joint::Free { now }),
                5 => return Ok(Joint::WrongType { now }),
                _ => return Err(Malformed),
            }))
        };
        items[1..].chunks(3).map(read).collect()
    }
}

impl JointStep for AcquireAll {
    fn apply_jointly(
        items: &[(ObjectName, AcquireAll)],
        attempt: Attempt,
        states: &mut [LockState],
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Vec<Joint> {
        if now > attempt.not_after {
            return items.iter().map(|_| Joint::Is(Acquired::TooLate { now })).collect();
        }
        let looks = items.iter().zip(states.iter_mut());
        let looked: Vec<Result<Free, Joint>> =
            looks.map(|((name, step), state)| step.look(name, state, now, outbox)).collect();
        if looked.iter().any(Result::is_err) {
            return looked.into_iter().map(|looked| looked.err().unwrap_or(Joint::Free { now })).collect();
        }
        let takes = items.iter().zip(states).zip(looked.into_iter().flatten());
        let take = |((item, state), free): ((&(ObjectName, AcquireAll), _), Free)| {
            item.1.take(&item.0, &free, state, now, outbox).expect("its token was read")
        };
        takes.map(take).collect()
    }
}
