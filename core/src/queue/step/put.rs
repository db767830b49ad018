use std::time::Duration;

use super::state::{Job, Place, after, rank};
use super::{QueueState, add_keys};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Carried, Malformed, Once, Outbox, Reply, Script, Step, WrongType, once_lua, wire};
use crate::time::{ServerTime, millis};

/// When a job is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    After(Duration),
    /// Ms of the server's clock since 1970.
    At(u64),
}

/// A job that is to be put.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct JobSpec {
    pub(crate) id: String,
    pub(crate) due: Due,
    pub(crate) priority: i16,
    pub(crate) payload: Vec<u8>,
}

/// Not the payload, which is the caller's.
impl std::fmt::Debug for JobSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let JobSpec { id, due, priority, payload } = self;
        let mut all = f.debug_struct("JobSpec");
        all.field("id", id).field("due", due).field("priority", priority).field("bytes", &payload.len()).finish()
    }
}

impl JobSpec {
    /// The first half of its rank: the higher the priority, the lower.
    fn urgency(&self) -> String {
        format!("{:04x}", i32::from(i16::MAX) - i32::from(self.priority))
    }
}

/// Puts jobs. Sent once: nothing tells a repeat from another request. See `put.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Put {
    pub(crate) once: Once,
    pub(crate) jobs: Vec<JobSpec>,
    /// How many jobs the queue may hold; 0: any number.
    pub(crate) max_length: u64,
    /// How often each of them is delivered at most.
    pub(crate) max_attempts: u32,
}

/// As [`Put`], of a request that the server remembers: it may be repeated.
#[derive(Clone, Debug)]
pub(crate) struct PutOnce(pub(crate) Put);

/// What a put has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PutOutcome {
    /// Whether each was put now; else its id was there.
    Put(Vec<bool>),
    /// The queue has so many jobs, and would hold more than it may.
    Full { length: u64 },
}

type Outcome = Carried<PutOutcome>;

impl Put {
    fn put(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut QueueState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Outcome, WrongType> {
        let carried = |out| Ok(Carried { now, out: Some(out) });
        if now > self.once.not_after(attempt) {
            return Ok(Carried { now, out: None });
        }
        let remembered = !self.once.id().is_empty() && state.done.knows(self.once.id());
        let all_put = || carried(PutOutcome::Put(vec![true; self.jobs.len()]));
        let before = state.first_due();
        let mut fresh: Vec<&JobSpec> = Vec::new();
        let mut put = Vec::new();
        for job in &self.jobs {
            let is_new = !state.jobs.contains_key(&job.id) && fresh.iter().all(|other| other.id != job.id);
            fresh.extend(is_new.then_some(job));
            put.push(is_new);
        }
        if fresh.len() < self.jobs.len() && remembered {
            return all_put();
        }
        if fresh.is_empty() {
            return carried(PutOutcome::Put(put));
        }
        let length = state.jobs.len() as u64;
        if self.max_length > 0 && length + fresh.len() as u64 > self.max_length {
            return if remembered { all_put() } else { carried(PutOutcome::Full { length }) };
        }
        if !state.done.once(&self.once, now) {
            return all_put();
        }
        for spec in fresh {
            let JobSpec { id, due, payload, .. } = spec;
            let due = match due {
                Due::After(Duration::ZERO) => now.millis(),
                Due::After(delay) => after(now, millis(*delay)),
                Due::At(at) => *at,
            };
            let rank = rank(&spec.urgency(), due, state.next_number(now)?);
            let (most, payload) = (self.max_attempts.into(), payload.clone());
            state.jobs.insert(id.clone(), Job { place: Place::Alive, due, rank, deliveries: 0, most, payload });
            state.enter(id, now);
        }
        state.announce(name, now, before, outbox);
        carried(PutOutcome::Put(put))
    }

    fn encode_call(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        self.once.encode(attempt, call);
        call.args.number(self.max_length);
        call.args.number(self.max_attempts.into());
        for job in &self.jobs {
            call.args.push(&job.id);
            match job.due {
                Due::After(delay) => call.args.join(["+", itoa::Buffer::new().format(millis(delay))]),
                Due::At(at) => call.args.number(at),
            }
            call.args.push(&job.urgency());
            call.args.bytes_of(&job.payload);
        }
    }

    fn decode_reply(reply: Reply) -> Result<Outcome, Malformed> {
        Carried::decode(reply, |items| {
            if wire::int(items.first())? == -1 {
                return Ok(PutOutcome::Full { length: wire::unsigned(items.get(1))? });
            }
            let put = items.iter().map(|item| Ok(wire::int(Some(item))? == 1));
            Ok(PutOutcome::Put(put.collect::<Result<_, Malformed>>()?))
        })
    }
}

static SCRIPT: Script = Script::new(concat!(
    crate::contended::wants_lua!("queue"),
    once_lua!(),
    include_str!("jobs.lua"),
    include_str!("put.lua")
));

/// The two differ only in whether they may be repeated.
macro_rules! put_step {
    ($step:ty, $idempotent:literal, $put:expr) => {
        impl Step for $step {
            type State = QueueState;
            type Reply = Outcome;

            const OP: &'static str = "put";
            const IDEMPOTENT: bool = $idempotent;

            fn apply(
                &self,
                name: &ObjectName,
                attempt: Attempt,
                state: &mut QueueState,
                now: ServerTime,
                outbox: &mut Outbox<'_>,
            ) -> Result<Outcome, WrongType> {
                let put: fn(&$step) -> &Put = $put;
                put(self).put(name, attempt, state, now, outbox)
            }

            fn script() -> &'static Script {
                &SCRIPT
            }

            fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
                let put: fn(&$step) -> &Put = $put;
                put(self).encode_call(name, attempt, call);
            }

            fn decode(reply: Reply) -> Result<Outcome, Malformed> {
                Put::decode_reply(reply)
            }

            fn server_time(reply: &Outcome) -> Option<ServerTime> {
                Some(reply.now)
            }
        }
    };
}
put_step!(Put, false, |put| put);
put_step!(PutOnce, true, |put| &put.0);
