//! Operations on rate limiters, on `memory://`.

use libdlock::ErrorKind;
use libdlock::limit::{Absent, Algorithm};
use libdlock_bridge::ops::{self, RateArgs};
use libdlock_bridge::{Handle, HandleKind, State, enter};

fn client(state: &'static State) -> Handle {
    let opening = ops::client_open(state, "memory://".to_owned(), Vec::new(), None);
    state.wait(opening, None).unwrap()
}

fn rate(tokens: i64, per_us: i64) -> RateArgs {
    RateArgs { tokens, per_us, burst: None, algorithm: Algorithm::Gcra }
}

#[test]
fn a_limiter_answers_in_numbers_and_refuses_what_cannot_be() {
    let state = enter().unwrap();
    let client = client(state);
    let limiter = ops::limiter_open(state, client, b"api", &[rate(3, 1_000_000)], Absent::Fail, None).unwrap();
    let ask = |cost, wait_ms| state.wait(ops::limiter_acquire(state, limiter, None, cost, wait_ms), None);
    let first = ask(2, Some(0)).unwrap();
    assert_eq!((first.allowed, first.granted, first.remaining, first.limit), (true, 2, 1, 3));
    assert_eq!(first.retry_after_us, Some(0));
    assert!(first.reset_after_us == 666_667 && first.server_time_us.is_some());
    let refused = ask(3, Some(0)).unwrap();
    assert!(!refused.allowed && refused.granted == 0 && refused.retry_after_us > Some(0));
    assert_eq!(ask(0, Some(0)).unwrap().granted, 0);
    state.wait(ops::limiter_reset(state, limiter, None), None).unwrap();
    assert_eq!(ask(3, None).unwrap().granted, 3);
    for cost in [-1, i64::MIN] {
        let error = ask(cost, Some(0)).unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("api")));
        assert!(error.message().contains(&cost.to_string()), "{error}");
    }
    for cost in [4, i64::MAX] {
        let never = ask(cost, None).unwrap();
        assert!(!never.allowed && never.retry_after_us.is_none(), "{cost}: {never:?}");
    }
    let error = ask(1, Some(-2)).unwrap_err();
    assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("api")));

    assert!(ask(1, Some(5_000)).unwrap().allowed, "it waits for its token");

    for (tokens, per_us, burst) in [(-1, 1, None), (1, 0, None), (1, -1, None), (1, 1, Some(0)), (1, 1, Some(-5))] {
        let rate = RateArgs { burst, ..rate(tokens, per_us) };
        let error = ops::limiter_open(state, client, b"api", &[rate], Absent::Fail, None).unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("api")), "{rate:?}");
    }
    assert_eq!(ops::absent("local_share", Some(4)).unwrap(), Absent::LocalShare { of: 4 });
    assert_eq!(ops::absent("local_share", Some(-1)).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert_eq!(ops::absent("allow", Some(4)).unwrap_err().kind(), ErrorKind::InvalidArgument);
    assert!(ops::absent("maybe", None).unwrap_err().message().contains("maybe"));
    state.free(HandleKind::Limiter, limiter).unwrap();
    assert_eq!(ask(1, Some(0)).unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_rate_is_counted_by_the_algorithm_of_its_word() {
    let state = enter().unwrap();
    let client = client(state);
    let words = ["gcra", "fixed_window", "aligned_window", "sliding_log", "sliding_counter", "redisson"];
    for word in words {
        let algorithm = word.parse::<Algorithm>().unwrap();
        assert_eq!(algorithm.as_str(), word);
        let rates = [RateArgs { algorithm, ..rate(2, 3_600_000_000) }];
        let limiter = ops::limiter_open(state, client, word.as_bytes(), &rates, Absent::Fail, None).unwrap();
        let ask = || state.wait(ops::limiter_acquire(state, limiter, None, 1, Some(0)), None).unwrap();
        assert_eq!([ask(), ask(), ask()].map(|decision| decision.allowed), [true, true, false], "{word}");
    }
    assert_eq!("redisson".parse::<Algorithm>().unwrap(), Algorithm::Redisson { per_client: false });
    assert_eq!("redisson_per_client".parse::<Algorithm>().unwrap(), Algorithm::Redisson { per_client: true });
    let error = "leaky".parse::<Algorithm>().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    assert!(error.message().contains("leaky"), "{error}");
    let allowed = error.allowed().unwrap();
    assert!(words.iter().all(|word| allowed.contains(word)) && allowed.contains("redisson_per_client"), "{allowed}");
}

#[test]
fn several_rates_grant_what_each_of_them_does() {
    let state = enter().unwrap();
    let client = client(state);
    let rates = [rate(2, 1_000_000), RateArgs { algorithm: Algorithm::SlidingLog, ..rate(3, 3_600_000_000) }];
    let limiter = ops::limiter_open(state, client, b"several", &rates, Absent::Fail, None).unwrap();
    let ask = |wait_ms| state.wait(ops::limiter_acquire(state, limiter, None, 1, Some(wait_ms)), None).unwrap();
    assert!(ask(0).allowed && ask(0).allowed);
    assert_eq!(ask(0).refused_by, Some(0), "2 a second");
    assert!(ask(5_000).allowed);
    assert_eq!(ask(0).refused_by, Some(1), "3 an hour");
    let none: [RateArgs; 0] = [];
    let pointless = [rate(2, 1_000_000), rate(3, 1_000_000)];
    let many = [rate(1, 1_000_000); 9];
    for refused in [&none[..], &pointless, &many, &[rate(2, 1_000_000), rate(-1, 1_000_000)]] {
        let error = ops::limiter_open(state, client, b"several", refused, Absent::Fail, None).unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("several")), "{refused:?}");
    }
}

#[test]
fn a_limiter_reserves_and_is_adjusted() {
    let state = enter().unwrap();
    let limiter =
        ops::limiter_open(state, client(state), b"adjusted", &[rate(2, 3_600_000_000)], Absent::Fail, None).unwrap();
    for key in [None, Some(b"of:a:key".to_vec())] {
        let remaining = || {
            let peek = state.wait(ops::limiter_acquire(state, limiter, key.clone(), 0, Some(0)), None).unwrap();
            (peek.allowed, peek.remaining)
        };
        let reserve =
            |cost, wait_ms| state.wait(ops::limiter_reserve(state, limiter, key.clone(), cost, wait_ms), None).unwrap();
        state.wait(ops::limiter_penalty(state, limiter, key.clone(), 1), None).unwrap();
        assert_eq!(remaining(), (true, 1));
        state.wait(ops::limiter_reward(state, limiter, key.clone(), 1), None).unwrap();
        assert_eq!(remaining(), (true, 2));
        assert_eq!(reserve(2, Some(0)).usable_after_us, 0);
        assert!(!reserve(1, Some(1_000)).allowed);
        let later = reserve(1, None);
        assert!(later.allowed && later.usable_after_us > 1_700_000_000, "{later:?}");
        state.wait(ops::limiter_reset(state, limiter, key.clone()), None).unwrap();
        state.wait(ops::limiter_block(state, limiter, key.clone(), 60_000), None).unwrap();
        assert!(!remaining().0);
        state.wait(ops::limiter_block(state, limiter, key.clone(), 0), None).unwrap();
        assert_eq!(remaining(), (true, 2));
    }
}

#[test]
fn what_no_limiter_can_be_told_is_refused_by_name() {
    let state = enter().unwrap();
    let limiter = ops::limiter_open(state, client(state), b"told", &[rate(2, 1_000_000)], Absent::Fail, None).unwrap();
    let refused = |told: libdlock::Result<()>, number: i64| {
        let error = told.unwrap_err();
        assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("told")), "{error}");
        assert!(error.allowed().is_some() && error.message().contains(&number.to_string()), "{error}");
    };
    for tokens in [-1, 0, 3] {
        refused(state.wait(ops::limiter_penalty(state, limiter, None, tokens), None), tokens);
        refused(state.wait(ops::limiter_reward(state, limiter, None, tokens), None), tokens);
    }
    refused(state.wait(ops::limiter_block(state, limiter, None, -1), None), -1);
    let error = state.wait(ops::limiter_block(state, limiter, None, i64::MAX), None).unwrap_err();
    assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("told")), "{error}");
    for (cost, wait_ms) in [(-1, 0), (1, -2)] {
        let reserved = state.wait(ops::limiter_reserve(state, limiter, None, cost, Some(wait_ms)), None);
        refused(reserved.map(drop), cost.min(wait_ms));
    }
}
