use super::IdGeneratorState;
use crate::name::ObjectName;
use crate::step::{Attempt, Call, MainKey, Malformed, Outbox, Reply, Script, Step, Text, WrongType, wire};
use crate::time::ServerTime;

/// Takes as many whole blocks as hold the ids that are wanted. Sent twice, it takes two of them, which leaves a gap and makes
/// no duplicate. See `fetch.lua`.
#[derive(Clone, Debug)]
pub(crate) struct Fetch {
    /// How many ids a block has, if the server does not know.
    pub(crate) block: u64,
    /// The first id of all, if the server does not know one.
    pub(crate) start: i64,
    pub(crate) wanted: u64,
}

/// What the server gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fetched {
    pub(crate) first: i64,
    pub(crate) count: u64,
    /// How many ids a block has, for everybody.
    pub(crate) block: u64,
    /// There are no such ids: 64 bits end before them.
    pub(crate) is_over: bool,
}

impl Step for Fetch {
    type State = IdGeneratorState;
    type Reply = Fetched;

    const OP: &'static str = "next id";
    const IDEMPOTENT: bool = true;

    fn apply(
        &self,
        _name: &ObjectName,
        _attempt: Attempt,
        state: &mut IdGeneratorState,
        _now: ServerTime,
        _outbox: &mut Outbox<'_>,
    ) -> Result<Fetched, WrongType> {
        let (known, size) = (state.next()?, state.block()?);
        let (first, block) = (known.unwrap_or(self.start), size.unwrap_or(self.block));
        let count = if block < self.wanted { self.wanted.div_ceil(block) * block } else { block };
        let end = first.checked_add_unsigned(count);
        if let Some(end) = end {
            match known {
                Some(_) => state.main.set_text(end.to_string()),
                None => state.main = MainKey::of_text(end.to_string(), None),
            }
            state.allocation.get_or_insert_with(|| Text { value: block.to_string(), deadline: None });
        }
        Ok(Fetched { first, count, block, is_over: end.is_none() })
    }

    fn script() -> &'static Script {
        static SCRIPT: Script = Script::new(include_str!("fetch.lua"));
        &SCRIPT
    }

    fn encode(&self, name: &ObjectName, _attempt: Attempt, call: &mut Call) {
        call.keys.push(name.as_str());
        call.keys.join(name.suffixed_parts(super::ALLOCATION));
        call.args.number(self.block);
        call.args.push(itoa::Buffer::new().format(self.start));
        call.args.number(self.wanted);
    }

    fn decode(reply: Reply) -> Result<Fetched, Malformed> {
        let items = wire::list(reply)?;
        let first = wire::text(items.first())?.and_then(|text| text.parse().ok()).ok_or(Malformed)?;
        let [count, block] = [1, 2].map(|at| {
            let number = wire::text(items.get(at))?.and_then(|text| text.parse().ok());
            // No id is larger than an i64.
            number.filter(|number| (1..=i64::MAX.cast_unsigned()).contains(number)).ok_or(Malformed)
        });
        let fetched = Fetched { first, count: count?, block: block?, is_over: items.len() > 3 };
        // The ids have to be there.
        let is_there = fetched.is_over || first.checked_add_unsigned(fetched.count).is_some();
        is_there.then_some(fetched).ok_or(Malformed)
    }
}
