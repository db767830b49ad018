//! Callers that a host asks for at once get what each would have got by itself.

use std::time::Duration;

use libdlock::embed::{parts, try_acquire_each};
use libdlock::limit::{Absent, Algorithm, LimiterOptions};
use libdlock::{Client, ErrorKind, Rate, RateLimiter};
use libdlock_testkit::{Cluster, Server};

const HOUR: Duration = Duration::from_secs(3_600);
const OWN: [Algorithm; 5] = [
    Algorithm::Gcra,
    Algorithm::FixedWindow,
    Algorithm::AlignedWindow,
    Algorithm::SlidingLog,
    Algorithm::SlidingCounter,
];

async fn client(server: &Server) -> Client {
    Client::connect(&server.url()).await.unwrap()
}

fn scripts(server: &Server) -> u64 {
    let stats = server.cmd(&["INFO", "commandstats"]);
    let calls = stats.text().split("cmdstat_evalsha:calls=").nth(1);
    calls.map_or(0, |calls| calls.split(',').next().unwrap().parse().unwrap())
}

/// What each was granted, or its error.
async fn granted(limiter: &RateLimiter, asks: &[(Option<&str>, u64)]) -> Vec<Result<u64, ErrorKind>> {
    let answers = try_acquire_each(limiter, asks).await;
    answers.into_iter().map(|answer| answer.map(|decision| decision.granted).map_err(|error| error.kind())).collect()
}

#[tokio::test]
async fn those_that_are_alike_need_one_script() {
    let server = Server::start();
    let client = client(&server).await;
    for by in OWN {
        let limiter = client.rate_limiter(by.as_str(), Rate::new(10_000, 1_000 * HOUR).by(by)).unwrap();
        limiter.try_acquire(1).await.unwrap();
        let before = scripts(&server);
        assert_eq!(granted(&limiter, &[(None, 2); 500]).await, vec![Ok(2); 500]);
        assert_eq!(scripts(&server) - before, 1, "{by:?}");
        assert_eq!(limiter.peek().await.unwrap().remaining, 10_000 - 1 - 1_000, "{by:?}");
    }
    let stats = client.stats().limiter;
    assert_eq!((stats.granted, stats.tokens), (5 * 501, 5 * 1_001));
}

#[tokio::test]
async fn the_first_get_what_is_left_and_the_rest_nothing() {
    let server = Server::start();
    let client = client(&server).await;
    for by in OWN {
        let limiter = client.rate_limiter(by.as_str(), Rate::new(10, 1_000 * HOUR).by(by)).unwrap();
        assert_eq!(granted(&limiter, &[(None, 2); 2]).await, [Ok(2), Ok(2)], "{by:?}");
        assert_eq!(granted(&limiter, &[(None, 2); 5]).await, [Ok(2), Ok(2), Ok(2), Ok(0), Ok(0)], "{by:?}");
        // A sum was refused just now, and then one that is more than there can ever be.
        assert_eq!(granted(&limiter, &[(None, 1); 3]).await, [Ok(0); 3], "{by:?}");
        limiter.reset().await.unwrap();
        let twelve: Vec<Result<u64, ErrorKind>> = [vec![Ok(1); 10], vec![Ok(0); 2]].concat();
        assert_eq!(granted(&limiter, &[(None, 1); 12]).await, twelve, "{by:?}");
    }
}

/// Costs and keys as they come: what each gets is what it would get alone, one behind the other.
#[tokio::test]
async fn costs_and_keys_in_any_order_are_judged_in_their_order() {
    let server = Server::start();
    let client = client(&server).await;
    let rate = Rate::new(12, 1_000 * HOUR);
    for round in 0..20_u64 {
        let each = client.rate_limiter(&format!("each-{round}"), rate).unwrap();
        let alone = client.rate_limiter(&format!("alone-{round}"), rate).unwrap();
        let asks: Vec<(Option<&str>, u64)> = (0..30)
            .map(|at| {
                let dice = (round * 31 + at) * 2_654_435_761 % 97;
                ([None, Some("a"), Some("b")][(dice % 3) as usize], [0, 1, 1, 1, 3, 20][(dice % 6) as usize])
            })
            .collect();
        let mut expected = Vec::new();
        for (key, cost) in &asks {
            let bucket = key.map_or_else(|| alone.clone(), |key| alone.keyed(key).unwrap());
            expected
                .push(bucket.try_acquire(*cost).await.map(|decision| decision.granted).map_err(|error| error.kind()));
        }
        assert_eq!(granted(&each, &asks).await, expected, "{asks:?}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_one_is_no_matter_of_the_others() {
    let server = Server::start();
    let limiter = client(&server).await.rate_limiter("api", Rate::new(5, HOUR)).unwrap();
    server.cmd(&["HSET", "dlock_limit:{api:odd}", "a", "hash"]);
    let asks =
        [(Some("a"), 1), (Some(""), 1), (Some("odd"), 1), (Some("odd"), 1), (Some("a"), 1), (None, 1), (None, 1)];
    let (name, of_another_kind) = (ErrorKind::InvalidName, ErrorKind::WrongType);
    let expected = [Ok(1), Err(name), Err(of_another_kind), Err(of_another_kind), Ok(1), Ok(1), Ok(1)];
    assert_eq!(granted(&limiter, &asks).await, expected);
}

#[tokio::test]
async fn each_is_decided_by_the_policy_while_the_server_is_away() {
    let server = Server::start();
    let client = client(&server).await;
    let share = LimiterOptions::new(Rate::new(40, HOUR)).absent(Absent::LocalShare { of: 10 });
    let limiter = client.rate_limiter_with("api", share).unwrap();
    assert_eq!(granted(&limiter, &[(None, 1); 2]).await, [Ok(1); 2]);
    drop(server);
    let answers = granted(&limiter, &[(None, 1); 6]).await;
    assert_eq!(answers, [Ok(1), Ok(1), Ok(1), Ok(1), Ok(0), Ok(0)]);
    let strict = client.rate_limiter("strict", Rate::new(40, HOUR)).unwrap();
    client.close().await;
    assert_eq!(granted(&strict, &[(None, 1), (Some("a"), 1)]).await, [Err(ErrorKind::Closed); 2]);
}

#[tokio::test]
async fn only_what_nobody_else_delays_is_answered_together() {
    let cluster = Cluster::start();
    let client = Client::connect(&cluster.url()).await.unwrap();
    let limiter = client.rate_limiter("api", Rate::new(5, HOUR)).unwrap();
    let asks = [(None, 1), (None, 1), (Some("a"), 1), (Some("b"), 1), (Some("b"), 2)];
    assert_eq!(parts(&limiter, &asks), [2, 1, 2]);
    let client = Client::connect("memory://").await.unwrap();
    let open = |options| client.rate_limiter_with("api", options).unwrap();
    assert_eq!(parts(&open(LimiterOptions::new(Rate::new(5, HOUR))), &asks), [5]);
    assert_eq!(
        parts(&open(LimiterOptions::new(Rate::new(1_000_000, Duration::from_secs(1))).prefetch(0.5)), &asks),
        [1, 1, 3]
    );
    let redisson = Rate::new(5, HOUR).by(Algorithm::Redisson { per_client: false });
    let limiter = client.rate_limiter("other", redisson).unwrap();
    assert_eq!(parts(&limiter, &asks), [1; 5]);
    assert_eq!(parts(&limiter, &[]), [0; 0]);
}
