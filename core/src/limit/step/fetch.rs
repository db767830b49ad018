use super::super::rate::{LONGEST_US, Rate};
use super::super::tat::{self, Span};
use super::algorithm::{Asked, Held, top};
use super::numbers::Numbers;
use super::{LimitState, lua, push_keys};
use crate::name::ObjectName;
use crate::step::{Attempt, Call, Malformed, Outbox, Reply, Script, Step, WrongType, wire};
use crate::time::ServerTime;

/// Charges as many tokens as there are, up to what is wanted: a stretch of the theoretical time, from the present
/// theoretical arrival time on, that nobody else is given. See `fetch.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    rate: Rate,
    /// The least that is of use.
    least: u64,
    wanted: Span,
    /// How far ahead of now the stretch is to reach at least, in us.
    lasting_us: u64,
    /// As long as the stretch may be.
    most: Span,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fetched {
    pub(crate) granted: bool,
    pub(crate) now: ServerTime,
    /// Where the stretch begins, never before now.
    pub(crate) from: Span,
    /// Where it ends: the theoretical arrival time after it. Refused, it is where it begins.
    pub(crate) tat: Span,
}

/// What a stretch is to be like, in parts of the rate's unit.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    /// This much.
    pub(crate) work: u128,
    /// Or as much as reaches so far ahead of now, in us.
    pub(crate) lasting_us: u64,
    /// But no more than this.
    pub(crate) most: u128,
}

impl Fetch {
    /// No less than `least` tokens.
    pub(crate) fn new(rate: Rate, least: u64, wanted: Wanted) -> Fetch {
        let span = |work: u128| Span::of(work, rate.unit()).max(rate.span(least));
        let lasting_us = wanted.lasting_us.min(LONGEST_US);
        Fetch { rate, least, wanted: span(wanted.work), lasting_us, most: span(wanted.most) }
    }
}

impl Step for Fetch {
    type State = LimitState;
    type Reply = Fetched;

    const OP: &'static str = "rate limit";
    const IDEMPOTENT: bool = false;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut LimitState,
        now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Fetched, WrongType> {
        let us = tat::since_2025(now);
        let numbers = Numbers::new(&self.rate, self.least);
        let asked = Asked { numbers: &numbers, cost: self.least, now: us };
        let mut held = Held::read(&state.main, asked)?;
        let (blocked_until, moved, bucket) = (held.blocked_until, held.moved, held.bucket()?);
        let granted = blocked_until.max(bucket.due(asked)) <= us;
        let (from, unit) = (bucket.tat, numbers.tokens);
        if granted {
            let lasting = Span { us: us + self.lasting_us, part: 0 };
            let end = from.plus(self.wanted, unit).max(lasting);
            bucket.tat = end.min(from.plus(self.most, unit)).min(top(asked));
        }
        let tat = bucket.tat;
        if granted || moved {
            held.store(&mut state.main, asked, now);
        }
        Ok(Fetched { granted, now, from, tat })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(lua!("rated", "fetch", "algorithm/gcra_store", "set", "fetched"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        push_keys(name, &self.rate.into(), call);
        [self.least, 0].into_iter().for_each(|number| call.args.number(number));
        Numbers::new(&self.rate, self.least).encode(call);
        let numbers = [self.wanted.us, self.wanted.part, self.lasting_us, self.most.us, self.most.part];
        numbers.into_iter().for_each(|number| call.args.number(number));
    }

    fn decode(reply: Reply) -> Result<Fetched, Malformed> {
        let items = wire::list(reply)?;
        let span = |at: usize| -> Result<Span, Malformed> {
            Ok(Span { us: wire::unsigned(items.get(at))?, part: wire::unsigned(items.get(at + 1))? })
        };
        let granted = wire::int(items.first())? == 1;
        Ok(Fetched { granted, now: wire::time(items.get(1))?, from: span(2)?, tat: span(4)? })
    }

    fn server_time(reply: &Fetched) -> Option<ServerTime> {
        Some(reply.now)
    }
}
