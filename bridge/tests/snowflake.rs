//! Ids over handles: plain numbers in and out, and handles that are safe though the quick way takes no lock.

use std::time::{Duration, Instant};

use libdlock::ErrorKind;
use libdlock::id::Layout;
use libdlock_bridge::ops::{self, SnowflakeArgs};
use libdlock_bridge::{Handle, HandleKind, enter};

fn args(worker: i64) -> SnowflakeArgs {
    SnowflakeArgs { datacenter: 9, worker, layout: None, borrow_ahead_ms: 0, start_wait_ms: None }
}

fn open(worker: i64) -> Handle {
    ops::snowflake_open(enter().unwrap(), args(worker)).unwrap()
}

#[test]
fn ids_increase_over_all_ways_to_make_them_and_come_apart() {
    let state = enter().unwrap();
    let ids = open(1);
    let mut all = vec![ops::snowflake_next_id(state, ids).unwrap()];
    all.extend(ops::snowflake_next_ids(state, ids, 5_000).unwrap());
    let mut more = [0; 3];
    ops::snowflake_fill(state, ids, &mut more).unwrap();
    all.extend(more);
    assert!(all.windows(2).all(|pair| pair[0] < pair[1]));
    let parts = ops::snowflake_decode(state, ids, all[0]).unwrap();
    assert_eq!((parts.datacenter, parts.worker), (9, 1));
    assert_eq!(ops::snowflake_layout(state, ids).unwrap(), Layout::DEFAULT);
    let text = ops::id_encode(all[0], 62).unwrap();
    assert_eq!(ops::id_parse(text.as_bytes(), 62).unwrap(), all[0]);
}

#[test]
fn a_freed_generator_is_closed_to_every_thread_that_used_it() {
    let state = enter().unwrap();
    let ids = open(2);
    let next = || ops::snowflake_next_id(state, ids).map_err(|error| error.kind());
    let (used, freed) = (std::sync::Barrier::new(2), std::sync::Barrier::new(2));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert!(next().is_ok());
            used.wait();
            freed.wait();
            assert_eq!(next(), Err(ErrorKind::Closed));
        });
        assert!(next().is_ok());
        used.wait();
        state.free(HandleKind::Snowflake, ids).unwrap();
        assert_eq!(next(), Err(ErrorKind::Closed));
        freed.wait();
    });
    assert_eq!(state.free(HandleKind::Snowflake, ids).unwrap_err().kind(), ErrorKind::Closed);
}

/// The call under way keeps the generator alive, which must not let others find it.
#[test]
fn a_generator_freed_under_a_batch_is_closed_at_once() {
    let state = enter().unwrap();
    let ids = open(7);
    let next = || ops::snowflake_next_id(state, ids);
    std::thread::scope(|scope| {
        // 244 ms by the format.
        let batch = scope.spawn(|| ops::snowflake_next_ids(state, ids, 1_000_000).unwrap());
        // It takes whole milliseconds: a call that has to wait for one tells that it is under way.
        let waited = || {
            let begun = Instant::now();
            next().unwrap();
            begun.elapsed() > Duration::from_micros(200)
        };
        while !(batch.is_finished() || waited() && waited()) {}
        state.free(HandleKind::Snowflake, ids).unwrap();
        assert_eq!(next().unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(batch.join().unwrap().len(), 1_000_000);
    });
}

#[test]
fn generators_used_by_turns_are_not_taken_for_one_another() {
    let state = enter().unwrap();
    let (three, four) = (open(3), open(4));
    let client = state.wait(ops::client_open(state, "memory://".to_owned(), vec![], None), None).unwrap();
    for _ in 0..10 {
        for (handle, worker) in [(three, 3), (four, 4), (four, 4)] {
            let id = ops::snowflake_next_id(state, handle).unwrap();
            assert_eq!(ops::snowflake_decode(state, handle, id).unwrap().worker, worker);
        }
        for wrong in [0, client, 1, u64::MAX] {
            let error = ops::snowflake_next_id(state, wrong).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{wrong:#x}");
        }
    }
}

#[test]
fn numbers_that_cannot_be_are_refused_with_their_value() {
    let state = enter().unwrap();
    let refused = |given: SnowflakeArgs, value: &str| {
        let error = ops::snowflake_open(state, given).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(value), "{error}");
    };
    refused(SnowflakeArgs { datacenter: -1, ..args(5) }, "-1");
    refused(args(32), "32");
    refused(args(i64::MIN), "-9223372036854775808");
    refused(SnowflakeArgs { borrow_ahead_ms: 11, ..args(5) }, "11ms");
    refused(SnowflakeArgs { borrow_ahead_ms: -1, ..args(5) }, "-1");
    refused(SnowflakeArgs { start_wait_ms: Some(60_001), ..args(5) }, "60.001s");
    refused(SnowflakeArgs { start_wait_ms: Some(-2), ..args(5) }, "-2");
    let wide = ops::layout(0, [41, 5, 5, i64::MAX]).unwrap();
    refused(SnowflakeArgs { layout: Some(wide), ..args(5) }, "sequence bits");
    assert_eq!(ops::layout(0, [41, 5, 5, -12]).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(ops::layout_named(b"twitter").unwrap(), Layout::TWITTER);
    for name in [&b"nobody's"[..], b"\xff"] {
        assert_eq!(ops::layout_named(name).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    let ids = open(5);
    for count in [i64::MIN, -1, 0, 1_000_001, i64::MAX] {
        let error = ops::snowflake_next_ids(state, ids, count).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.message().contains(&count.to_string()), "{error}");
    }
    for base in [-62, 0, 1 << 40] {
        assert_eq!(ops::id_encode(1, base).unwrap_err().kind(), ErrorKind::InvalidArgument);
        assert_eq!(ops::id_parse(b"1", base).unwrap_err().kind(), ErrorKind::InvalidArgument);
    }
    assert_eq!(ops::id_parse(b"\xff", 62).unwrap_err().kind(), ErrorKind::InvalidArgument);
}

#[test]
fn threads_that_use_and_free_one_generator_meet_no_duplicate() {
    let state = enter().unwrap();
    let mut all = Vec::new();
    for _ in 0..200 {
        let ids = open(6);
        let take = || (0..50).map_while(|_| ops::snowflake_next_id(state, ids).ok()).collect::<Vec<i64>>();
        std::thread::scope(|scope| {
            let other = scope.spawn(take);
            all.extend(take());
            state.free(HandleKind::Snowflake, ids).unwrap();
            all.extend(other.join().unwrap());
        });
    }
    let made = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), made);
}
