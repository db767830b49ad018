//! Limiters that fetch tokens ahead: many processes, some of which are killed or stopped in the
//! middle, use no more than the rate; what a process takes to its grave is back within a second.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use libdlock::limit::{Absent, LimiterOptions};
use libdlock::{Client, Decision, Rate, RateLimiter};
use libdlock_faults::{Peer, SOON, bounded, client, slack, with_options, worker};
use libdlock_testkit::{Server, eventually};

const SECOND: Duration = Duration::from_secs(1);

fn prefetching(client: &Client, rate: Rate, share: f64) -> RateLimiter {
    client.rate_limiter_with("api", LimiterOptions::new(rate).prefetch(share)).expect("a limiter")
}

/// Starts to take tokens in a process, one after the other, for so many ms; the time of each is written to the file.
fn use_up(peer: &mut Peer, rate: Rate, share: f64, ms: u64, file: &Path) -> u64 {
    let (tokens, burst, per_us) = (rate.tokens(), rate.limit(), rate.per().as_micros());
    peer.request(&format!("prefetch api {tokens} {per_us} {burst} {share} {ms} {}", file.display()))
}

/// The times in such a file, in us of the server's clock.
fn times(file: &Path) -> Vec<u64> {
    let bytes = fs::read(file).unwrap_or_default();
    bytes.chunks_exact(8).map(|time| u64::from_le_bytes(time.try_into().expect("8 bytes"))).collect()
}

/// Asserts that no interval holds more than the burst and what the rate brings in it. `times` of one token each.
fn check(rate: Rate, times: &mut [u64]) {
    times.sort_unstable();
    let [tokens, period, burst] = [rate.tokens().into(), rate.per().as_micros(), u128::from(rate.limit())];
    // The exact bucket: what it lacks, in tokens times the period.
    let (mut lacks, mut before) = (0u128, times[0]);
    for &time in &*times {
        lacks = lacks.saturating_sub(u128::from(time - before) * tokens) + period;
        before = time;
        assert!(
            lacks <= burst * period,
            "too many at {time}: {} of a token",
            (lacks - burst * period) as f64 / period as f64
        );
    }
}

fn scripts(server: &Server) -> u64 {
    let stats = server.cmd(&["INFO", "commandstats"]);
    let calls = |command: &str| {
        let calls = stats.text().split(&format!("cmdstat_{command}:calls=")).nth(1);
        calls.map_or(0, |calls| calls.split(',').next().expect("a number").parse().expect("a number"))
    };
    calls("evalsha") + calls("eval")
}

/// One process is killed in the middle, and one is stopped for longer than anything is good for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn eight_processes_use_the_rate_and_no_more() {
    let server = Server::start();
    let folder = libdlock_testkit::temp::TempDir::new();
    let rate = Rate::new(5_000, SECOND).burst(1_000);
    let mut peers: Vec<Peer> = (0..8).map(|_| Peer::start(worker!(), &server.url())).collect();
    let files: Vec<_> = (0..8).map(|number| folder.path().join(number.to_string())).collect();
    let begun = Instant::now();
    let asked: Vec<u64> =
        peers.iter_mut().zip(&files).map(|(peer, file)| use_up(peer, rate, 0.2, 3_000, file)).collect();
    eventually(SOON, "all have some", || files.iter().all(|file| times(file).len() > 20));
    peers[0].process().kill();
    peers[1].process().pause();
    tokio::time::sleep(Duration::from_millis(1_300)).await;
    peers[1].process().resume();
    for (peer, asked) in peers.iter_mut().zip(asked).skip(1) {
        peer.answer(asked, SOON).expect("answered");
    }
    let took = begun.elapsed();
    let mut all: Vec<u64> = files.iter().flat_map(|file| times(file)).collect();
    let got = all.len();
    check(rate, &mut all);
    let could = 1_000 + (took.as_micros() * 5_000 / 1_000_000) as usize;
    println!("{got} of {could} tokens in {took:?}");
    assert!(got > could * 6 / 10, "{got} of {could} tokens in {took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_killed_process_had_is_back_within_a_second() {
    let server = Server::start();
    let folder = libdlock_testkit::temp::TempDir::new();
    let file = folder.path().join("times");
    // 500 tokens are the share.
    let rate = Rate::new(1_000, SECOND).burst(100_000);
    let others = client(&server.url()).await.rate_limiter("api", rate).expect("a limiter");
    // Nothing flows over meanwhile, however long a process stands still.
    let begin = others.try_acquire(50_000).await.expect("answered");
    let mut peer = Peer::start(worker!(), &server.url());
    use_up(&mut peer, rate, 0.005, 10_000, &file);
    eventually(SOON, "it has used some", || times(&file).len() > 3_000);
    peer.process().kill();
    let mut used = times(&file);
    check(rate, &mut used);
    let seen = others.peek().await.expect("answered");
    // What there would be if it had fetched no more than it used.
    let at = |decision: &Decision| decision.server_time.expect("the server's");
    let brought = at(&seen).duration_since(at(&begin)).expect("later").as_millis() as u64;
    let left = begin.remaining + brought - used.len() as u64;
    println!("{} tokens went with the process", left as i64 - seen.remaining as i64);
    // One may have come between two looks at the clock.
    assert!(seen.remaining <= left && seen.remaining + 501 >= left, "{} of {left}", seen.remaining);
    let as_if_never_fetched = async {
        while others.peek().await.expect("answered").remaining < left {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    bounded(SECOND, "what it had is back", as_if_never_fetched).await;
}

/// With as much as is wanted, and with less.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hot_loop_asks_the_server_less_than_fifty_times_a_second() {
    for (tokens, enough) in [(100_000_000, true), (2_000, false)] {
        let server = Server::start();
        let limiter = prefetching(&client(&server.url()).await, Rate::new(tokens, SECOND), 0.5);
        for _ in 0..100 {
            limiter.try_acquire(1).await.expect("answered");
        }
        let (before, begun) = (scripts(&server), Instant::now());
        let (mut granted, mut decided) = (0u64, 0u64);
        while begun.elapsed() < 2 * SECOND {
            for _ in 0..100 {
                granted += limiter.try_acquire(1).await.expect("answered").granted;
                decided += 1;
            }
            tokio::task::yield_now().await;
        }
        let (asked, took) = (scripts(&server) - before, begun.elapsed());
        println!("{decided} decisions, {granted} granted, {asked} scripts in {took:?}");
        assert!(asked as f64 <= 50.0 * took.as_secs_f64() + 10.0, "{asked} scripts in {took:?}");
        match enough {
            true => assert_eq!(granted, decided),
            false => assert!(granted >= 2_000 * 2 * 9 / 10, "{granted} of 6,000 tokens"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_kept_by_a_client_that_is_idle_or_closed() {
    let server = Server::start();
    let rate = Rate::new(1_000, SECOND).burst(100_000);
    let others = client(&server.url()).await.rate_limiter("api", rate).expect("a limiter");
    let mut used = 0;
    for closes in [false, true, false, true] {
        let client = client(&server.url()).await;
        let limiter = prefetching(&client, rate, 0.5);
        let before = scripts(&server);
        for _ in 0..2_000 {
            used += limiter.try_acquire(1).await.expect("answered").granted;
        }
        // Told by the requests: on a slow machine the rate brings what was fetched before anybody looks at the bucket.
        let asked = scripts(&server) - before;
        assert!(asked < 1_000, "some was fetched ahead: {asked} requests for 2,000 calls");
        if closes {
            client.close().await;
            assert!(others.peek().await.expect("answered").remaining >= 100_000 - used);
        } else {
            // By what the rate brings meanwhile it would take longer.
            let given_back = async {
                while others.peek().await.expect("answered").remaining < 100_000 - used {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            bounded(Duration::from_millis(100) + slack(), "it gives back", given_back).await;
        }
    }
}

/// Whatever its requests do meanwhile: some rounds end while a fetch is under way, behind tokens that are being given back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_closes_in_the_middle_of_a_fetch_keeps_nothing() {
    let server = Server::start();
    let rate = Rate::new(1_000, SECOND).burst(100_000);
    let others = client(&server.url()).await.rate_limiter("api", rate).expect("a limiter");
    for round in 0..200 {
        others.reset().await.expect("answered");
        let client = client(&server.url()).await;
        let limiter = prefetching(&client, rate, 0.5);
        let (mut used, before, began) = (0, scripts(&server), Instant::now());
        // The last fetches lie ahead of the calls.
        while scripts(&server) - before < 3 + round % 5 {
            for _ in 0..20 {
                used += limiter.try_acquire(1).await.expect("answered").granted;
            }
        }
        client.close().await;
        let remaining = others.peek().await.expect("answered").remaining;
        // The clocks may differ by a tenth: what has passed here may not have passed there for that long.
        let passed = began.elapsed().as_millis() as u64 / 10 + 1;
        assert!(remaining + passed >= 100_000 - used, "round {round}: {used} used, {remaining} left, {passed} passed");
    }
}

/// What was fetched is used, and then the policy decides: no later than after a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_server_what_was_fetched_comes_before_the_policy() {
    let mut server = Server::start();
    let client = client(&with_options(&server.url(), "response_timeout=200ms&operation_timeout=1s")).await;
    let rate = Rate::new(100_000, SECOND);
    let options = LimiterOptions::new(rate).prefetch(0.5).absent(Absent::Deny);
    let limiter = client.rate_limiter_with("api", options).expect("a limiter");
    for _ in 0..1_000 {
        assert!(limiter.try_acquire(1).await.expect("answered").allowed);
    }
    server.stop();
    let begun = Instant::now();
    let mut granted = 0;
    let denied = async {
        loop {
            let decision = limiter.try_acquire(1).await.expect("a policy decides");
            if !decision.allowed {
                return decision;
            }
            granted += 1;
        }
    };
    let denied = bounded(SECOND + slack(), "the policy decides", denied).await;
    assert_eq!(denied.server_time, None, "{denied:?}");
    assert!(granted > 0 && granted <= 50_000, "{granted} of what was fetched");
    println!("{granted} granted without a server, denied after {:?}", begun.elapsed());
}
