//! The counting semaphore's actions for the property test of steps, see `step/model.rs`.

use proptest::prelude::*;

use super::step::{self, Acquire, Add, Cancel, CountingState, Drain, Inspect, SetPermits, Undo};
use crate::contended::available::{self, channel};
use crate::contended::{Look, Queue};
use crate::context::inbox;
use crate::name::ObjectName;
use crate::step::model::{Model, Pair, Sequences, drive};
use crate::step::{MainKey, Once, REMEMBERED, Remembered};
use crate::time::ServerTime;

/// More than head, next and one behind them.
const CLIENTS: u8 = 4;

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Acquire {
        owner: u8,
        permits: u32,
        /// What the other acquires of the same request take.
        others: Vec<u32>,
        waits: bool,
        late: bool,
        /// In how many seconds the request is void. More than a minute when the clock has stepped back.
        void_in: i64,
    },
    Undo {
        owner: u8,
        permits: u32,
    },
    Add {
        id: u8,
        permits: i32,
        /// Owners of acquires, and other requests, that the server need not know any more.
        answered: (Vec<u8>, Vec<u8>),
        late: bool,
        void: bool,
    },
    SetPermits {
        id: u8,
        permits: u32,
        late: bool,
    },
    Drain {
        late: bool,
    },
    Cancel {
        client: u8,
        late: bool,
    },
    Look {
        client: u8,
        keep: bool,
        late: bool,
    },
    Inspect,
    /// What others do to the keys.
    Foreign(Foreign),
}

#[derive(Clone, Debug)]
pub(crate) enum Foreign {
    /// Redisson's acquire, release and `addPermits` without regard to the queue.
    Incr(i64),
    /// Redisson's `trySetPermits` with its `ttl`, or something that is no number.
    Count {
        text: &'static str,
        ttl_ms: Option<u64>,
    },
    /// An object of another kind, such as a lock.
    Other,
    DropCount,
    DropSeen,
    /// A semaphore with leased permits has given some out, or has all of them again.
    Leased(bool),
    Listens {
        client: u8,
        listens: bool,
    },
}

fn actions() -> impl Strategy<Value = (Action, i64)> {
    // Two attempts of each client, of as many permits as their number says.
    let owner = 0..2 * CLIENTS;
    let permits = prop_oneof![4 => Just(1u32), 2 => 2..4u32, 1 => Just(5)];
    let others = prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec(permits.clone(), 1..4)];
    let void_in = prop_oneof![12 => Just(60i64), 4 => Just(0), 1 => Just(-1), 2 => Just(90), 1 => Just(3_600)];
    let (waits, late) = (prop::bool::weighted(0.8), prop::bool::weighted(0.05));
    let added =
        prop_oneof![6 => 1..4i32, 2 => -3..0i32, 1 => Just(i32::MAX), 1 => Just(i32::MAX - 2), 1 => Just(-i32::MAX)];
    let text = prop_oneof![
        2 => Just("4"),
        1 => Just("-1"),
        1 => Just("0"),
        1 => Just("many"),
        1 => Just(""),
        1 => Just("1.5"),
        1 => Just("2147483646"),
        1 => Just("-2147483648"),
        1 => Just("9007199254740993"),
        1 => Just("-900719925474099"),
        1 => Just("12345678901234567")
    ];
    let foreign = prop_oneof![
        3 => (-3..4i64).prop_map(Foreign::Incr),
        3 => (text, prop::option::of(1..5_000u64)).prop_map(|(text, ttl_ms)| Foreign::Count { text, ttl_ms }),
        1 => Just(Foreign::Other),
        1 => Just(Foreign::DropCount),
        1 => Just(Foreign::DropSeen),
        1 => Just(Foreign::Leased(true)),
        2 => Just(Foreign::Leased(false)),
        2 => (0..CLIENTS, any::<bool>()).prop_map(|(client, listens)| Foreign::Listens { client, listens }),
        1 => (0..CLIENTS).prop_map(|client| Foreign::Listens { client, listens: false }),
    ];
    let answered = (prop::collection::vec(0..2 * CLIENTS, 0..2), prop::collection::vec(6..8u8, 0..2));
    let action = prop_oneof![
        9 => (owner.clone(), permits.clone(), others, waits, late, void_in).prop_map(|(owner, permits, others, waits, late, void_in)| Action::Acquire { owner, permits, others, waits, late, void_in }),
        3 => (owner, permits.clone()).prop_map(|(owner, permits)| Action::Undo { owner, permits }),
        6 => (0..6u8, added, answered, late, late).prop_map(|(id, permits, answered, late, void)| Action::Add { id, permits, answered, late, void }),
        2 => (0..8u8, 0..5u32, late).prop_map(|(id, permits, late)| Action::SetPermits { id, permits, late }),
        1 => late.prop_map(|late| Action::Drain { late }),
        2 => (0..CLIENTS, late).prop_map(|(client, late)| Action::Cancel { client, late }),
        4 => (0..CLIENTS, any::<bool>(), late).prop_map(|(client, keep, late)| Action::Look { client, keep, late }),
        2 => Just(Action::Inspect),
        3 => foreign.prop_map(Action::Foreign),
    ];
    // Pauses that land before, on and behind the times of the queue and of what is remembered.
    let pause_us = prop_oneof![3 => 0..2_000i64, 3 => Just(1_000_000), 2 => Just(100_000), 2 => Just(1_000), 2 => 0..2_000_000i64, 1 => Just(31_000_000), 1 => Just(2_600_000), 1 => Just(15_100_000), 1 => Just(-1_500_000), 1 => Just(60_000_000)];
    (action, pause_us)
}

fn client(number: u8) -> String {
    format!("11111111-2222-8333-8444-55555555555{number}")
}

fn owner(number: u8, permits: u32) -> String {
    format!("{}:{}/{permits}", client(number / 2), number % 2)
}

/// A request with this id, made now or longer ago than it is remembered.
fn request(pair: &Pair<CountingState>, id: u8, void: bool) -> Once {
    let made_at = if void { ServerTime(pair.now.0 - REMEMBERED.as_micros() as u64 - 1) } else { pair.now };
    Once::named(format!("request {id}"), made_at, made_at)
}

impl Model for CountingState {
    type Action = Action;

    fn act(pair: &mut Pair<CountingState>, action: &Action) {
        match action {
            Action::Acquire { owner: number, permits, others, waits, late, void_in } => {
                // Numbers that no other request has.
                let others = others.iter().enumerate();
                let others = others.map(|(at, permits)| format!("{}:1{at}/{permits}", client(*number / 2))).collect();
                let void_after = ServerTime(pair.now.0.saturating_add_signed(void_in * 1_000_000));
                let owner = owner(*number, *permits);
                pair.step(&Acquire { owner, others, waits: *waits, void_after }, *late);
            }
            Action::Undo { owner: number, permits } => {
                pair.step(&Undo { owner: owner(*number, *permits) }, false);
            }
            Action::Add { id, permits, answered: (owners, requests), late, void } => {
                let once = request(pair, *id, *void);
                let answered = owners.iter().map(|number| owner(*number, 1));
                let answered = answered.chain(requests.iter().map(|id| format!("request {id}"))).collect();
                pair.step(&Add { once, permits: *permits, answered }, *late);
            }
            Action::SetPermits { id, permits, late } => {
                let once = request(pair, *id, false);
                pair.step(&SetPermits { once, permits: *permits }, *late);
            }
            Action::Drain { late } => pair.step(&Drain, *late),
            Action::Cancel { client: number, late } => pair.step(&Cancel { client: client(*number) }, *late),
            Action::Look { client: number, keep, late } => {
                pair.step(&Look::new(&client(*number).into(), *keep), *late);
            }
            Action::Inspect => pair.step(&Inspect, false),
            Action::Foreign(action) => foreign(pair, action),
        }
    }

    fn channels(name: &ObjectName) -> Vec<String> {
        let inboxes = (0..CLIENTS).map(|number| inbox(&client(number)));
        inboxes.chain([channel(name)]).collect()
    }

    fn read_back(pair: &mut Pair<CountingState>) -> CountingState {
        let leased = step::leased_key(&pair.name);
        CountingState {
            main: pair.read_main(),
            done: Remembered::read_back(pair, step::DONE),
            leased: pair.read_scores(&leased),
            queue: Queue::read_back(pair, &step::QUEUE),
        }
    }
}

fn foreign(pair: &mut Pair<CountingState>, action: &Foreign) {
    let (count, leased) = (pair.name.as_str().to_owned(), step::leased_key(&pair.name));
    match action {
        Foreign::Incr(by) => {
            // What is no number is left alone.
            let Ok(available) = available::count(&pair.state.main) else { return };
            pair.command(&["INCRBY", &count, &by.to_string()]);
            pair.state.main.set_text((available.unwrap_or(0) + by).to_string());
        }
        Foreign::Count { text, ttl_ms } => {
            pair.set_main(MainKey::of_text((*text).to_owned(), pair.deadline(*ttl_ms)));
        }
        Foreign::Other => pair.set_main(MainKey::of_fields([("field", "1")], pair.deadline(Some(1_500)))),
        Foreign::DropCount => pair.set_main(MainKey::default()),
        Foreign::DropSeen => {
            pair.command(&["DEL", &pair.name.companion(step::QUEUE.seen)]);
            pair.state.queue.seen.clear();
            pair.state.queue.deaf.clear();
            pair.state.queue.told.clear();
            pair.state.queue.wants.clear();
            pair.state.queue.barged = None;
        }
        Foreign::Leased(true) => {
            let (expiry, id) = (922_337_203_685_477_u64, "redisson's id 01");
            pair.command(&["ZADD", &leased, &expiry.to_string(), id]);
            pair.state.leased.value.insert(id.to_owned(), expiry);
        }
        Foreign::Leased(false) => {
            pair.command(&["DEL", &leased]);
            pair.state.leased.value.clear();
        }
        Foreign::Listens { client: number, listens } => pair.listen(&inbox(&client(*number)), *listens),
    }
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive::<CountingState>(Sequences::normal(), actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive::<CountingState>(Sequences::long(), actions());
}
