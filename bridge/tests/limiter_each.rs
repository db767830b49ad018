//! Decisions of the callers of one turn, on `memory://`.

use libdlock::limit::{Absent, Algorithm};
use libdlock::{Error, ErrorKind};
use libdlock_bridge::ops::{self, Ask, Part, RateArgs};
use libdlock_bridge::{Handle, HandleKind, Outcome, State, What, enter};

fn limiter(state: &'static State, algorithm: Algorithm) -> Handle {
    let opening = ops::client_open(state, "memory://".to_owned(), Vec::new(), None);
    let client = state.wait(opening, None).unwrap();
    let rate = RateArgs { tokens: 5, per_us: 3_600_000_000, burst: None, algorithm };
    ops::limiter_open(state, client, b"api", &[rate], Absent::Fail, None).unwrap()
}

fn ask(key: &str, cost: i64) -> Ask {
    (Some(key.as_bytes().to_vec()).filter(|key| !key.is_empty()), cost)
}

/// Of each completion its user data, and what its callers were granted.
type Brought = Vec<(u64, Vec<Result<u64, ErrorKind>>)>;

/// Submits them with user data from 100 on: the parts, and what the port brings of them.
fn submitted(state: &'static State, limiter: Handle, asks: Vec<Ask>) -> (Vec<Part>, Brought) {
    let port = state.port_new().unwrap();
    let submit = |first: usize, asking| state.submit(port, 100 + first as u64, asking);
    let parts = ops::limiter_submit_each(state, limiter, asks, submit).unwrap();
    let kind = |error: Error| error.kind();
    let brought = state.drain(port, usize::MAX).unwrap().into_iter().map(|completion| match completion.what {
        What::Done(Ok(Outcome::Decisions(answers))) => {
            let each = answers.0.into_iter().map(|answer| answer.map(|decision| decision.granted).map_err(kind));
            (completion.user_data, each.collect())
        }
        other => panic!("{other:?}"),
    });
    let brought = brought.collect();
    state.free(HandleKind::Port, port).unwrap();
    (parts, brought)
}

#[test]
fn each_caller_gets_its_own_answer_in_the_order_of_the_calls() {
    let state = enter().unwrap();
    let limiter = limiter(state, Algorithm::Gcra);
    let odd: Ask = (Some(vec![0xff, 0xfe]), 1);
    let asks = vec![ask("", 2), ask("a", 5), ask("", -1), odd, ask("", 2), ask("", 2), ask("a", -7), ask("", 1)];
    let (parts, brought) = submitted(state, limiter, asks);
    assert_eq!(parts.iter().map(|part| part.callers).collect::<Vec<_>>(), [8]);
    let (number, name) = (Err(ErrorKind::InvalidArgument), Err(ErrorKind::InvalidName));
    assert_eq!(brought, [(100, vec![Ok(2), Ok(5), number, name, Ok(2), Ok(0), number, Ok(1)])]);
    let (_, brought) = submitted(state, limiter, vec![ask("", -1), ask("b", -1)]);
    assert_eq!(brought, [(100, vec![number, number])]);
    assert_eq!(submitted(state, limiter, Vec::new()), (Vec::new(), Vec::new()));
}

#[test]
fn those_that_do_not_go_together_have_operations_of_their_own() {
    let state = enter().unwrap();
    let limiter = limiter(state, Algorithm::Redisson { per_client: false });
    let (parts, brought) = submitted(state, limiter, vec![ask("", 3), ask("", 3), ask("", 2)]);
    assert!(parts.iter().all(|part| part.callers == 1) && parts.len() == 3);
    assert_eq!(brought, [(100, vec![Ok(3)]), (101, vec![Ok(0)]), (102, vec![Ok(2)])]);
}

#[test]
fn nothing_is_begun_for_what_is_no_limiter() {
    let state = enter().unwrap();
    let begun = |_: usize, _| panic!("it is not begun");
    let limiter = limiter(state, Algorithm::Gcra);
    state.free(HandleKind::Limiter, limiter).unwrap();
    let error = ops::limiter_submit_each(state, limiter, vec![ask("", 1)], begun).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}
