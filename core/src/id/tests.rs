//! The promises of a generator: never a duplicate, never backwards, whatever the clock does.

use std::collections::HashSet;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use super::identity::{Identities, MAX_IDLE};
use super::timeline::tests::Stepped;
use super::*;
use crate::error::{Error, ErrorKind, Result};

pub(super) fn vectors(table: &str) -> Vec<serde_json::Value> {
    let vectors: serde_json::Value =
        serde_json::from_str(include_str!("../../../tests/vectors/snowflake.json")).unwrap();
    vectors[table].as_array().unwrap().clone()
}

/// JSON's numbers end at 2^53, so ids are texts there.
pub(super) fn number(value: &serde_json::Value) -> i64 {
    value.as_str().unwrap().parse().unwrap()
}

const NOW_MS: u64 = 1_785_000_000_000;

/// A process of its own, with clocks that a test moves.
struct World {
    identities: &'static Identities,
    clocks: Arc<Stepped>,
}

impl World {
    fn new() -> World {
        World::at_ms(NOW_MS)
    }

    fn at_ms(unix_ms: u64) -> World {
        let identities = Box::leak(Box::new(Identities::default()));
        World { identities, clocks: Stepped::at_ms(unix_ms) }
    }

    fn build(&self, builder: SnowflakeBuilder) -> Result<Snowflake> {
        builder.build_in(self.identities, self.clocks.machine())
    }

    fn worker(&self, worker: u64) -> Snowflake {
        self.build(Snowflake::builder(1, worker)).unwrap()
    }
}

fn time_of(ids: &Snowflake, id: i64) -> u64 {
    ids.decode(id).unwrap().time_ms as u64
}

fn assert_unique_and_increasing(ids: &[i64]) {
    for pair in ids.windows(2) {
        assert!(pair[0] < pair[1], "{} came before {}", pair[0], pair[1]);
    }
}

fn says(error: &Error, kind: ErrorKind, words: &[&str]) {
    assert_eq!(error.kind(), kind, "{error}");
    for word in words {
        assert!(error.message().contains(word), "{word:?} is not in {error}");
    }
}

#[test]
fn an_id_says_when_where_and_by_whom() {
    let world = World::new();
    let ids = world.build(Snowflake::builder(3, 17)).unwrap();
    for sequence in 0..3 {
        let parts = ids.decode(ids.next_id().unwrap()).unwrap();
        assert_eq!(parts, Parts { time_ms: NOW_MS as i64, datacenter: 3, worker: 17, sequence });
    }
    world.clocks.pass(Duration::from_millis(1));
    let parts = ids.decode(ids.next_id().unwrap()).unwrap();
    assert_eq!((parts.time_ms, parts.sequence), (NOW_MS as i64 + 1, 0));
}

#[test]
fn a_used_up_millisecond_is_waited_for_and_nothing_is_borrowed() {
    let world = World::new();
    let ids = world.worker(1);
    let batch = ids.next_ids(4_096).unwrap();
    assert_unique_and_increasing(&batch);
    assert_eq!(time_of(&ids, batch[4_095]), NOW_MS);
    assert_eq!(world.clocks.passed(), Duration::ZERO);
    assert_eq!(time_of(&ids, ids.next_id().unwrap()), NOW_MS + 1);
    assert_eq!(world.clocks.passed(), Duration::from_millis(1));
}

#[test]
fn a_large_batch_takes_as_long_as_the_format_makes_it() {
    let world = World::new();
    let ids = world.worker(1);
    let batch = ids.next_ids(MAX_BATCH).unwrap();
    assert_unique_and_increasing(&batch);
    assert_eq!(world.clocks.passed(), Duration::from_millis(244)); // 244 full milliseconds and a little
    assert_eq!(time_of(&ids, batch[MAX_BATCH - 1]), NOW_MS + 244);
}

#[test]
fn borrowing_runs_ahead_as_far_as_it_may_and_then_waits() {
    let world = World::new();
    let ids = world.build(Snowflake::builder(1, 1).borrow_ahead(Duration::from_millis(3))).unwrap();
    assert_eq!(world.clocks.passed(), Duration::from_millis(4), "what a predecessor may have borrowed is past");
    ids.next_ids(4 * 4_096).unwrap();
    assert_eq!(world.clocks.passed(), Duration::from_millis(4));
    assert_eq!(time_of(&ids, ids.next_id().unwrap()), NOW_MS + 8);
    assert_eq!(world.clocks.passed(), Duration::from_millis(5));
    // Another of the same identity that does not borrow waits for what this one has used.
    let careful = world.worker(1);
    assert_eq!(time_of(&careful, careful.next_id().unwrap()), NOW_MS + 8);
    assert_eq!(world.clocks.passed(), Duration::from_millis(8));
}

/// Processes that follow one another at once, each with all that it can borrow: the clock hardly moves in between.
#[test]
fn a_restart_takes_no_slot_that_may_have_been_borrowed() {
    for borrow in [1, 5, 10].map(Duration::from_millis) {
        let clocks = Stepped::at_ms(NOW_MS);
        let mut last = 0;
        for _ in 0..40 {
            let identities = Box::leak(Box::new(Identities::default()));
            let process = World { identities, clocks: clocks.clone() };
            let ids = process.build(Snowflake::builder(1, 1).borrow_ahead(borrow)).unwrap();
            let made = ids.next_ids(3 * 4_096).unwrap();
            assert!(made[0] > last, "{borrow:?}");
            last = made[made.len() - 1];
        }
    }
}

#[test]
fn a_borrower_waits_for_its_bound_once_in_a_process() {
    let world = World::new();
    let careful = world.worker(1);
    assert_eq!(time_of(&careful, careful.next_id().unwrap()), NOW_MS);
    let borrowing = || world.build(Snowflake::builder(1, 1).borrow_ahead(MAX_BORROW)).unwrap();
    assert_eq!(time_of(&careful, borrowing().next_id().unwrap()), NOW_MS + 11);
    drop(careful);
    world.clocks.pass(Duration::from_millis(20));
    assert_eq!(time_of(&borrowing(), borrowing().next_id().unwrap()), NOW_MS + 31, "its first start is long past");
}

#[test]
fn a_clock_that_jumped_or_fell_back_is_told_once() {
    let world = World::new();
    let (told, hear) = std::sync::mpsc::channel();
    let sink = Arc::new(move |event: &crate::event::Event| _ = told.send(event.message.clone()));
    let ids = world.build(Snowflake::builder(1, 1).on_event(sink)).unwrap();
    let said = |pass_ms: u64| {
        let mut said = Vec::new();
        for _ in 0..3 {
            world.clocks.pass(Duration::from_millis(pass_ms));
            ids.next_id().unwrap();
            said.extend(hear.try_recv());
        }
        said
    };
    assert!(said(1_500).is_empty());
    world.clocks.step_wall_ms(-9_000);
    assert!(said(1_500).is_empty(), "what drift makes is no news");
    world.clocks.step_wall_ms(9_000);
    assert!(said(1_500).is_empty(), "it was set right");
    // A snapshot of the process is restored two hours later.
    world.clocks.step_wall_ms(7_200_000);
    let restored = said(1_500);
    assert!(restored.len() == 1 && restored[0].contains("snapshot") && restored[0].contains("7200s"), "{restored:?}");
    assert!(restored[0].contains("set forward"), "or it was wrong when the generator began: {restored:?}");
    world.clocks.step_wall_ms(-7_200_000);
    assert!(said(1_500).is_empty());
    world.clocks.step_wall_ms(-60_000);
    let ahead = said(1_500);
    assert!(ahead.len() == 1 && ahead[0].contains("60s ahead of the wall clock"), "{ahead:?}");
    world.clocks.step_wall_ms(-100_000);
    assert_eq!(said(1_500).len(), 1, "told again when it has doubled");
}

#[test]
fn a_running_generator_sees_no_step_of_the_wall_clock() {
    for step in [-3, -3_000, -3_600_000, 3, 3_000, 3_600_000] {
        let world = World::new();
        let ids = world.worker(1);
        let before = ids.next_id().unwrap();
        world.clocks.step_wall_ms(step);
        let after = ids.next_id().unwrap();
        assert!(after > before);
        assert_eq!(time_of(&ids, after), NOW_MS, "{step}");
        assert_eq!(world.clocks.passed(), Duration::ZERO);
    }
}

#[test]
fn a_start_on_a_clock_set_back_waits_within_bounds_or_refuses() {
    for (back_ms, start_wait, waits) in
        [(3, 1_000, true), (3_000, 1_000, false), (3_000, 3_000, true), (3_600_000, 60_000, false)]
    {
        let world = World::new();
        let builder = || Snowflake::builder(1, 1).start_wait(Duration::from_millis(start_wait));
        let first = world.build(builder()).unwrap();
        let last = first.next_id().unwrap();
        drop(first);
        world.clocks.step_wall_ms(-back_ms);
        let second = world.build(builder());
        if waits {
            let id = second.unwrap().next_id().unwrap();
            assert!(id > last);
            assert_eq!(world.clocks.passed(), Duration::from_millis(back_ms as u64));
        } else {
            let error = second.unwrap_err();
            says(&error, ErrorKind::Clock, &["behind", "set back"]);
            // Then the start waits for the rest.
            assert_eq!(error.retry_after(), Some(Duration::from_millis(back_ms as u64 - start_wait)));
            assert!(error.is_retryable());
            assert_eq!(world.clocks.passed(), Duration::ZERO, "what cannot succeed is refused at once");
            // As soon as the clock is right again it goes on.
            world.clocks.step_wall_ms(back_ms);
            assert!(world.build(builder()).unwrap().next_id().unwrap() > last);
        }
    }
}

#[test]
fn a_start_in_the_millisecond_of_the_last_id_goes_on_after_it() {
    let world = World::new();
    let mut last = 0;
    for _ in 0..100 {
        let ids = world.worker(1).next_ids(3).unwrap();
        assert!(ids[0] > last);
        assert_unique_and_increasing(&ids);
        last = ids[2];
    }
    assert_eq!(world.clocks.passed(), Duration::ZERO);
}

#[test]
fn a_start_after_borrowing_waits_until_that_is_paid_back() {
    let world = World::new();
    let ids = world.build(Snowflake::builder(1, 1).borrow_ahead(MAX_BORROW)).unwrap();
    let last = *ids.next_ids(11 * 4_096).unwrap().last().unwrap();
    drop(ids);
    assert!(world.worker(1).next_id().unwrap() > last);
    assert_eq!(world.clocks.passed(), 2 * (MAX_BORROW + Duration::from_millis(1)));
}

#[test]
fn a_monotonic_clock_that_goes_back_is_refused() {
    let world = World::new();
    let ids = world.worker(1);
    let last = ids.next_id().unwrap();
    world.clocks.break_tick_ms(-13);
    let error = ids.next_id().unwrap_err();
    says(&error, ErrorKind::Clock, &["13 ms", "went back"]);
    assert_eq!((error.retry_after(), error.is_retryable()), (Some(Duration::from_millis(1)), true));
    world.clocks.break_tick_ms(9);
    assert!(ids.next_id().unwrap() > last, "a few milliseconds are waited for, as if they had been borrowed");
}

#[test]
fn a_thread_that_stood_still_is_no_clock_that_went_back() {
    let world = World::new();
    let (slow, quick) = (world.worker(1), world.worker(1));
    // What the quick one takes while the slow one stands between its reading and its turn.
    world.clocks.pass(Duration::from_millis(19));
    let last = quick.next_id().unwrap();
    world.clocks.break_tick_ms(-19);
    world.clocks.stall_once(Duration::from_millis(19));
    assert!(slow.next_id().unwrap() > last);
}

#[test]
fn only_generators_of_one_identity_share_their_state() {
    let world = World::new();
    let (one, two) = (world.worker(1), world.worker(1));
    let mixed: Vec<i64> = (0..1_000).map(|n| if n % 3 == 0 { &one } else { &two }.next_id().unwrap()).collect();
    assert_unique_and_increasing(&mixed);
    assert_eq!(one.decode(mixed[999]).unwrap().sequence, 999);
    assert_eq!(world.identities.sizes(), (1, 0));
    // Another worker, datacenter, layout or epoch counts for itself.
    let others = [
        world.worker(2),
        world.build(Snowflake::builder(2, 1)).unwrap(),
        world.build(Snowflake::builder(1, 1).layout(Layout::TWITTER)).unwrap(),
        world.build(Snowflake::builder(1, 1).layout(Layout { epoch_ms: 7, ..Layout::TWITTER })).unwrap(),
    ];
    for other in &others {
        assert_eq!(other.decode(other.next_id().unwrap()).unwrap().sequence, 0, "{other:?}");
    }
    assert_eq!(world.identities.sizes(), (5, 0));
    drop(one);
    let clone = two.clone();
    drop(two);
    assert_eq!(clone.decode(clone.next_id().unwrap()).unwrap().sequence, 1_000);
    drop((clone, others));
    assert_eq!(world.identities.sizes(), (0, 5));
}

#[test]
fn memory_of_the_past_is_bounded_and_still_respected() {
    let world = World::new();
    let layout = Layout { time_bits: 41, datacenter_bits: 0, worker_bits: 16, sequence_bits: 6, ..Layout::DEFAULT };
    let worker = |n: u64| world.build(Snowflake::builder(0, n).layout(layout));
    let first = worker(0).unwrap().next_id().unwrap();
    world.clocks.pass(Duration::from_millis(5));
    for n in 1..=3 * MAX_IDLE as u64 {
        worker(n).unwrap().next_id().unwrap();
        assert!(world.identities.sizes().1 <= MAX_IDLE);
        world.clocks.pass(Duration::from_millis(1));
    }
    drop(worker(0).unwrap()); // unused: nothing to remember
    assert!(world.identities.sizes().1 <= MAX_IDLE);
    world.clocks.step_wall_ms(-3_600_000);
    // Worker 0 was forgotten, but not that it may have made ids until recently.
    says(&worker(0).unwrap_err(), ErrorKind::Clock, &["set back"]);
    says(&worker(60_000).unwrap_err(), ErrorKind::Clock, &["set back"]);
    world.clocks.step_wall_ms(3_600_000);
    assert!(worker(0).unwrap().next_id().unwrap() > first);
}

#[test]
fn time_outside_of_the_layout_is_refused_at_the_start_and_later() {
    let epoch = Layout::DEFAULT.epoch_ms as u64;
    let early = World::at_ms(epoch - 1).build(Snowflake::builder(1, 1)).unwrap_err();
    says(&early, ErrorKind::Clock, &["1420041599999", "1420041600000 to 3619064855551"]);
    assert_eq!((early.retry_after(), early.is_retryable()), (Some(Duration::from_millis(1)), true));
    let late = World::at_ms(epoch + (1 << 41)).build(Snowflake::builder(1, 1)).unwrap_err();
    says(&late, ErrorKind::Clock, &["3619064855552", "1420041600000 to 3619064855551"]);
    assert_eq!((late.retry_after(), late.is_retryable()), (None, false));

    // The start waits for what a predecessor may have borrowed.
    let world = World::at_ms(epoch + (1 << 41) - 1 - 11);
    let ids = world.build(Snowflake::builder(31, 31).borrow_ahead(MAX_BORROW)).unwrap();
    let last = ids.next_ids(4_096).unwrap();
    assert_eq!(last[4_095], i64::MAX, "the last id there is");
    says(&ids.next_id().unwrap_err(), ErrorKind::Clock, &["3619064855552"]);
    drop(ids);
    world.clocks.step_wall_ms(-5);
    let error = world.build(Snowflake::builder(31, 31)).unwrap().next_id().unwrap_err();
    says(&error, ErrorKind::Clock, &["3619064855552"]);
}

#[test]
fn arguments_out_of_range_are_refused_with_value_and_range() {
    let world = World::new();
    let refused = |builder: SnowflakeBuilder, words: &[&str]| {
        says(&world.build(builder).unwrap_err(), ErrorKind::InvalidArgument, words);
    };
    refused(Snowflake::builder(32, 0), &["datacenter is 32", "0 to 31"]);
    refused(Snowflake::builder(0, 1 << 40), &["worker is 1099511627776", "0 to 31"]);
    refused(Snowflake::builder(0, 0).borrow_ahead(Duration::from_micros(10_001)), &["10.001ms", "0 to 10ms"]);
    refused(Snowflake::builder(0, 0).start_wait(Duration::MAX), &["0 to 60s"]);
    let wide = Layout { time_bits: 42, ..Layout::DEFAULT };
    refused(Snowflake::builder(0, 0).layout(wide), &["64", "1 to 63"]);
    let ids = world.worker(1);
    for count in [0, MAX_BATCH + 1, usize::MAX] {
        let words = [count.to_string(), "1 to 1000000".to_owned()];
        says(&ids.next_ids(count).unwrap_err(), ErrorKind::InvalidArgument, &words.each_ref().map(String::as_str));
    }
    says(&ids.fill(&mut []).unwrap_err(), ErrorKind::InvalidArgument, &["batch of 0"]);
}

/// `threads` take `each` ids on the real clock, singly and in batches by turns.
fn race(threads: usize, each: usize, worker: u64) {
    let start = Barrier::new(threads);
    let taken: Vec<Vec<i64>> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..threads)
            .map(|n| {
                let start = &start;
                scope.spawn(move || {
                    // Generators of their own for half of them: the state is the identity's.
                    let ids = Snowflake::new(30, worker).unwrap();
                    let mut mine = vec![0; each];
                    start.wait();
                    for (turn, chunk) in mine.chunks_mut(1_000).enumerate() {
                        if (turn + n).is_multiple_of(2) {
                            chunk.iter_mut().for_each(|id| *id = ids.next_id().unwrap());
                        } else {
                            ids.fill(chunk).unwrap();
                        }
                    }
                    mine
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().unwrap()).collect()
    });
    taken.iter().for_each(|ids| assert_unique_and_increasing(ids));
    let mut all = taken.concat();
    all.sort_unstable();
    assert_unique_and_increasing(&all);
    assert_eq!(all.len(), threads * each);
}

#[test]
fn two_threads_get_a_million_ids_each_unique_and_increasing() {
    race(2, 1_000_000, 1);
}

#[test]
#[ignore = "long: 20 million ids take five seconds by the format alone"]
fn two_threads_get_ten_million_ids_each_unique_and_increasing() {
    race(2, 10_000_000, 2);
}

#[test]
fn generators_started_and_ended_by_threads_make_no_duplicate() {
    let all: Vec<i64> = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let fresh = || Snowflake::new(30, 3).unwrap().next_ids(7).unwrap();
                    (0..2_000).flat_map(|_| fresh()).collect::<Vec<i64>>()
                })
            })
            .collect();
        racers.into_iter().flat_map(|racer| racer.join().unwrap()).collect()
    });
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
}

/// Twice its rate would take half its time: the format's limit is kept, not only reached.
#[test]
fn the_rate_is_that_of_the_format() {
    let ids = Snowflake::new(30, 4).unwrap();
    let begun = Instant::now();
    ids.next_ids(100_000).unwrap();
    // 25 milliseconds are used, of which the first and the last may have been under way.
    assert!(begun.elapsed() >= Duration::from_millis(23), "{:?}", begun.elapsed());
}
