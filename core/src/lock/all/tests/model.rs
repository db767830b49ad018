//! The property test of the steps that take and free several locks at once, see `step/model.rs`.

use std::time::Duration;

use proptest::prelude::*;

use crate::contended::token::TOKEN;
use crate::contended::{Joint, Released};
use crate::context::inbox;
use crate::lock::model_test::{CLIENTS, client, owner, read_lock};
use crate::lock::step::{self, Acquire, AcquireAll, Cancel, LockState, Release, ReleaseAll};
use crate::name::ObjectName;
use crate::step::model::{Model, Pair, Sequences, drive};
use crate::step::{
    Attempt, BatchStep, Call, Expires, JointStep, MainKey, Malformed, Outbox, Reply, Script, SharedKeys, State, Step,
    Text, WrongType,
};
use crate::time::ServerTime;

const LOCKS: usize = 3;

/// The keys of several locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Locks([LockState; LOCKS]);

#[derive(Clone, Debug)]
enum Action {
    /// Bit i of `of` says that lock i is one of them.
    AcquireAll {
        of: u8,
        owner: u8,
        lease_ms: u64,
        token_ttl_ms: Option<u64>,
        jumps: bool,
        late: bool,
    },
    ReleaseAll {
        of: u8,
        owner: u8,
        rejoin: bool,
    },
    Acquire {
        at: usize,
        owner: u8,
        waits: bool,
    },
    Release {
        at: usize,
        owner: u8,
    },
    Cancel {
        at: usize,
        client: u8,
    },
    /// A Redisson client's hold, or a writer's of a read-write lock.
    Hold {
        at: usize,
        mode: bool,
    },
    /// An object of another kind, such as a latch.
    Other {
        at: usize,
    },
    Token {
        at: usize,
        value: &'static str,
    },
    Delete {
        at: usize,
        what: u8,
    },
    Listens {
        client: u8,
        listens: bool,
    },
}

fn objects(name: &ObjectName) -> [ObjectName; LOCKS] {
    std::array::from_fn(|at| ObjectName::new("", &format!("{}-{at}", name.as_str())).unwrap())
}

fn among(of: u8) -> impl Iterator<Item = usize> {
    (0..LOCKS).filter(move |at| of & (1 << at) != 0)
}

/// Several locks together: what each member asks, by its place.
#[derive(Clone)]
struct Together<S>(Vec<(usize, S)>);

impl<S: BatchStep<State = LockState>> Together<S> {
    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        let objects = objects(name);
        self.0.iter().for_each(|(at, step)| step.encode(&objects[*at], attempt, call));
    }
}

macro_rules! together {
    ($step:ty, $reply:ty, |$all:ident, $names:ident, $attempt:ident, $locks:ident, $now:ident, $outbox:ident| $apply:expr) => {
        impl Step for Together<$step> {
            type State = Locks;
            type Reply = Vec<$reply>;

            const OP: &'static str = <$step>::OP;
            const IDEMPOTENT: bool = true;

            fn apply(
                &self,
                name: &ObjectName,
                $attempt: Attempt,
                $locks: &mut Locks,
                $now: ServerTime,
                $outbox: &mut Outbox<'_>,
            ) -> Result<Vec<$reply>, WrongType> {
                let ($all, $names) = (&self.0, objects(name));
                $apply
            }

            fn script() -> &'static Script {
                <$step>::script()
            }

            fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
                Together::encode(self, name, attempt, call);
            }

            fn decode(reply: Reply) -> Result<Vec<$reply>, Malformed> {
                <$step>::decode_each(reply)
            }
        }
    };
}

together!(AcquireAll, Joint, |all, names, attempt, locks, now, outbox| {
    let items: Vec<_> = all.iter().map(|(at, step)| (names[*at].clone(), step.clone())).collect();
    let mut states: Vec<_> = all.iter().map(|(at, _)| locks.0[*at].clone()).collect();
    let replies = AcquireAll::apply_jointly(&items, attempt, &mut states, now, outbox);
    for ((at, _), state) in all.iter().zip(states) {
        locks.0[*at] = state;
    }
    Ok(replies)
});

together!(ReleaseAll, Released, |all, names, attempt, locks, now, outbox| {
    all.iter().map(|(at, step)| step.apply(&names[*at], attempt, &mut locks.0[*at], now, outbox)).collect()
});

/// A step of one of the locks.
#[derive(Clone)]
struct On<S>(usize, S);

impl<S: Step<State = LockState>> Step for On<S> {
    type State = Locks;
    type Reply = S::Reply;

    const OP: &'static str = S::OP;
    const IDEMPOTENT: bool = S::IDEMPOTENT;

    fn apply(
        &self,
        name: &ObjectName,
        attempt: Attempt,
        locks: &mut Locks,
        now: ServerTime,
        outbox: &mut Outbox<'_>,
    ) -> Result<S::Reply, WrongType> {
        self.1.apply(&objects(name)[self.0], attempt, &mut locks.0[self.0], now, outbox)
    }

    fn script() -> &'static Script {
        S::script()
    }

    fn encode(&self, name: &ObjectName, attempt: Attempt, call: &mut Call) {
        self.1.encode(&objects(name)[self.0], attempt, call);
    }

    fn decode(reply: Reply) -> Result<S::Reply, Malformed> {
        S::decode(reply)
    }
}

impl Expires for Locks {
    fn expire(&mut self, now: ServerTime) -> bool {
        let gone = self.0.each_mut().map(|lock| lock.expire(now));
        gone == [true; LOCKS]
    }
}

impl State for Locks {
    const ACCESS: &'static str = LockState::ACCESS;

    fn main_key(name: &ObjectName) -> String {
        LockState::main_key(name)
    }

    fn exchange(&mut self, keys: &mut SharedKeys) {
        self.0[0].exchange(keys);
    }
}

fn actions() -> impl Strategy<Value = (Action, i64)> {
    let (of, at, owner) = (1..1u8 << LOCKS, 0..LOCKS, 0..2 * CLIENTS);
    let leases = prop_oneof![Just(100u64), Just(1_000), Just(30_000)];
    let token_ttl = prop_oneof![Just(None), Just(Some(1_000)), Just(Some(3_600_000))];
    let late = prop::bool::weighted(0.05);
    let values = prop_oneof![Just("7"), Just("1767232800000000"), Just("9007199254740991"), Just("0x10"), Just("")];
    let action = prop_oneof![
        8 => (of.clone(), owner.clone(), leases, token_ttl, any::<bool>(), late).prop_map(|(of, owner, lease_ms, token_ttl_ms, jumps, late)| Action::AcquireAll { of, owner, lease_ms, token_ttl_ms, jumps, late }),
        4 => (of, owner.clone(), any::<bool>()).prop_map(|(of, owner, rejoin)| Action::ReleaseAll { of, owner, rejoin }),
        4 => (at.clone(), owner.clone(), prop::bool::weighted(0.8)).prop_map(|(at, owner, waits)| Action::Acquire { at, owner, waits }),
        3 => (at.clone(), owner).prop_map(|(at, owner)| Action::Release { at, owner }),
        1 => (at.clone(), 0..CLIENTS).prop_map(|(at, client)| Action::Cancel { at, client }),
        1 => (at.clone(), any::<bool>()).prop_map(|(at, mode)| Action::Hold { at, mode }),
        1 => at.clone().prop_map(|at| Action::Other { at }),
        1 => (at.clone(), values).prop_map(|(at, value)| Action::Token { at, value }),
        2 => (at, 0..3u8).prop_map(|(at, what)| Action::Delete { at, what }),
        1 => (0..CLIENTS, any::<bool>()).prop_map(|(client, listens)| Action::Listens { client, listens }),
    ];
    let pause_us = prop_oneof![4 => 0..2_000i64, 2 => Just(100_000), 2 => Just(1_000_000), 1 => Just(31_000_000), 1 => Just(2_600_000), 1 => Just(-1_500_000)];
    (action, pause_us)
}

impl Model for Locks {
    type Action = Action;

    fn act(pair: &mut Pair<Locks>, action: &Action) {
        let ms = Duration::from_millis;
        let object = |pair: &Pair<Locks>, at: usize| objects(&pair.name)[at].clone();
        match action {
            Action::AcquireAll { of, owner: number, lease_ms, token_ttl_ms, jumps, late } => {
                let (lease, token_ttl) = (ms(*lease_ms), token_ttl_ms.map(ms));
                let one = |at| Acquire { owner: of_lock(*number, at), lease, token_ttl, block: 1, waits: false };
                let step = |at| (at, AcquireAll { one: one(at), jumps: *jumps });
                pair.step(&Together(among(*of).map(step).collect()), *late);
            }
            Action::ReleaseAll { of, owner: number, rejoin } => {
                let step = |at| (at, ReleaseAll(Release { owner: of_lock(*number, at), rejoin: *rejoin }));
                pair.step(&Together(among(*of).map(step).collect()), false);
            }
            Action::Acquire { at, owner: number, waits } => {
                let (owner, lease, token_ttl) = (of_lock(*number, *at), ms(1_000), Some(ms(60_000)));
                pair.step(&On(*at, Acquire { owner, lease, token_ttl, block: 1, waits: *waits }), false);
            }
            Action::Release { at, owner: number } => {
                pair.step(&On(*at, Release { owner: of_lock(*number, *at), rejoin: false }), false);
            }
            Action::Cancel { at, client: number } => {
                pair.step(&On(*at, Cancel { client: client(*number) }), false);
            }
            Action::Hold { at, mode } => {
                let (holder, ends) = ("6e3814a1-e847-452b-a982-45baf93a1df2:1", pair.deadline(Some(500)));
                let main = match mode {
                    true => MainKey::of_fields([("mode", "write"), (holder, "1")], ends),
                    false => MainKey::of_fields([(holder, "1")], ends),
                };
                set_main(pair, *at, main);
            }
            Action::Other { at } => {
                let main = MainKey::of_text("3".to_owned(), pair.deadline(Some(500)));
                set_main(pair, *at, main);
            }
            Action::Token { at, value } => {
                pair.command(&["SET", &object(pair, *at).companion(TOKEN), value]);
                pair.state.0[*at].token = Some(Text { value: (*value).to_owned(), deadline: None });
            }
            Action::Delete { at, what } => {
                let (name, lock) = (object(pair, *at), &mut pair.state.0[*at]);
                let key = match what {
                    0 => {
                        lock.main.delete();
                        name.as_str().to_owned()
                    }
                    1 => {
                        lock.token = None;
                        name.companion(TOKEN)
                    }
                    _ => {
                        lock.queue.entries.clear();
                        name.companion(step::QUEUE.queue)
                    }
                };
                pair.command(&["DEL", &key]);
            }
            Action::Listens { client: number, listens } => pair.listen(&inbox(&client(*number)), *listens),
        }
    }

    fn channels(name: &ObjectName) -> Vec<String> {
        let inboxes = (0..CLIENTS).map(|number| inbox(&client(number)));
        inboxes.chain(objects(name).iter().map(step::channel)).collect()
    }

    fn objects(name: &ObjectName) -> Vec<ObjectName> {
        objects(name).into()
    }

    fn read_back(pair: &mut Pair<Locks>) -> Locks {
        let name = pair.name.clone();
        let locks = objects(&name).map(|object| {
            pair.name = object;
            read_lock(pair)
        });
        pair.name = name;
        Locks(locks)
    }
}

/// Has the key of one of the locks hold this.
fn set_main(pair: &mut Pair<Locks>, at: usize, main: MainKey) {
    let one = objects(&pair.name)[at].clone();
    let name = std::mem::replace(&mut pair.name, one);
    pair.write_main(&main);
    pair.name = name;
    pair.state.0[at].main = main;
}

/// An owner of its own for each lock, as an acquire of several has.
fn of_lock(number: u8, at: usize) -> String {
    format!("{}{at}", owner(number))
}

#[test]
fn the_scripts_do_what_the_specification_does() {
    drive::<Locks>(Sequences::normal(), actions());
}

#[test]
#[ignore = "long: make check-long"]
fn the_scripts_do_what_the_specification_does_for_long() {
    drive::<Locks>(Sequences::long(), actions());
}
