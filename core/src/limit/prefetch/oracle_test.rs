//! What prefetching keeps of the limiter's promise, on the specification of the steps: every use is looked at by the time at
//! which it really happens, whatever the clocks of the clients show.

use proptest::prelude::*;

use super::super::rate::Rate;
use super::super::step::{Fetch, Fetched, Judge, LimitState, PutBack, Wanted};
use super::super::tat::{Span, since_2025};
use super::stretch::Stretches;
use crate::name::ObjectName;
use crate::step::{Attempt, Expires, Outbox, Step};
use crate::time::{ServerTime, Tick};

/// 2026-01-01, in us.
const START: u64 = 1_767_225_600_000_000;

struct World {
    rate: Rate,
    state: LimitState,
    /// In us.
    now: u64,
    clients: Vec<Client>,
    /// What was used: from when on, and how much, both in parts.
    uses: Vec<(u128, u128)>,
}

/// With a clock that is too fast or too slow by so many thousandths.
struct Client {
    thousandths: u64,
    stretches: Stretches,
}

impl World {
    fn new(rate: Rate, clocks: &[u64]) -> World {
        rate.check().unwrap();
        let client = |thousandths: &u64| Client { thousandths: *thousandths, stretches: Stretches::default() };
        let clients = clocks.iter().map(client).collect();
        World { rate, state: LimitState::default(), now: START, clients, uses: Vec::new() }
    }

    fn run<S: Step<State = LimitState>>(&mut self, step: &S) -> S::Reply {
        let (name, now) = (ObjectName::new("", "any").unwrap(), ServerTime(self.now));
        self.state.expire(now);
        step.apply(&name, Attempt { not_after: now }, &mut self.state, now, &mut Outbox::new(&|_| false)).unwrap()
    }

    fn parts(&self) -> u128 {
        u128::from(since_2025(ServerTime(self.now))) * u128::from(self.rate.unit())
    }

    fn tick(&self, client: usize) -> Tick {
        Tick((self.now - START) * self.clients[client].thousandths)
    }

    fn used(&mut self, cost: u64) {
        self.uses.push((self.parts(), self.rate.work(cost)));
    }

    fn fetch(&mut self, client: usize, cost: u64, wanted: Wanted, ways: [u64; 2]) -> Fetched {
        let sent = self.tick(client);
        self.now += ways[0];
        let fetched = self.run(&Fetch::new(self.rate, cost, wanted));
        if fetched.granted {
            self.used(cost);
        }
        self.now += ways[1];
        if fetched.granted {
            let (heard, work) = (self.tick(client), self.rate.work(cost) as u64);
            self.clients[client].stretches.put(self.rate, &fetched, work, sent, heard);
        }
        fetched
    }

    fn take(&mut self, client: usize, cost: u64) -> bool {
        let (now, work) = (self.tick(client), self.rate.work(cost) as u64);
        let taken = self.clients[client].stretches.take(self.rate, work, now);
        if taken {
            self.used(cost);
        }
        taken
    }

    fn put_back(&mut self, client: usize, way: u64) -> bool {
        let Some(last) = self.clients[client].stretches.take_last() else { return true };
        let step = PutBack::new(self.rate, u128::from(last.unused()), last.tat());
        self.now += way;
        let given = self.run(&step);
        if !given {
            self.clients[client].stretches.put_again(last);
        }
        given
    }

    /// How far ahead the theoretical arrival time is, in parts.
    fn ahead(&mut self) -> u128 {
        let [us, part, _] = self.run(&Judge::new(&self.rate.into(), 0)).standings[0];
        Span { us, part }.work(self.rate.unit()) - self.parts()
    }
}

fn rates() -> impl Strategy<Value = Rate> {
    use std::time::Duration;
    (1..2_000u64, 1..5_000_000u64, 1..60u64)
        .prop_map(|(tokens, us, burst)| Rate::new(tokens, Duration::from_micros(us)).burst(burst))
}

type Call = (u64, usize, u8, u64, (u64, u64, u64), [u64; 2]);

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let pause = prop_oneof![Just(0), 0..100u64, 0..20_000u64, 0..400_000u64];
    let way = || prop_oneof![Just(0), 0..300u64, 0..30_000u64];
    let wanted = (0..180u64, prop_oneof![Just(0), 0..200_000u64], 0..180u64);
    prop::collection::vec((pause, 0..3usize, 0..12u8, 0..60u64, wanted, [way(), way()]), 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_interval_holds_too_much_whoever_uses_what_and_when(
        rate in rates(), clocks in [920..=1080u64, 920..=1080u64, 920..=1080u64], calls in calls(),
    ) {
        let mut world = World::new(rate, &clocks);
        for (pause, client, what, some, (wanted, lasting_us, most), ways) in calls {
            world.now += pause;
            let cost = 1 + some % rate.limit();
            match what {
                0 | 1 => {
                    let [work, most] = [wanted, most].map(|thirds| rate.work(thirds % (3 * rate.limit())) / 3);
                    world.fetch(client, cost, Wanted { work, lasting_us, most }, ways);
                }
                2 => {
                    world.put_back(client, ways[0]);
                }
                3 if world.run(&Judge::new(&rate.into(), cost)).allowed => world.used(cost),
                4 => {
                    let judged = world.run(&Judge::new(&rate.into(), cost).within(std::time::Duration::from_micros(lasting_us)));
                    if judged.allowed {
                        let [us, part, _] = judged.standings[0];
                        let due = Span { us, part }.work(rate.unit()).saturating_sub(rate.work(rate.limit()));
                        world.uses.push((due.max(world.parts()), rate.work(cost)));
                    }
                }
                _ => {
                    world.take(client, 1 + some % rate.limit().min(4));
                }
            }
        }
        world.uses.sort_unstable();
        for (i, (from, _)) in world.uses.iter().enumerate() {
            let mut sum = 0;
            for (to, work) in &world.uses[i..] {
                sum += work;
                prop_assert!(sum <= rate.work(rate.limit()) + (to - from), "{sum} parts in {}", to - from);
            }
        }
    }

    /// The bucket is as if only what was used had been charged.
    #[test]
    fn what_is_put_back_was_never_taken(rate in rates(), cost in 1..60u64, wanted in 0..180u64, takes in 0..60u64) {
        let mut world = World::new(rate, &[1000]);
        let cost = 1 + cost % rate.limit();
        let work = rate.work(wanted % (3 * rate.limit())) / 3;
        world.fetch(0, cost, Wanted { work, lasting_us: 0, most: u128::MAX }, [0, 0]);
        for _ in 0..takes {
            world.take(0, 1);
        }
        prop_assert!(world.put_back(0, 0));
        let used: u128 = world.uses.iter().map(|(_, work)| work).sum();
        prop_assert_eq!(world.ahead(), used);
    }
}

/// Nobody passes by what others have behind it.
#[test]
fn what_has_others_behind_it_stays_charged() {
    let rate = Rate::new(10, std::time::Duration::from_secs(1));
    let mut world = World::new(rate, &[1000, 1000]);
    let wanted = Wanted { work: rate.work(5), lasting_us: 0, most: rate.work(5) };
    assert!(world.fetch(0, 1, wanted, [0, 0]).granted);
    assert!(world.fetch(1, 1, wanted, [0, 0]).granted);
    assert!(!world.put_back(0, 0) && world.ahead() == rate.work(10));
    assert!(world.put_back(1, 0) && world.ahead() == rate.work(6));
    assert!(world.take(0, 4), "it is still there");
}

/// A stretch is used for a second at most, however far ahead it lies.
#[test]
fn nothing_is_used_after_a_second() {
    let rate = Rate::new(10, std::time::Duration::from_secs(1)).burst(1_000);
    let mut world = World::new(rate, &[1000]);
    assert!(world.run(&Judge::new(&rate.into(), 900)).allowed);
    assert!(world.fetch(0, 1, Wanted { work: rate.work(9), lasting_us: 0, most: rate.work(9) }, [0, 0]).granted);
    world.now += 999_999;
    assert!(world.take(0, 1));
    world.now += 1;
    assert!(!world.take(0, 1));
}
