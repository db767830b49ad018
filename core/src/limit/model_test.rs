//! The limiter's actions for the property test of steps, see `step/model.rs`: also with a server clock that steps back.

use std::time::Duration;

use proptest::prelude::*;

use super::step::{Block, Fetch, GiveBack, Judge, LimitState, PutBack, Reset, Reward, Standing, Stood, Wanted};
use super::tat::{Span, Stored};
use super::{Algorithm, Rate, Rates};
use crate::step::keys::{Key, Value};
use crate::step::model::{Model, Pair, Sequences, drive};
use crate::step::{Attempt, MainKey, Outbox, Step};

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Ask {
        rates: Rates,
        cost: u64,
        wait: Duration,
    },
    /// Of what was charged last, or so much before it, when it stood as another limiter does, or as it did.
    GiveBack {
        rates: Rates,
        cost: u64,
        less: u64,
        before: Before,
    },
    Reward {
        rates: Rates,
        tokens: u64,
    },
    Fetch {
        rate: Rate,
        least: u64,
        wanted: Wanted,
    },
    /// The last parts of a stretch that ended `since` before the last charge.
    PutBack {
        rate: Rate,
        unused: u128,
        since_us: u64,
    },
    Block(Rates, Duration),
    Reset(Rates),
    /// What others leave in the key: texts, lists, hashes of all algorithms, and of none.
    Foreign(MainKey, Option<u64>),
}

/// By how much less a rate stood before a charge.
#[derive(Clone, Debug)]
pub(crate) struct Before {
    us: u64,
    one: u64,
    other: u64,
}

impl Before {
    fn of(&self, [us, one, other]: Standing) -> Standing {
        [us.saturating_sub(self.us), one.saturating_sub(self.one), other.saturating_sub(self.other)]
    }
}

/// The periods of limiters with several rates, in us: each has a key.
const PERIODS: [u64; 3] = [50_000, 1_000_000, 60_000_000];

/// What algorithms other than GCRA are asked with: few tokens, so that they are soon gone, and many.
fn windows(by: Algorithm) -> impl Strategy<Value = Rate> {
    let most = if by == Algorithm::SlidingLog { 100_000 } else { 1_000_000_000_000 };
    let rate = |(tokens, us)| Rate::new(tokens, Duration::from_micros(us));
    prop_oneof![
        8 => (1..40u64, prop_oneof![Just(1_000_000), Just(50_000), Just(700_001)]).prop_map(rate),
        1 => (0..40u64, 1..10_000_000u64).prop_map(rate),
        1 => Just(rate((most, 100 * 31_557_600 * 1_000_000))),
        1 => Just(rate((most, 1))),
    ]
    .prop_map(move |rate| rate.by(by))
}

fn buckets() -> impl Strategy<Value = Rate> {
    let seconds = Duration::from_secs;
    prop_oneof![
        Just(Rate::new(3, seconds(1))),
        Just(Rate::new(100, seconds(1)).burst(20)),
        Just(Rate::new(1, seconds(60))),
        Just(Rate::new(0, seconds(1))),
        Just(Rate::new(999_999_999_999, Duration::from_micros(7))),
        Just(Rate::new(1, seconds(100 * 31_557_600))),
        (1..1_000u64, 1..10_000_000u64, 1..50u64).prop_map(|(tokens, us, burst)| Rate::new(
            tokens,
            Duration::from_micros(us)
        )
        .burst(burst)),
    ]
}

/// One rate of this algorithm.
fn one(by: Algorithm) -> BoxedStrategy<Rates> {
    match by {
        Algorithm::Gcra => buckets().prop_map(Rates::from).boxed(),
        _ => windows(by).prop_map(Rates::from).boxed(),
    }
}

/// Two or three rates, the algorithm of each of which goes with its period: a key belongs to one algorithm.
fn several() -> BoxedStrategy<Rates> {
    let [short, middle, long] = PERIODS.map(Duration::from_micros);
    prop_oneof![
        Just(vec![Rate::new(4, middle), Rate::new(9, long).by(Algorithm::SlidingLog)]),
        Just(vec![Rate::new(9, long).by(Algorithm::SlidingLog), Rate::new(3, short).by(Algorithm::FixedWindow)]),
        Just(vec![
            Rate::new(2, short).by(Algorithm::FixedWindow),
            Rate::new(7, middle).burst(5),
            Rate::new(30, long).by(Algorithm::SlidingLog)
        ]),
    ]
    .prop_map(Rates::from)
    .boxed()
}

/// Several, in other algorithms.
fn several_others() -> BoxedStrategy<Rates> {
    let [short, middle, long] = PERIODS.map(Duration::from_micros);
    prop_oneof![
        Just(vec![Rate::new(4, middle).by(Algorithm::SlidingCounter), Rate::new(9, long).by(Algorithm::AlignedWindow)]),
        Just(vec![
            Rate::new(2, short).by(Algorithm::SlidingLog),
            Rate::new(5, middle).by(Algorithm::SlidingCounter),
            Rate::new(20, long).by(Algorithm::AlignedWindow)
        ]),
    ]
    .prop_map(Rates::from)
    .boxed()
}

/// What nobody should write, and what others do.
fn foreign() -> impl Strategy<Value = MainKey> {
    let text = prop_oneof![
        Just("".to_owned()),
        Just("7.5".to_owned()),
        Just("text".to_owned()),
        Just("31536000000000".to_owned()),
        Just("31536000000000+1/3".to_owned()),
        Just("31536000000000+5/3".to_owned()),
        Just("9".repeat(60)),
        // Written a second before the start, or ten minutes after it.
        Just("31536005000000+10031535999000000/30000000000000000".to_owned()),
        Just("31536605000000+20031536600000000/30000000000000000".to_owned()),
        Just(format!("{}+00031535999000000/10000000000000000", "9".repeat(60))),
        Just("31536000000000+1/30000000000000000".to_owned()),
        Just("31536000000000:3:31535999000000".to_owned()),
        Just("31536605000000:2:31536600000000".to_owned()),
        Just(format!("{nines}:{nines}:{nines}", nines = "9".repeat(60))),
        Just(format!("{}:1:31536000000000", "9".repeat(60))),
        Just("1:2:3:4".to_owned()),
        Just("1:2".to_owned()),
    ]
    .prop_map(|text| MainKey::of_text(text, None));
    let number = prop_oneof![
        Just("31536000000000".to_owned()),
        Just("31536600000000".to_owned()),
        Just("3".to_owned()),
        Just("9".repeat(60)),
        Just("x".to_owned()),
    ];
    let counter = prop::array::uniform4(number).prop_map(|numbers| MainKey::of_text(numbers.join(":"), None));
    let marked = prop_oneof![
        Just("31536000000000!31536001000000:31535999000000"),
        Just("31536000000000+1/3!31536605000000:31536604000000"),
        Just("31536000000000:3:31535999000000!31536600000000:31536000000000"),
        Just("31536000000000!31536600000000"),
        Just("31536000000000!x:1"),
        Just("!31536600000000:31536000000000"),
    ];
    let marked = marked.prop_map(|text| MainKey::of_text(text.to_owned(), None));
    let hash = Just(MainKey::of_fields([("before", "1")], None));
    let entry = prop_oneof![
        Just("31535999500000 3 1"),
        Just("31535999900000 4 1"),
        Just("31536005000000 6 2 31535999000000 0"),
        Just("31536605000000 8 2 31536604000000 5000000"),
        Just("31536000000000 2 5"),
        Just("1 2 3  4"),
        Just("31535999900000 4 1!31536600000000:31535999900000"),
        Just("31535999900000 4 1!1:2!31536600000000:31535999900000"),
        Just("!31536600000000:31535999900000"),
        Just("31535999900000 4 1!x"),
        Just("1 2 3 "),
        Just("x"),
        Just(""),
    ];
    let list = prop::collection::vec(entry, 1..9).prop_map(|entries| {
        let value = Value::List(entries.into_iter().map(str::to_owned).collect());
        MainKey(Some(Key { value, deadline: None }))
    });
    prop_oneof![4 => text, 2 => counter, 2 => marked, 1 => hash, 3 => list]
}

/// What clients do that fetch ahead, which GCRA alone has.
fn prefetching() -> BoxedStrategy<Action> {
    // In thirds of a token, so that stretches end anywhere.
    let part = |rate: Rate, thirds: u64| rate.work(thirds % (3 * rate.limit().max(1))) / 3;
    let wanted = (0..2_000u64, prop_oneof![Just(0), 0..1_000_000u64], 0..3_000u64);
    let fetch = (buckets(), 0..1_000u64, wanted).prop_map(move |(rate, some, (wanted, lasting_us, most))| {
        let (least, work, most) = (1 + some % rate.limit().clamp(1, 25), part(rate, wanted), part(rate, most));
        Action::Fetch { rate, least, wanted: Wanted { work, lasting_us, most } }
    });
    let since_us = prop_oneof![3 => Just(0), 1 => 0..1_000u64];
    let put_back = (buckets(), 0..1_000u64, since_us).prop_map(move |(rate, thirds, since_us)| Action::PutBack {
        rate,
        unused: part(rate, thirds),
        since_us,
    });
    prop_oneof![2 => fetch, 1 => put_back].boxed()
}

/// What is done to limiters with these rates, and, of each 50, `others` others.
fn actions(
    rates: BoxedStrategy<Rates>,
    (others, other): (u32, BoxedStrategy<Action>),
) -> impl Strategy<Value = (Action, i64)> {
    let wait = prop_oneof![
        2 => Just(Duration::ZERO),
        2 => (0..10_000_000u64).prop_map(Duration::from_micros),
        1 => Just(Duration::MAX),
    ];
    let cost = |rates: &Rates, some: u64| some % (rates.limit().min(25) + 2);
    let ask =
        (rates.clone(), prop_oneof![2 => 0..4u64, 1 => 0..1_000u64], wait).prop_map(move |(rates, some, wait)| {
            let cost = cost(&rates, some);
            Action::Ask { rates, cost, wait }
        });
    let less = prop_oneof![3 => Just(0), 1 => 0..1_000u64, 1 => 0..2_000_000u64];
    let before = (prop_oneof![2 => Just(0), 1 => 0..3_000_000u64, 1 => Just(u64::MAX)], 0..4u64, 0..4u64)
        .prop_map(|(us, one, other)| Before { us, one, other });
    let give_back = (rates.clone(), 0..1_000u64, less, before).prop_map(move |(rates, some, less, before)| {
        let cost = cost(&rates, some).clamp(1, rates.limit().max(1));
        Action::GiveBack { rates, cost, less, before }
    });
    let reward =
        (rates.clone(), 1..12u64).prop_map(|(rates, some)| Action::Reward { tokens: some.min(rates.limit()), rates });
    let length = prop_oneof![1 => 0..3_000_000u64, 1 => Just(0), 1 => Just(7_200_000_000)];
    let block = (rates.clone(), length).prop_map(|(rates, us)| Action::Block(rates, Duration::from_micros(us)));
    let foreign = (foreign(), prop::option::of(1..5_000u64)).prop_map(|(key, ttl_ms)| Action::Foreign(key, ttl_ms));
    let action = prop_oneof![
        24 => ask,
        6 => give_back,
        3 => reward,
        2 => block,
        1 => rates.prop_map(Action::Reset),
        2 => foreign,
    ];
    let action = prop_oneof![50 - others => action, others => other];
    let shift_us = prop_oneof![
        4 => 0..1_000i64,
        4 => 0..500_000i64,
        2 => Just(1_000_000),
        1 => Just(-3_000),
        1 => Just(-3_600_000_000),
        1 => Just(3_600_000_000),
    ];
    (action, shift_us)
}

/// A theoretical arrival time so long before the stored one, such as the server could have answered.
fn before_last(pair: &Pair<LimitState>, rate: Rate, since_us: u64) -> Span {
    let text = pair.state.main.text().ok().flatten();
    let stored = text.and_then(|text| Stored::parse(text, rate.unit())).unwrap_or_default();
    Span { us: stored.tat.us.min(1 << 52), ..stored.tat }.minus(Span { us: since_us, part: 0 }, rate.unit())
}

impl Model for LimitState {
    type Action = Action;

    fn act(pair: &mut Pair<LimitState>, action: &Action) {
        match action {
            Action::Ask { rates, cost, wait } => pair.step(&Judge::new(rates, *cost).within(*wait), false),
            Action::GiveBack { rates, cost, less, before } => {
                // Such as the server could have answered.
                let (attempt, mut state) = (Attempt { not_after: pair.now }, pair.state.clone());
                let look = Judge::new(rates, 0);
                let now = look.apply(&pair.name, attempt, &mut state, pair.now, &mut Outbox::new(&|_| false));
                let Ok(mut now) = now else { return };
                now.standings.iter_mut().for_each(|standing| {
                    standing.iter_mut().for_each(|number| *number = (*number).min(1 << 52));
                    standing[0] = standing[0].saturating_sub(*less);
                });
                let before = now.standings.iter().map(|standing| before.of(*standing)).collect();
                pair.step(&GiveBack::new(rates, *cost, Stood { before, after: now.standings }), false);
            }
            Action::Fetch { rate, least, wanted } => pair.step(&Fetch::new(*rate, *least, *wanted), false),
            Action::PutBack { rate, unused, since_us } => {
                let tat = before_last(pair, *rate, *since_us);
                pair.step(&PutBack::new(*rate, *unused, tat), false);
            }
            Action::Reward { rates, tokens } => pair.step(&Reward::new(rates, *tokens), false),
            Action::Block(rates, length) => pair.step(&Block::new(rates, *length), false),
            Action::Reset(rates) => pair.step(&Reset::new(rates), false),
            Action::Foreign(key, ttl_ms) => {
                let deadline = pair.deadline(*ttl_ms);
                pair.set_main(MainKey(key.0.clone().map(|key| Key { deadline, ..key })));
            }
        }
    }

    fn read_back(pair: &mut Pair<LimitState>) -> LimitState {
        let mut state = LimitState { main: pair.read_main(), ..LimitState::default() };
        for period in PERIODS {
            let key = pair.read_key(&pair.name.companion(&format!("dlock_limit_{period}")));
            if key.is_there() {
                state.each.insert(period, key);
            }
        }
        state
    }
}

/// All algorithms in turn, alone and several at once; now and then, another one than the key belongs to.
fn drive_all(sequences: impl Fn() -> Sequences) {
    for by in Algorithm::OWN {
        println!("{}", by.as_str());
        let others = prop::sample::select(&Algorithm::OWN[..]).prop_flat_map(one);
        let fetches = if by == Algorithm::Gcra { 20 } else { 1 };
        let rates = prop_oneof![25 => one(by), 1 => others].boxed();
        drive::<LimitState>(sequences(), actions(rates, (fetches, prefetching())));
    }
    for several in [several(), several_others()] {
        println!("several");
        drive::<LimitState>(sequences(), actions(several, (1, prefetching())));
    }
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive_all(|| Sequences::normal().one_in(5));
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive_all(|| Sequences::long().one_in(3));
}
