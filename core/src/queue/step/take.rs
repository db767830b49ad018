use std::mem;
use std::sync::Arc;
use std::time::Duration;

use super::state::{ANY, Job};
use super::{QueueState, add_keys, client_of};
use crate::contended::{Acquired, Turn};
use crate::lease::Parcel;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::text::contains;
use crate::time::{ServerTime, millis};

/// How many bytes of payload one reply has before it begins no further delivery: those ask again.
const BYTES_AT_ONCE: usize = 1 << 20;

const _: () = {
    // The script has the same number.
    assert!(contains(include_str!("take.lua"), "local BYTES_AT_ONCE = 1048576\n") && BYTES_AT_ONCE == 1_048_576);
};

/// Takes jobs that are due, or says what is in the way: for several owners, one after the other. See `take.lua`.
///
/// The parts of what it brings: the id, the payload, how often it was delivered, when it was due in ms, and its rank.
#[derive(Clone, Debug)]
pub(crate) struct Take {
    /// `<client>:<number>`, which names one delivery.
    pub(crate) owner: String,
    /// Further deliveries for the same client, each with an owner of its own.
    pub(crate) others: Vec<String>,
    pub(crate) lease: Duration,
    /// Stand in the queue of waiters when nothing is due.
    pub(crate) waits: bool,
}

impl Take {
    pub(crate) fn owners(&self) -> impl Iterator<Item = &String> {
        [&self.owner].into_iter().chain(&self.others)
    }

    fn take(
        &self,
        owner: &str,
        name: &ObjectName,
        state: &mut QueueState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
        promoted: &mut bool,
    ) -> Result<Result<Arc<Parcel>, Acquired>, WrongType> {
        let (client, ends) = (client_of(owner), now.millis() + millis(self.lease));
        let known = state.held.get(owner).cloned();
        if let Some((token, id)) = known.filter(|(_, id)| state.jobs.contains_key(id)) {
            if state.leases.score(owner).is_none_or(|score| score < ends) {
                state.leases.set(owner, ends);
            }
            return Ok(Ok(parcel(token, id.clone(), state.jobs[&id].clone())));
        }
        state.reclaim(now);
        // Once for all owners: it is for more jobs than they take.
        if !mem::replace(promoted, true) {
            state.due.promote(now);
        }
        let (available, mut turn) = (state.ready(now), Turn::new(client, 1, self.waits));
        if !turn.is_due_now(&state.queue, available)
            && !turn.gets_past(&mut state.queue_at(name, now, outbox), available)
        {
            let rank = turn.line_up(&mut state.queue_at(name, now, outbox), (available, ANY));
            if available > 0 {
                return Ok(Err(Acquired::NotYourTurn { now, rank }));
            }
            let ttl = if rank == Some(0) { state.next_event(now) } else { -1 };
            return Ok(Err(Acquired::Busy { now, ttl, holder: available.to_string(), rank }));
        }
        let (_, member) = state.due.first().cloned().ok_or(WrongType)?;
        let id = member[super::state::RANK..].to_owned();
        let token = state.next_number(now)?;
        state.leases.set(owner, ends);
        state.held.insert(owner.to_owned(), (token, id.clone()));
        state.due.remove(&member);
        turn.leave(&mut state.queue_at(name, now, outbox), (available - 1, ANY), client);
        if available == 1 {
            state.tell_new_head(name, now, client, outbox);
        }
        Ok(Ok(parcel(token, id.clone(), state.jobs[&id].clone())))
    }
}

/// What a delivery brings.
fn parcel(token: u64, id: String, job: Job) -> Arc<Parcel> {
    let parts = vec![
        id.into_bytes(),
        job.payload,
        job.deliveries.saturating_add(1).to_string().into_bytes(),
        job.due.to_string().into_bytes(),
        job.rank.into_bytes(),
    ];
    Arc::new(Parcel { token, parts })
}

impl Step for Take {
    type State = QueueState;
    type Reply = Acquired;

    const OP: &'static str = "take";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        state: &mut QueueState,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<Acquired, WrongType> {
        if now > attempt.not_after {
            return Ok(Acquired::TooLate { now });
        }
        let (mut parcels, mut promoted) = (Vec::new(), false);
        for owner in self.owners() {
            let bytes: usize = parcels.iter().map(|parcel: &Arc<Parcel>| parcel.parts[1].len()).sum();
            if bytes >= BYTES_AT_ONCE {
                return Ok(Acquired::TooLate { now }.after_parcels(parcels));
            }
            match self.take(owner, name, state, now, outbox, &mut promoted)? {
                Ok(parcel) => parcels.push(parcel),
                Err(refused) => return Ok(refused.after_parcels(parcels)),
            }
        }
        Ok(Acquired::Granted { now, token: 0, parcels })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(
            crate::contended::wants_lua!("queue"),
            crate::contended::turn_lua!(),
            include_str!("jobs.lua"),
            include_str!("take.lua")
        ));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        add_keys(name, call);
        call.args.push(client_of(&self.owner));
        call.args.number(millis(self.lease));
        call.args.number(attempt.not_after.0);
        call.args.number(self.waits.into());
        self.owners().for_each(|owner| call.args.push(owner));
    }

    fn decode(reply: Reply) -> Result<Acquired, Malformed> {
        let mut items = wire::list(reply)?.into_iter();
        let said = wire::int(items.next().as_ref())?;
        let now = wire::time(items.next().as_ref())?;
        let deliveries = match (said, items.next()) {
            (2, None) => return Ok(Acquired::TooLate { now }),
            (_, Some(deliveries)) => wire::list(deliveries)?,
            _ => return Err(Malformed),
        };
        let parcels = deliveries.into_iter().map(decode_parcel).collect::<Result<Vec<_>, _>>()?;
        let rest: Vec<Reply> = items.collect();
        let rank = |at| Ok(u64::try_from(wire::int(rest.get(at))?).ok());
        let refused = match said {
            0 => return Ok(Acquired::Granted { now, token: 0, parcels }),
            1 => {
                let holder = wire::int(rest.get(1))?.to_string();
                Acquired::Busy { now, ttl: wire::int(rest.first())?, holder, rank: rank(2)? }
            }
            2 => Acquired::TooLate { now },
            3 => Acquired::NotYourTurn { now, rank: rank(0)? },
            _ => return Err(Malformed),
        };
        Ok(refused.after_parcels(parcels))
    }

    fn server_time(reply: &Acquired) -> Option<ServerTime> {
        Some(reply.now())
    }
}

fn decode_parcel(reply: Reply) -> Result<Arc<Parcel>, Malformed> {
    let mut items = wire::list(reply)?.into_iter();
    let token = wire::unsigned(items.next().as_ref())?;
    let id = wire::text(items.next().as_ref())?.ok_or(Malformed)?;
    let Some(Reply::Bytes(job)) = items.next() else { return Err(Malformed) };
    Ok(parcel(token, id, Job::parse(&job)?))
}
