//! What a limiter of Redisson promises, checked on its specification against a model of another make: a plain list of what was
//! granted. (`model_test.rs` shows that the script does what the specification does.)

use proptest::prelude::*;

use super::log::member;
use super::step::{Acquire, Judged, RedissonState, Verdict};
use super::terms::Terms;
use crate::name::ObjectName;
use crate::step::{Attempt, Expires, Outbox, Step};
use crate::time::ServerTime;

/// 2026-01-01, in us.
const START: u64 = 1_767_225_600_000_000;

/// The limiter as its specification has it, at a time of its own, and its clients.
#[derive(Clone)]
struct Limiter {
    terms: Terms,
    state: RedissonState,
    now: u64,
    /// How many acquires there were, for their random parts.
    acquires: u64,
    settled: Option<Terms>,
}

impl Limiter {
    fn new(terms: Terms) -> Limiter {
        Limiter { terms, state: RedissonState::default(), now: START, acquires: 0, settled: None }
    }

    fn random(&mut self) -> [u8; 16] {
        self.acquires += 1;
        format!("{:016}", self.acquires).into_bytes().try_into().unwrap()
    }

    fn ask(&mut self, permits: u32) -> Judged {
        let (name, now, random) = (ObjectName::new("", "any").unwrap(), ServerTime(self.now), self.random());
        self.state.expire(now);
        let step = Acquire { terms: self.terms, permits, random, client: "client".to_owned(), settled: self.settled };
        let judged =
            step.apply(&name, Attempt { not_after: now }, &mut self.state, now, &mut Outbox::new(&|_| false)).unwrap();
        if permits > 0 {
            self.settled = Some(judged.terms);
        }
        judged
    }

    /// As a client of Redisson does it whose clock is ahead: what is available goes down, and the log has a time to come.
    fn acquire_as_redisson(&mut self, permits: u32, ahead_ms: u64) -> bool {
        // Redisson's own scripts sweep by the client's clock, which loses what others have acquired. This client finds out with
        // ours, and its script finds nothing that is over.
        let random = self.random();
        let score = self.now / 1_000 + ahead_ms;
        let available = self.ask(0).available;
        let Some(bucket) = self.state.buckets.get_mut("") else { return false };
        let Some(value) = bucket.value.as_mut().filter(|_| available >= u64::from(permits)) else { return false };
        value.value = (value.value.parse::<i64>().unwrap() - i64::from(permits)).to_string();
        bucket.log.add(score, member(random, permits));
        true
    }
}

fn terms() -> impl Strategy<Value = Terms> {
    let permits = prop_oneof![1..12u64, 30..120u64];
    (permits, 1..3_000u64, any::<bool>()).prop_map(|(permits, interval_ms, per_client)| Terms {
        permits,
        interval_ms,
        per_client,
    })
}

/// Pauses in us, and permits.
fn calls() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let pause = prop_oneof![Just(0), 0..100u64, 0..20_000u64, 0..3_000_000u64];
    prop::collection::vec((pause, prop_oneof![Just(1u32), 0..200u32]), 1..150)
}

/// Whether any interval holds more than the rate, of `(us, permits)` in order.
fn overfull(terms: Terms, grants: &[(u64, u64)]) -> Option<u64> {
    (0..grants.len()).find_map(|first| {
        let end = grants[first].0 + terms.interval_ms * 1_000;
        let sum = grants[first..].iter().take_while(|(at, _)| *at < end).map(|(_, permits)| permits).sum::<u64>();
        (sum > terms.permits).then_some(sum)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_is_that_of_the_exact_log(terms in terms(), calls in calls()) {
        let mut limiter = Limiter::new(terms);
        let mut log: Vec<(u64, u64)> = Vec::new();
        for (pause, some) in calls {
            limiter.now += pause;
            let permits = some % (terms.permits as u32 + 1);
            // In ms: an acquire counts as one of the next, and is over an interval after it.
            log.retain(|(at, _)| at + terms.interval_ms > limiter.now / 1_000);
            let free = terms.permits - log.iter().map(|(_, permits)| permits).sum::<u64>();
            let need = u64::from(permits.max(1));
            let judged = limiter.ask(permits);
            prop_assert_eq!(judged.verdict == Verdict::Granted, free >= need);
            let mut left = free;
            if judged.verdict == Verdict::Granted {
                log.push((limiter.now.div_ceil(1_000), permits.into()));
                log.retain(|(_, permits)| *permits > 0);
                left -= u64::from(permits);
                prop_assert_eq!(judged.due_ms, 0);
            } else {
                let mut then = free;
                let due = log.iter().find(|(_, permits)| { then += permits; then >= need }).unwrap().0;
                prop_assert_eq!(judged.due_ms, due + terms.interval_ms);
            }
            prop_assert_eq!(judged.available, left);
            prop_assert_eq!(judged.full_ms, log.last().map_or(0, |(at, _)| at + terms.interval_ms));
            prop_assert_eq!(judged.terms, terms);
        }
    }

    /// To the microsecond, although Redisson's times are in ms.
    #[test]
    fn no_interval_holds_more_than_the_rate(terms in terms(), calls in calls()) {
        let mut limiter = Limiter::new(terms);
        let mut grants = Vec::new();
        for (pause, some) in calls {
            limiter.now += pause;
            let permits = 1 + some % terms.permits as u32;
            if limiter.ask(permits).verdict == Verdict::Granted {
                grants.push((limiter.now, permits.into()));
            }
        }
        prop_assert_eq!(overfull(terms, &grants), None);
    }

    /// By a clock that goes on whatever happens to the server's: a step back takes no time, and one forward takes as long as it
    /// is. Also with clients of Redisson whose clocks are ahead.
    #[test]
    fn steps_of_clocks_grant_nothing_twice(
        terms in terms(),
        calls in prop::collection::vec(
            (prop_oneof![4 => 0..100_000i64, 1 => -5_000_000..0i64, 1 => 0..5_000_000i64], 0..200u32, prop::option::of(0..10_000u64)),
            1..150,
        ),
    ) {
        let terms = Terms { per_client: false, ..terms };
        let mut limiter = Limiter::new(terms);
        let mut grants: Vec<(u64, u64)> = Vec::new();
        let mut passed = START;
        for (shift, some, ahead_ms) in calls {
            limiter.now = limiter.now.saturating_add_signed(shift);
            passed += shift.max(0) as u64;
            let permits = 1 + some % terms.permits as u32;
            let granted = match ahead_ms {
                None => limiter.ask(permits).verdict == Verdict::Granted,
                Some(ahead_ms) => limiter.acquire_as_redisson(permits, ahead_ms),
            };
            if granted {
                grants.push((passed, permits.into()));
            }
        }
        prop_assert_eq!(overfull(terms, &grants), None);
    }

    #[test]
    fn a_clock_set_back_locks_nobody_out_beyond_an_interval(
        terms in terms(),
        calls in calls(),
        back in 1..7_200_000_000u64,
        ahead_ms in 0..1_000_000_000_000u64,
    ) {
        let terms = Terms { per_client: false, ..terms };
        let mut limiter = Limiter::new(terms);
        for (pause, some) in calls {
            limiter.now += pause;
            limiter.ask(1 + some % terms.permits as u32);
            limiter.acquire_as_redisson(1, ahead_ms);
        }
        limiter.now -= back;
        let all = terms.permits as u32;
        let judged = limiter.ask(all);
        if judged.verdict == Verdict::Refused {
            // It is refused until then by what it has found, and by nothing later.
            prop_assert!(judged.full_ms <= limiter.now.div_ceil(1_000) + terms.interval_ms);
            limiter.now = judged.full_ms * 1_000;
            prop_assert_eq!(limiter.ask(all).verdict, Verdict::Granted);
        }
    }

    #[test]
    fn what_is_due_is_granted_then_and_no_sooner(terms in terms(), calls in calls()) {
        let mut limiter = Limiter::new(terms);
        for (pause, some) in calls {
            limiter.now += pause;
            let permits = 1 + some % terms.permits as u32;
            let judged = limiter.ask(permits);
            if judged.verdict == Verdict::Refused {
                let mut early = limiter.clone();
                early.now = judged.due_ms * 1_000 - 1;
                prop_assert!(early.now < limiter.now || early.ask(permits).verdict == Verdict::Refused);
                let mut due = limiter.clone();
                due.now = judged.due_ms * 1_000;
                prop_assert_eq!(due.ask(permits).verdict, Verdict::Granted);
            }
        }
    }

    /// What is stored is what Redisson's scripts rest on.
    #[test]
    fn the_stored_number_is_the_rate_less_the_log(terms in terms(), calls in calls()) {
        let mut limiter = Limiter::new(terms);
        for (pause, some) in calls {
            limiter.now += pause;
            limiter.ask(some % (terms.permits as u32 + 1));
            for bucket in limiter.state.buckets.values().filter(|bucket| bucket.value.is_some()) {
                let used: u64 = bucket.log.0.value.iter().map(|(_, member)| u64::from(u32::from_le_bytes(member[17..].try_into().unwrap()))).sum();
                prop_assert_eq!(bucket.value.as_ref().unwrap().value.clone(), (terms.permits - used).to_string());
            }
        }
    }

    #[test]
    fn another_rate_counts_from_the_next_call(terms in terms(), other in terms(), calls in calls()) {
        let other = Terms { per_client: terms.per_client, interval_ms: terms.interval_ms, ..other };
        let mut limiter = Limiter::new(terms);
        let mut log: Vec<(u64, u64)> = Vec::new();
        let half = calls.len() / 2;
        for (at, (pause, some)) in calls.into_iter().enumerate() {
            limiter.now += pause;
            if at == half && let Some(fields) = limiter.state.main.fields_mut() {
                fields.insert("rate".to_owned(), other.permits.to_string());
            }
            log.retain(|(at, _)| at + terms.interval_ms > limiter.now / 1_000);
            let used = log.iter().map(|(_, permits)| *permits).sum::<u64>();
            let permits = 1 + some % terms.permits.min(other.permits) as u32;
            let judged = limiter.ask(permits);
            prop_assert_eq!(judged.verdict == Verdict::Granted, used + u64::from(permits) <= judged.terms.permits);
            if judged.verdict == Verdict::Granted {
                log.push((limiter.now.div_ceil(1_000), permits.into()));
            }
        }
    }
}

#[test]
fn more_than_the_rate_is_neither_granted_nor_charged() {
    let mut limiter = Limiter::new(Terms { permits: 5, interval_ms: 1_000, per_client: false });
    assert_eq!(limiter.ask(6).verdict, Verdict::TooMany);
    assert_eq!(limiter.state, RedissonState::default());
    assert_eq!(limiter.ask(5).verdict, Verdict::Granted);
}
