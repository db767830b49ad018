//! The algorithms other than GCRA keep their promises with 32 clients in 4 processes, half of which wait.

use libdlock_faults::{Peer, SOON, worker};
use libdlock_testkit::Server;

const TOKENS: usize = 50;
const PERIOD_US: u64 = 100_000;
/// 2025-01-01, where aligned windows are counted from.
const EPOCH_US: u64 = 1_735_689_600_000_000;

/// When each token that was had could be used, by the server's clock.
fn times(algorithm: &str) -> Vec<u64> {
    let server = Server::start();
    let mut peers: Vec<Peer> = (0..4).map(|_| Peer::start(worker!(), &server.url())).collect();
    let request = format!("ask api {TOKENS} {PERIOD_US} {TOKENS} 8 1500 {algorithm}");
    let asked: Vec<u64> = peers.iter_mut().map(|peer| peer.request(&request)).collect();
    let mut times = Vec::new();
    for (peer, asked) in peers.iter_mut().zip(asked) {
        times.extend(peer.answer(asked, SOON).expect("answered").iter().map(|us| us.parse::<u64>().expect("us")));
    }
    times.sort_unstable();
    // A busy machine asks less often; a limiter that has stopped granting grants in its first periods only.
    let periods = times.chunk_by(|one, next| one / PERIOD_US == next / PERIOD_US).count();
    println!("{algorithm}: {} tokens in {periods} periods", times.len());
    assert!(periods > 5 && times.len() > 5 * TOKENS, "{algorithm}: {} tokens in {periods} periods", times.len());
    times
}

/// The most in any interval of the period.
fn most_in_any(times: &[u64]) -> usize {
    let within = |from: usize| times[from..].iter().take_while(|time| **time < times[from] + PERIOD_US).count();
    (0..times.len()).map(within).max().unwrap_or(0)
}

/// The most in any aligned window.
fn most_in_aligned(times: &[u64]) -> usize {
    let window = |time: &u64| (time - EPOCH_US) / PERIOD_US;
    times.chunk_by(|one, next| window(one) == window(next)).map(<[u64]>::len).max().unwrap_or(0)
}

#[test]
fn a_sliding_log_is_kept_in_any_interval() {
    assert!(most_in_any(&times("sliding_log")) <= TOKENS);
}

#[test]
fn aligned_windows_are_kept() {
    let times = times("aligned_window");
    assert!(most_in_aligned(&times) <= TOKENS);
}

#[test]
fn a_sliding_counter_is_kept_in_windows_and_in_about() {
    let times = times("sliding_counter");
    assert!(most_in_aligned(&times) <= TOKENS);
    assert!(most_in_any(&times) < 2 * TOKENS);
}

#[test]
fn fixed_windows_are_kept() {
    let times = times("fixed_window");
    // Any interval of the period meets two windows at most, and a window begins no sooner than the one before it ends.
    assert!(most_in_any(&times) <= 2 * TOKENS);
    let windows = (times[times.len() - 1] - times[0]) / PERIOD_US + 1;
    assert!(times.len() <= TOKENS * (windows as usize + 1), "{} in {windows} windows", times.len());
}
