use super::super::log::{Times, member};
use super::super::terms::Terms;
use super::add_keys;
use super::state::RedissonState;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, MainKey, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Acquires permits, or says when they are available. See `acquire.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Acquire {
    /// For a limiter that is not there yet.
    pub(crate) terms: Terms,
    /// None only looks.
    pub(crate) permits: u32,
    /// What no other acquire has; ASCII.
    pub(crate) random: [u8; 16],
    /// The id of the client.
    pub(crate) client: String,
    /// By which terms this client knows that the number of available permits was right.
    pub(crate) settled: Option<Terms>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) verdict: Verdict,
    pub(crate) now: ServerTime,
    /// How many are available after it.
    pub(crate) available: u64,
    /// When those are that were asked for, of none one, at the soonest, in ms of Unix time; 0: now, or never.
    pub(crate) due_ms: u64,
    /// When all are; 0: now.
    pub(crate) full_ms: u64,
    /// What stands on the server.
    pub(crate) terms: Terms,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Refused,
    Granted,
    /// More than the rate.
    TooMany,
}

impl Acquire {
    /// Whether the stored number may be of other terms than these.
    fn is_unsure(&self, terms: Terms) -> bool {
        match self.settled {
            Some(settled) => settled != terms,
            // All others of a limiter for all clients set the number with the rate.
            None => terms.per_client,
        }
    }

    /// PEXPIRE of what a grant keeps alive.
    fn keep(&self, state: &mut RedissonState, terms: Terms, keep_alive_ms: u64, now: ServerTime) {
        let interval_ms = terms.interval_ms + 2;
        let ttl = state.main.ttl(now);
        let kept = if keep_alive_ms > 0 {
            state.main.end_at(now.millis() + keep_alive_ms);
            Some(keep_alive_ms.max(interval_ms))
        } else if ttl > 0 {
            Some(ttl as u64)
        } else {
            terms.per_client.then_some(interval_ms)
        };
        if let (Some(kept), Some(bucket)) = (kept, state.buckets.get_mut(self.whose(terms))) {
            bucket.end_at(now.millis() + kept);
        }
    }

    fn whose(&self, terms: Terms) -> &str {
        if terms.per_client { &self.client } else { "" }
    }
}

impl Step for Acquire {
    type State = RedissonState;
    type Reply = Judged;

    const OP: &'static str = "rate limit";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut RedissonState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Judged, WrongType> {
        let found = state.terms()?;
        let (terms, keep_alive_ms) = found.unwrap_or((self.terms, self.terms.keep_alive_ms()));
        let permits = i64::from(self.permits);
        if permits > terms.permits as i64 {
            return Ok(Judged { verdict: Verdict::TooMany, now, available: 0, due_ms: 0, full_ms: 0, terms });
        }
        let (times, need) = (Times::new(now, terms.interval_ms), permits.max(1));
        let mut bucket = state.buckets.get(self.whose(terms)).cloned().unwrap_or_default();
        let stored = bucket.available()?;
        let mut look = bucket.log.look(times, terms.permits, stored, need, self.is_unsure(terms))?;
        let granted = look.available >= need;
        if permits > 0 {
            bucket.log.tidy(times, look.over);
            if granted {
                bucket.log.add(times.now_ms, member(self.random, self.permits));
                look.available -= permits;
                look.full_ms = Some(times.now_ms + terms.interval_ms);
            }
            if stored != Some(look.available) {
                bucket.set_available(look.available);
            }
            if found.is_none() {
                let (rate, interval) = (terms.permits.to_string(), terms.interval_ms.to_string());
                let keep = keep_alive_ms.to_string();
                let fields =
                    [("rate", &*rate), ("interval", &*interval), ("type", terms.kind()), ("keepAliveTime", &*keep)];
                state.main = MainKey::of_fields(fields, Some(now.millis() + keep_alive_ms));
            }
            state.buckets.insert(self.whose(terms).to_owned(), bucket);
            if granted {
                self.keep(state, terms, keep_alive_ms, now);
            }
        }
        Ok(Judged {
            verdict: if granted { Verdict::Granted } else { Verdict::Refused },
            now,
            available: look.available.max(0) as u64,
            due_ms: look.due_ms.unwrap_or(0),
            full_ms: look.full_ms.unwrap_or(0),
            terms,
        })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("acquire.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        add_keys(name, &self.client, call);
        call.args.number(self.terms.permits);
        call.args.number(self.terms.interval_ms);
        call.args.push(self.terms.kind());
        call.args.number(self.terms.keep_alive_ms());
        call.args.number(self.permits.into());
        call.args.push(std::str::from_utf8(&self.random).unwrap_or_default());
        match self.settled {
            None => call.args.push(""),
            Some(Terms { permits, interval_ms, .. }) => {
                let (mut rate, mut interval) = (itoa::Buffer::new(), itoa::Buffer::new());
                let kind = self.settled.map_or("", Terms::kind);
                call.args.join([rate.format(permits), "/", interval.format(interval_ms), "/", kind]);
            }
        }
    }

    fn decode(reply: Reply) -> Result<Judged, Malformed> {
        let items = wire::list(reply)?;
        let number = |at: usize| wire::unsigned(items.get(at));
        let verdict = match number(0)? {
            0 => Verdict::Refused,
            1 => Verdict::Granted,
            2 => Verdict::TooMany,
            _ => return Err(Malformed),
        };
        let terms = Terms { permits: number(5)?, interval_ms: number(6)?, per_client: number(7)? == 1 };
        let now = wire::time(items.get(1))?;
        Ok(Judged { verdict, now, available: number(2)?, due_ms: number(3)?, full_ms: number(4)?, terms })
    }

    fn server_time(reply: &Judged) -> Option<ServerTime> {
        Some(reply.now)
    }
}
