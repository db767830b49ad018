//! Operations on Bloom filters, on `memory://`.

use libdlock::ErrorKind;
use libdlock_bridge::ops::{self, BloomItems};
use libdlock_bridge::{Handle, HandleKind, State, enter};

fn client(state: &'static State) -> Handle {
    let opening = ops::client_open(state, "memory://".to_owned(), Vec::new(), None);
    state.wait(opening, None).unwrap()
}

fn items(items: &[&str]) -> BloomItems {
    items.iter().collect()
}

#[test]
fn a_filter_is_added_to_looked_into_and_cleared() {
    let state = enter().unwrap();
    let filter = ops::bloom_filter_open(state, client(state), b"seen", 1_000, 0.01, Some(60_000)).unwrap();
    assert_eq!(ops::bloom_filter_name(state, filter).unwrap(), "seen");
    assert_eq!(ops::bloom_filter_key(state, filter).unwrap(), "seen");
    assert_eq!(ops::bloom_filter_size(state, filter).unwrap(), 9_585);
    assert_eq!(ops::bloom_filter_hashes(state, filter).unwrap(), 7);
    let add = |texts| state.wait(ops::bloom_filter_add(state, filter, items(texts)), None).unwrap().0;
    assert_eq!(add(&["a", "b", "a"]), [true, true, false]);
    assert!(state.wait(ops::bloom_filter_add_one(state, filter, items(&["c"])), None).unwrap());
    let contains = |texts| state.wait(ops::bloom_filter_contains(state, filter, items(texts)), None).unwrap().0;
    assert_eq!(contains(&["a", "d"]), [true, false]);
    assert!(state.wait(ops::bloom_filter_contains_one(state, filter, items(&["c"])), None).unwrap());
    assert_eq!(state.wait(ops::bloom_filter_count(state, filter), None).unwrap(), 3);
    let rate = state.wait(ops::bloom_filter_false_positive_rate(state, filter), None).unwrap().0;
    assert!(rate > 0.0 && rate < 1e-15, "{rate}");
    assert!(state.wait(ops::bloom_filter_clear(state, filter), None).unwrap());
    assert_eq!(contains(&["a", "c"]), [false, false]);
    state.free(HandleKind::BloomFilter, filter).unwrap();
    let error = state.wait(ops::bloom_filter_count(state, filter), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[test]
fn numbers_that_no_filter_has_are_refused() {
    let state = enter().unwrap();
    let client = client(state);
    let refused = |expected, rate, ttl_ms, allowed| {
        let error = ops::bloom_filter_open(state, client, b"seen", expected, rate, ttl_ms).unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("seen")), "{error}");
        assert_eq!(error.allowed(), Some(allowed));
    };
    for expected in [0, -1, i64::MIN, i64::MAX] {
        refused(expected, 0.01, None, "1 to 9007199254740991");
    }
    for rate in [0.0, 1.0, f64::NAN] {
        refused(100, rate, None, "above 0 and below 1");
    }
    for ttl_ms in [0, -1, i64::MAX] {
        refused(100, 0.01, Some(ttl_ms), "1 ms to 100 years");
    }
    let error = ops::bloom_filter_open(state, client, b"a{", 100, 0.01, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidName);
}
