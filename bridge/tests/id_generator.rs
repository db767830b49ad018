//! Operations on id generators, on `memory://`.

use libdlock::ErrorKind;
use libdlock_bridge::ops;
use libdlock_bridge::{Handle, HandleKind, State, enter};

fn client(state: &'static State) -> Handle {
    let opening = ops::client_open(state, "memory://".to_owned(), Vec::new(), None);
    state.wait(opening, None).unwrap()
}

#[test]
fn a_generator_gives_ids_and_says_the_size_of_its_blocks() {
    let state = enter().unwrap();
    let ids = ops::id_generator_open(state, client(state), b"orders", 10, -2).unwrap();
    assert_eq!(ops::id_generator_name(state, ids).unwrap(), "orders");
    assert_eq!(ops::id_generator_key(state, ids).unwrap(), "orders");
    assert_eq!(ops::id_generator_block_size(state, ids).unwrap(), 10);
    assert_eq!(state.wait(ops::id_generator_next_id(state, ids), None).unwrap(), -2);
    assert_eq!(state.wait(ops::id_generator_next_ids(state, ids, 3), None).unwrap().0, [-1, 0, 1]);
    state.free(HandleKind::IdGenerator, ids).unwrap();
    let error = state.wait(ops::id_generator_next_id(state, ids), None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}

#[test]
fn numbers_that_no_generator_has_are_refused() {
    let state = enter().unwrap();
    let client = client(state);
    for block in [0, -1, i64::MIN, i64::MAX] {
        let error = ops::id_generator_open(state, client, b"numbers", block, 1).unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("numbers")), "{error}");
        assert_eq!(error.allowed(), Some("1 to 9007199254740991"));
    }
    let ids = ops::id_generator_open(state, client, b"numbers", 5_000, 1).unwrap();
    for count in [0, -1, i64::MIN, i64::MAX, 1_000_001] {
        let error = state.wait(ops::id_generator_next_ids(state, ids, count), None).unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("numbers")), "{error}");
        assert_eq!(error.allowed(), Some("1 to 1000000"));
    }
    assert_eq!(ops::id_generator_open(state, client, b"a{", 1, 1).unwrap_err().kind(), ErrorKind::InvalidName);
    assert_eq!(state.wait(ops::id_generator_next_id(state, ids), None).unwrap(), 1);
}
