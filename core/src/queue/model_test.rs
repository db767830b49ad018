//! The delayed queue's actions for the property test of steps, see `step/model.rs`.

use std::collections::BTreeMap;
use std::time::Duration;

use libdlock_testkit::Reply;
use proptest::prelude::*;

use super::step::{
    self, Ack, AckMany, Cancel, Due, Inspect, Job, JobSpec, List, Nack, Put, PutOnce, QueueState, Ranked, Remove,
    Renew, Requeue, Seen, Take,
};
use crate::contended::{Look, Queue};
use crate::context::inbox;
use crate::name::ObjectName;
use crate::step::model::{Model, Pair, Sequences, drive};
use crate::step::{Once, Remembered};
use crate::time::ServerTime;

/// More than head, next and one behind them.
const CLIENTS: u8 = 4;

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Put {
        jobs: Vec<Spec>,
        max_length: u64,
        max_attempts: u32,
        /// The number of a request that may come again.
        request: Option<u8>,
        late: bool,
    },
    Take {
        owner: u8,
        others: u8,
        lease_ms: u64,
        waits: bool,
        late: bool,
    },
    Ack(u8),
    AckMany(u8, u8),
    Nack {
        owner: u8,
        delay_ms: Option<u64>,
        seen: Seen,
    },
    Renew {
        owner: u8,
        lease_ms: u64,
        cut_ms: Option<u64>,
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
    List {
        dead: bool,
        most: u64,
    },
    Remove {
        dead: bool,
        id: Option<u8>,
        request: u8,
        late: bool,
    },
    Requeue {
        id: Option<u8>,
        request: u8,
        late: bool,
    },
    Foreign(Foreign),
}

#[derive(Clone, Debug)]
pub(crate) struct Spec {
    id: u8,
    delay_ms: u64,
    at: bool,
    priority: i16,
}

/// What others do to the keys.
#[derive(Clone, Debug)]
pub(crate) enum Foreign {
    DropSeen,
    DropHeld,
    DropLast,
    Listens { client: u8, listens: bool },
}

fn actions() -> impl Strategy<Value = (Action, i64)> {
    let owner = 0..2 * CLIENTS;
    let lease = prop_oneof![Just(100u64), Just(1000), Just(30_000), 100..5_000u64];
    let late = prop::bool::weighted(0.05);
    let delay = prop_oneof![3 => Just(0u64), 1 => Just(1), 2 => 0..3_000u64, 1 => Just(60_000)];
    let priority = prop_oneof![4 => Just(0i16), 1 => any::<i16>(), 1 => -1..2i16];
    let spec = (0..12u8, delay.clone(), prop::bool::weighted(0.2), priority)
        .prop_map(|(id, delay_ms, at, priority)| Spec { id, delay_ms, at, priority });
    let jobs = prop::collection::vec(spec, 1..4);
    let max_length = prop_oneof![4 => Just(0u64), 1 => 1..6u64];
    let put = (jobs, max_length, 1..4u32, prop::option::of(0..3u8), late);
    let foreign = prop_oneof![
        Just(Foreign::DropSeen),
        Just(Foreign::DropHeld),
        Just(Foreign::DropLast),
        (0..CLIENTS, any::<bool>()).prop_map(|(client, listens)| Foreign::Listens { client, listens }),
        (0..CLIENTS).prop_map(|client| Foreign::Listens { client, listens: false }),
    ];
    let seen = prop_oneof![4 => Just(Seen::Yes), 1 => Just(Seen::No), 1 => Just(Seen::If(1)), 1 => Just(Seen::If(2))];
    let action = prop_oneof![
        8 => put.prop_map(|(jobs, max_length, max_attempts, request, late)| Action::Put { jobs, max_length, max_attempts, request, late }),
        10 => (owner.clone(), prop_oneof![3 => Just(0u8), 1 => 1..4u8], lease.clone(), prop::bool::weighted(0.7), late)
            .prop_map(|(owner, others, lease_ms, waits, late)| Action::Take { owner, others, lease_ms, waits, late }),
        4 => owner.clone().prop_map(Action::Ack),
        3 => (owner.clone(), 0..4u8).prop_map(|(first, others)| Action::AckMany(first, others)),
        4 => (owner.clone(), prop::option::of(0..2_000u64), seen)
            .prop_map(|(owner, delay_ms, seen)| Action::Nack { owner, delay_ms, seen }),
        3 => (owner, lease, prop::option::of(0..2_000u64)).prop_map(|(owner, lease_ms, cut_ms)| Action::Renew { owner, lease_ms, cut_ms }),
        2 => (0..CLIENTS, late).prop_map(|(client, late)| Action::Cancel { client, late }),
        4 => (0..CLIENTS, any::<bool>(), late).prop_map(|(client, keep, late)| Action::Look { client, keep, late }),
        1 => Just(Action::Inspect),
        1 => (any::<bool>(), 1..5u64).prop_map(|(dead, most)| Action::List { dead, most }),
        2 => (any::<bool>(), prop::option::weighted(0.8, 0..12u8), 0..3u8, late).prop_map(|(dead, id, request, late)| Action::Remove { dead, id, request, late }),
        1 => (prop::option::weighted(0.8, 0..12u8), 3..6u8, late).prop_map(|(id, request, late)| Action::Requeue { id, request, late }),
        1 => foreign.prop_map(Action::Foreign),
    ];
    // Pauses that land before, on and behind due times and the ends of leases and keys.
    let pause_us = prop_oneof![4 => 0..2_000i64, 3 => Just(1_000_000), 2 => Just(100_000), 2 => Just(1_000), 2 => 0..2_000_000i64, 1 => Just(31_000_000), 1 => Just(2_600_000), 1 => Just(15_100_000), 1 => Just(-1_500_000), 1 => Just(90_000_000_000)];
    (action, pause_us)
}

fn client(number: u8) -> String {
    format!("11111111-2222-8333-8444-55555555555{number}")
}

/// A request that may come again: made at a time that all repeats of it name.
fn request_of(number: u8, pair: &Pair<QueueState>) -> Once {
    Once::new(&format!("{}:2{number}", client(0)), ServerTime(pair.now.0 / 60_000_000 * 60_000_000))
}

fn owner(number: u8) -> String {
    format!("{}:{}", client(number / 2), number % 2)
}

impl Model for QueueState {
    type Action = Action;

    fn act(pair: &mut Pair<QueueState>, action: &Action) {
        let ms = Duration::from_millis;
        match action {
            Action::Put { jobs, max_length, max_attempts, request, late } => {
                let spec = |(at, spec): (usize, &Spec)| JobSpec {
                    id: format!("job {}", spec.id),
                    due: match spec.at {
                        true => Due::At(pair.now.millis() + spec.delay_ms),
                        false => Due::After(ms(spec.delay_ms)),
                    },
                    priority: spec.priority,
                    payload: vec![b'p'; at],
                };
                let jobs: Vec<JobSpec> = jobs.iter().enumerate().map(spec).collect();
                let (max_length, max_attempts) = (*max_length, *max_attempts);
                let put = |once| Put { once, jobs, max_length, max_attempts };
                match request {
                    // Made at a time that all repeats of it name.
                    Some(request) => {
                        let made = ServerTime(pair.now.0 / 60_000_000 * 60_000_000);
                        let once = Once::new(&format!("{}:{request}", client(0)), made);
                        pair.step(&PutOnce(put(once)), *late);
                    }
                    None => pair.step(&put(Once::in_process()), *late),
                }
            }
            Action::Take { owner: number, others, lease_ms, waits, late } => {
                let others = (0..*others).map(|at| format!("{}:1{at}", client(*number / 2))).collect();
                let take = Take { owner: owner(*number), others, lease: ms(*lease_ms), waits: *waits };
                pair.step(&take, *late);
            }
            Action::Ack(number) => pair.step(&Ack { owner: owner(*number) }, false),
            Action::AckMany(first, others) => {
                let owners = (*first..=first + others).map(owner).collect();
                pair.step(&AckMany { owners }, false);
            }
            Action::Nack { owner: number, delay_ms, seen } => {
                let (owner, delay) = (owner(*number), delay_ms.map(ms));
                // Of the number of a token here it matters whether it is that of the delivery.
                let seen = match (seen, pair.state.held.get(&owner)) {
                    (Seen::If(1), Some((token, _))) => Seen::If(*token),
                    (seen, _) => *seen,
                };
                pair.step(&Nack { owner, delay, seen, reason: "no such page".to_owned() }, false);
            }
            Action::Renew { owner: number, lease_ms, cut_ms } => {
                let cut = cut_ms.map(|more| ms(lease_ms + more));
                pair.step(&Renew { owner: owner(*number), lease: ms(*lease_ms), cut }, false);
            }
            Action::Cancel { client: number, late } => pair.step(&Cancel { client: client(*number) }, *late),
            Action::Look { client: number, keep, late } => {
                pair.step(&Look::new(&client(*number).into(), *keep), *late);
            }
            Action::Inspect => pair.step(&Inspect, false),
            Action::List { dead, most } => pair.step(&List { dead: *dead, most: *most }, false),
            Action::Remove { dead, id, request, late } => {
                let once = request_of(*request, pair);
                let id = id.map(|id| format!("job {id}"));
                pair.step(&Remove { once, dead: *dead, id }, *late);
            }
            Action::Requeue { id, request, late } => {
                let once = request_of(*request, pair);
                pair.step(&Requeue { once, id: id.map(|id| format!("job {id}")) }, *late);
            }
            Action::Foreign(action) => foreign(pair, action),
        }
    }

    fn channels(_name: &ObjectName) -> Vec<String> {
        (0..CLIENTS).map(|number| inbox(&client(number))).collect()
    }

    /// A job is in exactly one place.
    fn check(&self) {
        for (id, job) in &self.jobs {
            let waits = self.due.score(&format!("{}{id}", job.rank)).is_some();
            let held = self.held.values().filter(|(_, other)| other == id).count();
            let places = usize::from(waits) + held + usize::from(self.dead.score(id).is_some());
            assert!(places <= 1, "{id} is in {places} places: {job:?}");
        }
    }

    fn read_back(pair: &mut Pair<QueueState>) -> QueueState {
        let key = |pair: &Pair<QueueState>, kind: &str| pair.name.companion(kind);
        let jobs =
            hash(pair, step::JOBS).into_iter().map(|(id, text)| (id, Job::parse(text.as_bytes()).unwrap())).collect();
        let held = hash(pair, step::HELD).into_iter().map(|(owner, text)| {
            let (token, id) = text.split_once(' ').unwrap();
            (owner, (token.parse().unwrap(), id.to_owned()))
        });
        let held = held.collect();
        let [due, leases, dead] = [step::DUE, step::LEASES, step::DEAD].map(|kind| key(pair, kind));
        let last = key(pair, step::LAST);
        QueueState {
            jobs,
            done: Remembered::read_back(pair, step::DONE),
            due: Ranked::read_back(pair, &due),
            leases: Ranked::read_back(pair, &leases),
            held,
            dead: Ranked::read_back(pair, &dead),
            last: pair.read_text(&last),
            queue: Queue::read_back(pair, &step::QUEUE),
        }
    }
}

fn hash(pair: &mut Pair<QueueState>, kind: &str) -> BTreeMap<String, String> {
    let key = pair.name.companion(kind);
    let words = pair.server.cmd(&["HGETALL", &key]).unwrap();
    let words: Vec<String> = words.array().iter().map(|word: &Reply| word.text().to_owned()).collect();
    assert_eq!(pair.server_deadline(&key), None, "{kind} would be gone with its jobs");
    words.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}

fn foreign(pair: &mut Pair<QueueState>, action: &Foreign) {
    match action {
        Foreign::DropSeen => {
            pair.command(&["DEL", &pair.name.companion(step::QUEUE.seen)]);
            pair.state.queue.seen.clear();
            pair.state.queue.deaf.clear();
            pair.state.queue.told.clear();
            pair.state.queue.wants.clear();
            pair.state.queue.barged = None;
        }
        Foreign::DropHeld => {
            pair.command(&["DEL", &pair.name.companion(step::HELD)]);
            pair.state.held.clear();
        }
        Foreign::DropLast => {
            pair.command(&["DEL", &pair.name.companion(step::LAST)]);
            pair.state.last = None;
        }
        Foreign::Listens { client: number, listens } => pair.listen(&inbox(&client(*number)), *listens),
    }
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive::<QueueState>(Sequences::normal(), actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive::<QueueState>(Sequences::long(), actions());
}
