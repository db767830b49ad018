//! Algorithms, several rates and what a limiter is told outside of a decision, through the public calls, in memory and on a server.

use std::time::Duration;

use libdlock::limit::Algorithm;
use libdlock::{Client, ErrorKind, Rate, RateLimiter, Wait};
use libdlock_testkit::Server;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
const OWN: [Algorithm; 5] = [
    Algorithm::Gcra,
    Algorithm::FixedWindow,
    Algorithm::AlignedWindow,
    Algorithm::SlidingLog,
    Algorithm::SlidingCounter,
];

/// In memory, and on a server.
async fn both() -> (Option<Server>, [Client; 2]) {
    let server = Server::start();
    let clients = [Client::connect("memory://").await.unwrap(), Client::connect(&server.url()).await.unwrap()];
    (Some(server), clients)
}

async fn allowed(limiter: &RateLimiter, cost: u64) -> bool {
    limiter.try_acquire(cost).await.unwrap().allowed
}

#[tokio::test]
async fn every_algorithm_grants_its_tokens_and_no_more() {
    let (_server, clients) = both().await;
    for client in clients {
        for by in OWN {
            let limiter = client.rate_limiter(by.as_str(), Rate::new(5, HOUR).by(by)).unwrap();
            assert_eq!(limiter.rates()[0].algorithm(), by);
            assert!(allowed(&limiter, 3).await);
            let last = limiter.try_acquire(2).await.unwrap();
            assert_eq!((last.allowed, last.granted, last.remaining, last.limit), (true, 2, 0, 5), "{by:?}");
            let refused = limiter.try_acquire(1).await.unwrap();
            assert_eq!((refused.allowed, refused.refused_by), (false, Some(0)), "{by:?}");
            assert!(refused.retry_after.is_some_and(|after| !after.is_zero() && after <= 2 * HOUR), "{refused:?}");
            let never = limiter.acquire(6, Wait::Forever).await.unwrap();
            assert_eq!((never.allowed, never.retry_after), (false, None), "{by:?}");
            limiter.reset().await.unwrap();
            assert_eq!(limiter.peek().await.unwrap().remaining, 5, "{by:?}");
        }
    }
}

#[tokio::test]
async fn those_who_wait_get_their_tokens_by_every_algorithm() {
    let (_server, clients) = both().await;
    for client in clients {
        for by in OWN {
            let limiter = client.rate_limiter(by.as_str(), Rate::new(4, SECOND / 5).by(by)).unwrap();
            for _ in 0..3 {
                let decision = limiter.acquire(4, Wait::For(10 * SECOND)).await.unwrap();
                assert!(decision.allowed, "{by:?} {decision:?}");
            }
            let refused = limiter.acquire(4, Wait::For(Duration::from_millis(1))).await.unwrap();
            assert!(!refused.allowed, "{by:?}");
        }
    }
}

#[tokio::test]
async fn several_rates_are_charged_all_or_none() {
    let (server, clients) = both().await;
    for client in clients {
        let rates = [Rate::new(2, HOUR), Rate::new(3, 24 * HOUR).by(Algorithm::SlidingLog)];
        let limiter = client.rate_limiter("several", rates).unwrap();
        assert_eq!(limiter.rates().len(), 2);
        assert!(allowed(&limiter, 2).await);
        let refused = limiter.try_acquire(1).await.unwrap();
        assert_eq!((refused.allowed, refused.refused_by, refused.remaining), (false, Some(0), 0));
        // The second was not charged for it: one is left of its three.
        let first = client.rate_limiter("several", [rates[1], Rate::new(9, 48 * HOUR)]).unwrap();
        assert_eq!(first.peek().await.unwrap().remaining, 1);
        limiter.reset().await.unwrap();
        assert!(allowed(&limiter, 2).await);
    }
    let keys = server.unwrap().cmd(&["KEYS", "*{several}"]);
    let mut keys: Vec<String> = keys.array().iter().map(|key| key.text().to_owned()).collect();
    keys.sort();
    assert_eq!(keys, ["dlock_limit_3600000000:{several}", "dlock_limit_86400000000:{several}"]);
}

#[tokio::test]
async fn rates_that_contradict_each_other_are_refused() {
    let client = Client::connect("memory://").await.unwrap();
    let refused = |rates: Vec<Rate>| client.rate_limiter("api", rates).unwrap_err();
    for rates in [
        vec![],
        vec![Rate::new(10, SECOND), Rate::new(10, MINUTE)],
        vec![Rate::new(10, SECOND), Rate::new(5, SECOND)],
        vec![Rate::new(10, SECOND), Rate::new(10, SECOND)],
        (1..10).map(|more| Rate::new(10 * more, more as u32 * SECOND)).collect(),
        vec![Rate::new(10, SECOND), Rate::new(100, MINUTE).by(Algorithm::Redisson { per_client: false })],
        vec![Rate::new(100_001, SECOND).by(Algorithm::SlidingLog)],
        vec![Rate::new(10, SECOND).burst(5).by(Algorithm::FixedWindow)],
    ] {
        let refused = refused(rates.clone());
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{rates:?}");
        assert!(refused.allowed().is_some(), "{refused}");
    }
}

#[tokio::test]
async fn a_key_belongs_to_one_algorithm() {
    let (_server, clients) = both().await;
    for client in clients {
        for by in OWN {
            let name = by.as_str();
            assert!(allowed(&client.rate_limiter(name, Rate::new(5, HOUR).by(by)).unwrap(), 1).await);
            for other in OWN.into_iter().filter(|other| *other != by) {
                let windows = [Algorithm::FixedWindow, Algorithm::AlignedWindow];
                if windows.contains(&by) && windows.contains(&other) {
                    continue; // they differ in where a window begins, and share the rest
                }
                let limiter = client.rate_limiter(name, Rate::new(5, HOUR).by(other)).unwrap();
                let refused = limiter.try_acquire(1).await.unwrap_err();
                assert_eq!(refused.kind(), ErrorKind::WrongType, "{by:?} as {other:?}");
                // Each call says what the key is not, and what mends it.
                let told = [
                    Err(refused),
                    limiter.peek().await.map(drop),
                    limiter.reserve(1, Wait::Try).await.map(drop),
                    limiter.acquire(1, Wait::For(SECOND)).await.map(drop),
                    limiter.penalty(1).await,
                    limiter.reward(1).await,
                    limiter.block(SECOND).await,
                ];
                for told in told {
                    let told = told.unwrap_err().to_string();
                    let words = [name, other.as_str(), "the same algorithm everywhere", "reset"];
                    assert!(words.iter().all(|word| told.contains(word)), "{told}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_reservation_says_when_its_tokens_may_be_used() {
    let (_server, clients) = both().await;
    for client in clients {
        for by in OWN {
            let limiter = client.rate_limiter(by.as_str(), Rate::new(1, HOUR).by(by)).unwrap();
            let now = limiter.reserve(1, Wait::Try).await.unwrap();
            assert!(now.allowed && now.usable_after.is_zero(), "{by:?}");
            let refused = limiter.reserve(1, Wait::For(MINUTE)).await.unwrap();
            let soon = refused.retry_after.unwrap();
            assert!(!refused.allowed && soon > Duration::ZERO || soon <= MINUTE, "{by:?} {refused:?}");
            let later = limiter.reserve(1, Wait::Forever).await.unwrap();
            assert!(later.allowed && later.usable_after <= 2 * HOUR, "{by:?} {later:?}");
            let third = limiter.reserve(1, Wait::Forever).await.unwrap();
            assert!(third.usable_after > later.usable_after, "{by:?}");
        }
    }
}

/// The wait is for weeks, and the window of a second goes there with it.
#[tokio::test]
async fn a_cancelled_wait_shuts_no_shorter_window() {
    let (_server, clients) = both().await;
    for client in clients {
        for by in OWN {
            let name = format!("{}, two rates", by.as_str());
            let limiter =
                client.rate_limiter(&name, [Rate::new(10, SECOND).by(by), Rate::new(11, 1_000 * HOUR).by(by)]).unwrap();
            assert!(allowed(&limiter, 10).await);
            tokio::time::sleep(Duration::from_millis(1_050)).await;
            let waiting = limiter.acquire(5, Wait::Forever);
            let waited = tokio::time::timeout(Duration::from_millis(100), waiting).await;
            assert!(waited.is_err(), "{by:?} grants 15 of 11");
            let mut spent = 0;
            for _ in 0..100 {
                tokio::time::sleep(Duration::from_millis(10)).await;
                spent += u32::from(allowed(&limiter, 1).await);
            }
            assert!(spent >= 1, "{by:?} has a token left, and stays shut");
        }
    }
}

#[tokio::test]
async fn penalties_and_rewards_count_outside_of_decisions() {
    let (_server, clients) = both().await;
    for client in clients {
        for by in OWN {
            let limiter = client.rate_limiter(by.as_str(), Rate::new(5, HOUR).by(by)).unwrap();
            limiter.penalty(3).await.unwrap();
            assert_eq!(limiter.peek().await.unwrap().remaining, 2, "{by:?}");
            limiter.reward(2).await.unwrap();
            assert_eq!(limiter.peek().await.unwrap().remaining, 4, "{by:?}");
            // Never more than were taken.
            limiter.reward(5).await.unwrap();
            assert_eq!(limiter.peek().await.unwrap().remaining, 5, "{by:?}");
            limiter.penalty(5).await.unwrap();
            limiter.penalty(5).await.unwrap();
            let refused = limiter.try_acquire(1).await.unwrap();
            assert!(!refused.allowed && refused.retry_after.unwrap() > Duration::ZERO, "{by:?}");
            for tokens in [0, 6] {
                for refused in [limiter.penalty(tokens).await, limiter.reward(tokens).await] {
                    assert_eq!(refused.unwrap_err().allowed(), Some("1 to 5"), "{by:?}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_block_refuses_everybody_until_it_ends() {
    let (_server, clients) = both().await;
    for client in clients {
        for by in OWN {
            let limiter = client.rate_limiter(by.as_str(), Rate::new(5, MINUTE).by(by)).unwrap();
            limiter.block(HOUR).await.unwrap();
            let refused = limiter.try_acquire(1).await.unwrap();
            assert_eq!((refused.allowed, refused.refused_by), (false, None), "{by:?}");
            assert!(refused.retry_after.is_some_and(|after| after > 3_590 * SECOND && after <= HOUR), "{refused:?}");
            assert_eq!((refused.remaining, refused.reset_after), (0, refused.retry_after.unwrap()), "{by:?}");
            // What is reserved behind it is there when it ends, and what is left then is told.
            let reserved = limiter.reserve(1, Wait::Forever).await.unwrap();
            assert!(reserved.usable_after > 3_590 * SECOND && reserved.remaining == 4, "{by:?} {reserved:?}");
            limiter.reset().await.unwrap();
            // The last one counts, and those who wait get theirs behind it.
            limiter.block(Duration::from_millis(100)).await.unwrap();
            assert!(limiter.acquire(1, Wait::For(10 * SECOND)).await.unwrap().allowed, "{by:?}");
            limiter.block(HOUR).await.unwrap();
            limiter.block(Duration::ZERO).await.unwrap();
            assert!(allowed(&limiter, 1).await, "{by:?}");
            limiter.block(HOUR).await.unwrap();
            limiter.reset().await.unwrap();
            assert!(allowed(&limiter, 5).await, "{by:?}");
        }
        let limiter = client.rate_limiter("long", Rate::new(5, MINUTE)).unwrap();
        let refused = limiter.block(Duration::MAX).await.unwrap_err();
        assert_eq!((refused.kind(), refused.allowed()), (ErrorKind::InvalidArgument, Some("zero to 100 years")));
    }
}

/// A short block of many keys must not leave them for a whole period.
#[tokio::test]
async fn a_key_that_says_nothing_any_more_is_gone() {
    let server = Server::start();
    let client = Client::connect(&server.url()).await.unwrap();
    for by in OWN {
        let limiter = client.rate_limiter(by.as_str(), Rate::new(5, 24 * HOUR).by(by)).unwrap();
        let ends_soon = || {
            let ttl = server.cmd(&["PTTL", &format!("dlock_limit:{{{}}}", by.as_str())]).int();
            assert!((-2..=60).contains(&ttl) && ttl != -1, "{by:?}: {ttl} ms");
        };
        limiter.block(Duration::ZERO).await.unwrap();
        ends_soon();
        limiter.block(Duration::from_millis(50)).await.unwrap();
        ends_soon();
        limiter.reset().await.unwrap();
        assert!(allowed(&limiter, 1).await);
        limiter.reward(1).await.unwrap();
        ends_soon();
    }
}

#[tokio::test]
async fn a_limiter_of_redisson_has_no_more_than_redisson_has() {
    let client = Client::connect("memory://").await.unwrap();
    let rate = Rate::new(5, SECOND).by(Algorithm::Redisson { per_client: false });
    let limiter = client.rate_limiter("api", rate).unwrap();
    for refused in [
        limiter.reserve(1, Wait::Try).await.unwrap_err(),
        limiter.penalty(1).await.unwrap_err(),
        limiter.reward(1).await.unwrap_err(),
        limiter.block(SECOND).await.unwrap_err(),
    ] {
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument);
        assert_eq!(refused.allowed(), Some("a limiter by any other algorithm"), "{refused}");
    }
}
