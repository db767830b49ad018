//! The steps of the made-up kind.

use super::*;
use crate::lease::{Renewal, Renewed};
use crate::stats::{Counters, HoldCounts};
use crate::step::{Attempt, BatchStep, Call, Malformed, Outbox, Reply, Script, WrongType, wire};
use crate::time::millis;

fn client_of(owner: &str) -> &str {
    owner.rsplit_once(':').map_or("", |(client, _)| client)
}

fn add_keys(name: &ObjectName, call: &mut Call) {
    call.keys.join(name.companion_parts(OWNERS));
    call.keys.join(name.companion_parts(COUNTS));
    NAMES.add_keys(name, &mut call.keys);
}

/// Both bodies of a step.
macro_rules! step {
    (
        $step:ty, $reply:ty, $op:literal, $script:expr,
        |$this:ident, $name:ident, $state:ident, $now:ident, $outbox:ident| $body:expr,
        |$own:ident, $of:ident, $call:ident| $encode:expr,
        |$answer:ident| $decode:expr
    ) => {
        impl Step for $step {
            type State = Permits;
            type Reply = $reply;

            const OP: &'static str = $op;
            const IDEMPOTENT: bool = true;

            fn apply(
                &self,
                $name: &ObjectName,
                _attempt: Attempt,
                $state: &mut Permits,
                $now: ServerTime,
                $outbox: &mut Outbox<'_>,
            ) -> Result<$reply, WrongType> {
                let $this = self;
                Ok($body)
            }

            fn script() -> &'static Script {
                static SCRIPT: Script = Script::new($script);
                &SCRIPT
            }

            fn encode(&self, $of: &ObjectName, _attempt: Attempt, $call: &mut Call) {
                let $own = self;
                add_keys($of, $call);
                $encode
            }

            fn decode($answer: Reply) -> Result<$reply, Malformed> {
                $decode
            }
        }
    };
}

#[derive(Clone, Debug)]
pub(crate) struct TakePermit {
    pub(super) owner: String,
    pub(super) lease: Duration,
    pub(super) waits: bool,
}

step!(
    TakePermit,
    Acquired,
    "take",
    concat!(
        queue_lua!("permits"),
        "L = ARGV[2]
        local P, C, now, client = KEYS[1], KEYS[2], clock(), string.match(ARGV[1], '^(.*):')
        local queue = queue_at(now)
        redis.call('HINCRBY', C, 'asked', 1)
        redis.call('PEXPIRE', C, 60000)
        local head = redis.call('ZRANGE', Q, 0, 0)[1]
        local full = redis.call('ZCARD', P) >= 2
        if full or head and head ~= client then
          local rank = ARGV[4] == '1' and queue.enqueue(client) or -1
          return {full and 1 or 2, now, rank, full and redis.call('ZRANGE', P, 0, 0)[1]}
        end
        if queue.leave(client) then
          queue.moved_up(0, true, client)
        end
        redis.call('ZADD', P, now, ARGV[1])
        redis.call('PEXPIRE', P, ARGV[3])
        return {0, now, redis.call('HINCRBY', C, 'granted', 1)}"
    ),
    |this, name, state, now, outbox| {
        let (client, full) = (client_of(&this.owner), state.owners.len() == PERMITS);
        state.counts.asked += 1;
        let mut queue = QueueAt { names: &NAMES, queue: &mut state.queue, name, now, outbox };
        if full || queue.queue.head().is_some_and(|head| head != client) {
            let rank = this.waits.then(|| queue.enqueue(client) as u64);
            match state.owners.first().filter(|_| full) {
                Some(holder) => Acquired::Busy { now, ttl: -1, holder: holder.clone(), rank },
                None => Acquired::NotYourTurn { now, rank },
            }
        } else {
            if queue.leave(client).is_some() {
                queue.moved_up(0, true, client);
            }
            state.owners.push(this.owner.clone());
            state.counts.granted += 1;
            Acquired::granted(now, state.counts.granted)
        }
    },
    |this, name, call| {
        call.args.push(&this.owner);
        call.args.push(name.as_str());
        call.args.number(millis(this.lease));
        call.args.number(this.waits.into());
    },
    |reply| {
        let items = wire::list(reply)?;
        let now = wire::time(items.get(1))?;
        let rank = u64::try_from(wire::int(items.get(2))?).ok();
        match wire::int(items.first())? {
            0 => Ok(Acquired::granted(now, wire::unsigned(items.get(2))?)),
            1 => Ok(Acquired::Busy { now, ttl: -1, holder: wire::text(items.get(3))?.ok_or(Malformed)?, rank }),
            _ => Ok(Acquired::NotYourTurn { now, rank }),
        }
    }
);

#[derive(Clone, Debug)]
pub(crate) struct FreePermit(pub(super) String);

step!(
    FreePermit,
    Released,
    "free",
    concat!(
        queue_lua!("permits"),
        "L = ARGV[2]
        if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then
          return 0
        end
        local head = redis.call('ZRANGE', Q, 0, 0)[1]
        if head then
          tell(head, 'free')
        end
        return 1"
    ),
    |this, name, state, now, outbox| {
        let before = state.owners.len();
        state.owners.retain(|owner| *owner != this.0);
        if state.owners.len() < before {
            QueueAt { names: &NAMES, queue: &mut state.queue, name, now, outbox }.tell_free("");
            Released::Freed { announced: true, rank: None }
        } else {
            Released::NotHeld
        }
    },
    |this, name, call| {
        call.args.push(&this.0);
        call.args.push(name.as_str());
    },
    |reply| match wire::int(Some(&reply))? {
        1 => Ok(Released::Freed { announced: true, rank: None }),
        _ => Ok(Released::NotHeld),
    }
);

#[derive(Clone, Debug)]
pub(crate) struct LeaveQueue(pub(super) String);

step!(
    LeaveQueue,
    Cancelled,
    "leave",
    concat!(
        queue_lua!("permits"),
        "L = ARGV[2]
        local now = clock()
        local queue = queue_at(now)
        local rank = queue.leave(ARGV[1])
        if rank and rank <= 1 then
          queue.moved_up(rank, true, ARGV[1])
        end
        return {now, rank and 1 or 0}"
    ),
    |this, name, state, now, outbox| {
        let mut queue = QueueAt { names: &NAMES, queue: &mut state.queue, name, now, outbox };
        let rank = queue.leave(&this.0);
        if let Some(rank @ (0 | 1)) = rank {
            queue.moved_up(rank, true, &this.0);
        }
        Cancelled::Done { now, had_place: rank.is_some() }
    },
    |this, name, call| {
        call.args.push(&this.0);
        call.args.push(name.as_str());
    },
    |reply| {
        let items = wire::list(reply)?;
        Ok(Cancelled::Done { now: wire::time(items.first())?, had_place: wire::int(items.get(1))? == 1 })
    }
);

impl LookedAt for Permits {
    const CHUNK: usize = 10;

    fn look(&mut self, name: &ObjectName, look: &Look<Permits>, now: ServerTime, outbox: &mut Outbox<'_>) -> Looked {
        let rank = QueueAt { names: &NAMES, queue: &mut self.queue, name, now, outbox }.stay(&look.client, look.keep);
        match (self.owners.first(), rank) {
            (Some(holder), Some(rank)) if self.owners.len() == PERMITS => {
                Looked::Held { now, ttl: -1, holder: holder.clone(), rank: rank as u64 }
            }
            _ => Looked::Ask { now },
        }
    }

    fn look_script() -> &'static Script {
        static SCRIPT: Script = Script::new(concat!(
            queue_lua!("permits"),
            "local now = clock()
            local queue, replies = queue_at(now), {now}
            for i = 1, #KEYS, 4 do
              local P, at = KEYS[i], (i - 1) / 2 + 3
              Q, S, L = KEYS[i + 2], KEYS[i + 3], ARGV[at]
              local rank = queue.stay(ARGV[1], ARGV[at + 1] == '1')
              local full = rank and redis.call('ZCARD', P) >= 2
              replies[#replies + 1] = full and -1 or -2
              replies[#replies + 1] = full and redis.call('ZRANGE', P, 0, 0)[1] or ''
              replies[#replies + 1] = full and rank or 0
            end
            return replies"
        ));
        &SCRIPT
    }

    fn look_keys(name: &ObjectName, call: &mut Call) {
        add_keys(name, call);
    }

    fn look_args(name: &ObjectName, call: &mut Call) {
        call.args.push(name.as_str());
    }

    fn holder(reply: &Reply) -> Result<String, Malformed> {
        wire::text(Some(reply))?.ok_or(Malformed)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct RenewPermit {
    pub(super) owner: String,
    pub(super) lease: Duration,
}

step!(
    RenewPermit,
    Renewed,
    "renew",
    "local replies = {}
    for i = 1, #KEYS, 4 do
      local at = 1 + (i - 1) / 2
      replies[#replies + 1] = 0
      if redis.call('ZRANK', KEYS[i], ARGV[at]) then
        local left = math.max(redis.call('PTTL', KEYS[i]), ARGV[at + 1])
        redis.call('PEXPIRE', KEYS[i], left)
        redis.call('HINCRBY', KEYS[i + 1], 'renewed', 1)
        replies[#replies] = left
      end
    end
    return replies",
    |this, _name, state, _now, _outbox| {
        if state.owners.contains(&this.owner) {
            state.counts.renewed += 1;
            Renewed::Prolonged { left_ms: millis(this.lease) }
        } else {
            Renewed::Gone
        }
    },
    |this, _name, call| {
        call.args.push(&this.owner);
        call.args.number(millis(this.lease));
    },
    |reply| Self::decode_each(reply)?.pop().ok_or(Malformed)
);

impl BatchStep for RenewPermit {
    /// Unlike the lock's.
    const CHUNK: usize = 3;

    fn wrong_type(_now: ServerTime) -> Renewed {
        Renewed::WrongType
    }

    fn decode_each(reply: Reply) -> Result<Vec<Renewed>, Malformed> {
        let read = |item: &Reply| match wire::unsigned(Some(item))? {
            0 => Ok(Renewed::Gone),
            left_ms => Ok(Renewed::Prolonged { left_ms }),
        };
        wire::list(reply)?.iter().map(read).collect()
    }
}

impl Renewal for RenewPermit {
    fn of(grant: &Grant, lease: Duration) -> RenewPermit {
        RenewPermit { owner: grant.owner().to_owned(), lease }
    }

    fn counts(of: &Counters) -> &HoldCounts {
        &of.permits
    }
}

#[derive(Clone, Debug)]
pub(crate) struct CountPermits;

step!(
    CountPermits,
    Counts,
    "count",
    "local function count(what) return tonumber(redis.call('HGET', KEYS[2], what) or 0) end
    return {count('asked'), count('granted'), count('renewed')}",
    |_this, _name, state, _now, _outbox| state.counts,
    |_this, _name, _call| {},
    |reply| {
        let items = wire::list(reply)?;
        let count = |at| wire::unsigned(items.get(at));
        Ok(Counts { asked: count(0)?, granted: count(1)?, renewed: count(2)? })
    }
);

impl AcquireStep for TakePermit {
    fn owner(&self) -> &str {
        &self.owner
    }

    fn lease(&self) -> Duration {
        self.lease
    }
}
