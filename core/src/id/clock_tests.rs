//! A generator follows the wall clock: slowly, never back, and never with a duplicate.

use std::sync::{Arc, Barrier};
use std::time::Duration;

use proptest::prelude::*;

use super::identity::Identities;
use super::timeline::tests::Stepped;
use super::timeline::{NANOS_PER_MS, Timeline};
use super::watch::Watch;
use super::*;

const NOW_MS: u64 = 1_785_000_000_000;
const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

fn generators<const N: usize>(clocks: &Arc<Stepped>, borrow: [Duration; N]) -> [Snowflake; N] {
    let identities = Box::leak(Box::new(Identities::default()));
    borrow.map(|borrow| {
        let builder = Snowflake::builder(1, 1).borrow_ahead(borrow);
        builder.build_in(identities, clocks.machine()).unwrap()
    })
}

fn generator(clocks: &Arc<Stepped>) -> Snowflake {
    let [ids] = generators(clocks, [Duration::ZERO]);
    ids
}

/// By how many ms the time in a new id is ahead of the wall clock.
fn ahead_ms(ids: &Snowflake, clocks: &Stepped) -> i64 {
    let time_ms = ids.decode(ids.next_id().unwrap()).unwrap().time_ms;
    time_ms - (clocks.wall() / NANOS_PER_MS) as i64
}

/// Lets time pass while the wall clock drifts from the monotonic one by so many millionths.
fn pass(clocks: &Stepped, time: Duration, ppm: i64) {
    clocks.pass(time);
    clocks.drift(time.as_micros() as i64 * ppm / 1_000);
}

#[test]
fn a_day_of_drift_leaves_10_ms_at_most() {
    for ppm in [100, -100, 400, -400] {
        let clocks = Stepped::at_ms(NOW_MS);
        let ids = generator(&clocks);
        let (mut last, mut farthest) = (0, 0);
        let each = Duration::from_millis(1_700);
        for _ in 0..DAY.as_millis() / each.as_millis() {
            pass(&clocks, each, ppm);
            let id = ids.next_id().unwrap();
            assert!(id > last);
            last = id;
            farthest = farthest.max(ahead_ms(&ids, &clocks).abs());
        }
        assert!(farthest <= 10, "{farthest} ms at {ppm} ppm");
    }
}

#[test]
fn a_generator_that_makes_one_id_an_hour_keeps_up_with_a_drift() {
    for ppm in [100, -100] {
        let clocks = Stepped::at_ms(NOW_MS);
        let ids = generator(&clocks);
        for _ in 0..24 {
            pass(&clocks, HOUR, ppm);
            assert!(ahead_ms(&ids, &clocks).abs() <= 1, "{ppm} ppm");
        }
    }
}

#[test]
fn a_step_of_the_wall_clock_is_followed_at_500_ppm() {
    for step_ms in [-1_000, 1_000, -3_600_000, 3_600_000] {
        let clocks = Stepped::at_ms(NOW_MS);
        let ids = generator(&clocks);
        clocks.step_wall_ms(step_ms);
        assert_eq!(ahead_ms(&ids, &clocks), -step_ms);
        for seconds in 1..=1_000 {
            clocks.pass(Duration::from_secs(1));
            // Half a millisecond a second.
            let left = step_ms - step_ms.signum() * seconds / 2;
            assert!((ahead_ms(&ids, &clocks) + left).abs() <= 1, "after {seconds} s");
        }
        let days = (step_ms.abs() as f64 / 1_000.0 / 500e-6 / DAY.as_secs_f64()).ceil() as u64;
        for _ in 0..days * 24 {
            clocks.pass(HOUR);
            ids.next_id().unwrap();
        }
        assert!(ahead_ms(&ids, &clocks).abs() <= 1, "after {days} days");
        assert!(days <= 84, "83 days and a third, as the documentation says");
    }
}

#[test]
fn an_interrupted_look_moves_nothing() {
    for stall in [10, 90, 5_000].map(Duration::from_millis) {
        let clocks = Stepped::at_ms(NOW_MS);
        let timeline = Timeline::start(clocks.machine());
        let watch = Watch::start(timeline.now_ms());
        clocks.pass(Duration::from_secs(1_000));
        // Between the readings that a look compares.
        clocks.stall_once(stall);
        assert_eq!(watch.look(&timeline), None);
        assert_eq!(timeline.now(), clocks.wall(), "{stall:?}");
    }
}

#[test]
fn a_look_is_once_a_second_and_one_threads() {
    let clocks = Stepped::at_ms(NOW_MS);
    let timeline = Timeline::start(clocks.machine());
    let watch = Watch::start(timeline.now_ms());
    clocks.step_wall_ms(-60_000);
    clocks.pass(Duration::from_millis(999));
    assert_eq!((watch.look(&timeline), watch.due_ms()), (None, NOW_MS + 1_000));
    clocks.pass(Duration::from_millis(1));
    assert!(watch.look(&timeline).unwrap().contains("60s ahead"));
    // It moved the time half a millisecond back.
    assert_eq!((watch.due_ms(), timeline.now()), (NOW_MS + 1_999, (NOW_MS + 1_000) * NANOS_PER_MS - 500_000));
    assert_eq!(watch.look(&timeline), None, "a thread that waited for the look");
    assert_eq!(timeline.now(), (NOW_MS + 1_000) * NANOS_PER_MS - 500_000);
}

/// All that may be borrowed is used up just before the time is moved back.
#[test]
fn a_time_moved_back_is_no_clock_that_went_back() {
    let clocks = Stepped::at_ms(NOW_MS);
    let [careful, borrowing] = generators(&clocks, [Duration::ZERO, MAX_BORROW]);
    clocks.step_wall_ms(-3_600_000);
    let mut last = 0;
    for _ in 0..3_000 {
        // To the end of the second after a look, and what it and the borrowed time have.
        clocks.pass(Duration::from_micros(1_000_250));
        let first = careful.next_id().unwrap();
        clocks.pass(Duration::from_micros(999_800));
        let batch = borrowing.next_ids(11 * 4_096).unwrap();
        clocks.pass(Duration::from_micros(700));
        let begun = clocks.passed();
        let next = careful.next_id().unwrap();
        assert!(last < first && first < batch[0] && batch[batch.len() - 1] < next);
        assert!(clocks.passed() - begun <= MAX_BORROW + Duration::from_millis(2));
        last = next;
    }
}

/// The first ids after an hour without any: the time moves by more than a second, for all threads at once.
#[test]
fn threads_that_meet_a_large_shift_wait_for_it() {
    const THREADS: usize = 4;
    for _ in 0..100 {
        let clocks = Stepped::at_ms(NOW_MS);
        let ids = generator(&clocks);
        ids.next_id().unwrap();
        clocks.step_wall_ms(-3_600_000);
        clocks.pass(HOUR);
        let start = Barrier::new(THREADS);
        let mut all: Vec<i64> = std::thread::scope(|scope| {
            let each = || {
                start.wait();
                (0..200).map(|_| ids.next_id().unwrap()).collect::<Vec<_>>()
            };
            let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(each)).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
        let behind_ms = 3_600_000 * 500 / 1_000_000;
        let shown: Vec<i64> = all.iter().map(|id| ids.decode(*id).unwrap().time_ms - NOW_MS as i64).collect();
        assert!(shown.iter().all(|ms| *ms == 3_600_000 - behind_ms), "{:?} to {:?}", shown.first(), shown.last());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever the wall clock does, and whoever borrows.
    #[test]
    fn ids_grow_whatever_the_wall_clock_does(
        turns in prop::collection::vec((0_u64..3_000, -2_000_i64..2_000, -500_i64..500, 1_usize..50_000, any::<bool>()), 1..40),
    ) {
        let clocks = Stepped::at_ms(NOW_MS);
        let both = generators(&clocks, [Duration::ZERO, MAX_BORROW]);
        let mut last = 0;
        for (time_ms, step_ms, ppm, count, borrows) in turns {
            pass(&clocks, Duration::from_millis(time_ms), ppm);
            if step_ms % 3 == 0 {
                clocks.step_wall_ms(step_ms);
            }
            let ids = both[usize::from(borrows)].next_ids(count).unwrap();
            prop_assert!(ids[0] > last && ids.windows(2).all(|pair| pair[0] < pair[1]));
            last = ids[count - 1];
        }
    }
}
