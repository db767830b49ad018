//! What a limiter of Redisson does, on `memory://` and on a real server.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::contended::place::{Place, SOON, settle, soon, still_client};
use crate::event::{Event, Level};
use crate::limit::{Absent, Algorithm, LimiterOptions};
use crate::{Client, Config, Decision, ErrorKind, Rate, RateLimiter, Wait};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

fn overall(tokens: u64, per: Duration) -> Rate {
    Rate::new(tokens, per).by(Algorithm::Redisson { per_client: false })
}

fn per_client(tokens: u64, per: Duration) -> Rate {
    Rate::new(tokens, per).by(Algorithm::Redisson { per_client: true })
}

fn api(client: &Client, rate: Rate) -> RateLimiter {
    client.rate_limiter("api", rate).unwrap()
}

/// A client of this place, and what it tells of.
async fn listened(place: &Place) -> (Client, Arc<Mutex<Vec<Event>>>) {
    let told: Arc<Mutex<Vec<Event>>> = Arc::default();
    let mut config = Config::from_url(&place.url).unwrap();
    let listener = told.clone();
    config.on_event(Arc::new(move |event: &Event| listener.lock().unwrap().push(event.clone())));
    (Client::connect_with(config).await.unwrap(), told)
}

#[tokio::test]
async fn what_redisson_cannot_have_is_refused_before_any_io() {
    let (client, _clock) = still_client().await;
    for rate in [
        overall(0, SECOND),
        overall(1 << 32, SECOND),
        overall(1, Duration::ZERO),
        overall(1, Duration::from_micros(1_500)),
        overall(1, Duration::MAX),
        overall(5, SECOND).burst(6),
    ] {
        let refused = client.rate_limiter("api", rate).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{rate:?}");
        assert!(refused.allowed().is_some());
    }
    assert!(client.rate_limiter("api", overall((1 << 32) - 1, 100 * 31_557_600 * SECOND)).is_ok());
    let never = api(&client, overall(5, SECOND)).try_acquire(1 << 32).await.unwrap();
    assert!(!never.allowed && never.retry_after.is_none() && never.remaining == 5 && never.refused_by == Some(0));
}

#[tokio::test]
async fn a_decision_says_how_things_stand() {
    let (client, clock) = still_client().await;
    let api = api(&client, overall(5, SECOND));
    let ms = Duration::from_millis;
    let facts = |decision: Decision| {
        assert!(decision.server_time.is_some() && decision.limit == 5);
        (decision.allowed, decision.granted, decision.remaining)
    };
    // A ms more or less: Redisson's log is in ms, and the clock need not begin with a whole one.
    let about = |wait: Option<Duration>, expected: Duration| {
        wait.is_some_and(|wait| wait <= expected + ms(1) && wait + ms(1) >= expected)
    };
    assert_eq!(facts(api.peek().await.unwrap()), (true, 0, 5));
    assert_eq!(facts(api.try_acquire(2).await.unwrap()), (true, 2, 3));
    clock.advance(ms(400));
    let last = api.try_acquire(3).await.unwrap();
    assert_eq!((facts(last), last.retry_after), ((true, 3, 0), Some(Duration::ZERO)));
    assert!(about(Some(last.reset_after), SECOND));
    for (cost, wait) in [(1, 600), (2, 600), (3, 1_000), (5, 1_000)] {
        let refused = api.try_acquire(cost).await.unwrap();
        assert_eq!(facts(refused), (false, 0, 0));
        assert!(about(refused.retry_after, ms(wait)), "{cost}: {refused:?}");
        assert!(about(Some(refused.reset_after), SECOND));
    }
    let looked = api.peek().await.unwrap();
    assert_eq!(facts(looked), (false, 0, 0));
    assert!(about(looked.retry_after, ms(600)));
    clock.advance(ms(602));
    assert_eq!(facts(api.peek().await.unwrap()), (true, 0, 2));
    api.reset().await.unwrap();
    assert_eq!(facts(api.peek().await.unwrap()), (true, 0, 5));
}

#[tokio::test]
async fn all_clients_share_or_each_has_its_own() {
    for place in Place::both() {
        let (one, other) = (place.client().await, place.client().await);
        let shared = |client: &Client| client.rate_limiter("shared", overall(3, HOUR)).unwrap();
        assert!(shared(&one).try_acquire(2).await.unwrap().allowed);
        assert!(!shared(&other).try_acquire(2).await.unwrap().allowed);
        let own = |client: &Client| client.rate_limiter("own", per_client(3, HOUR)).unwrap();
        assert!(own(&one).try_acquire(2).await.unwrap().allowed);
        assert!(own(&other).try_acquire(3).await.unwrap().allowed);
        assert!(!own(&one).try_acquire(2).await.unwrap().allowed);
        // Each client resets its own.
        own(&one).reset().await.unwrap();
        assert_eq!(own(&one).peek().await.unwrap().remaining, 3);
        assert_eq!(own(&other).peek().await.unwrap().remaining, 0);
    }
}

#[tokio::test]
async fn the_rate_on_the_server_counts_and_is_told_once() {
    for place in Place::both() {
        let first = place.client().await;
        assert!(api(&first, overall(3, HOUR)).try_acquire(1).await.unwrap().allowed);
        let (client, told) = listened(&place).await;
        let other = per_client(10, SECOND);
        for _ in 0..3 {
            // Made anew for each, as a program may do it.
            assert_eq!(api(&client, other).try_acquire(1).await.unwrap().limit, 3);
        }
        let other = api(&client, other);
        for never in [other.try_acquire(4).await.unwrap(), other.acquire(4, Wait::Forever).await.unwrap()] {
            assert!(!never.allowed && never.retry_after.is_none(), "{never:?}");
            assert_eq!((never.limit, never.remaining), (3, 0));
        }
        let told = told.lock().unwrap();
        let warnings: Vec<_> = told.iter().filter(|event| event.level == Level::Warn).collect();
        assert_eq!(warnings.len(), 1, "{told:?}");
        assert!(warnings[0].message.contains("3 in 3600s") && warnings[0].message.contains("10 in 1s for each client"));
    }
}

#[tokio::test]
async fn a_look_makes_nothing() {
    let place = Place::server();
    let client = place.client().await;
    let decision = api(&client, overall(5, SECOND)).peek().await.unwrap();
    assert!(decision.allowed && decision.remaining == 5 && decision.reset_after.is_zero());
    assert_eq!(place.server.as_ref().unwrap().cmd(&["DBSIZE"]).int(), 0);
}

#[tokio::test]
async fn keys_of_other_things_are_refused_and_untouched() {
    let place = Place::server();
    let (client, server) = (place.client().await, place.server.as_ref().unwrap());
    let api = api(&client, overall(5, HOUR));
    let good = &["HSET", "api", "rate", "5", "interval", "3600000", "type", "0"][..];
    for keys in [
        vec![&["SET", "api", "5"][..]],
        vec![&["HSET", "api", "6e3814a1-e847-452b-a982-45baf93a1df2:1", "1"][..]],
        // Half-written.
        vec![&["HSET", "api", "rate", "5"][..]],
        vec![&["HSET", "api", "rate", "5", "interval", "1000"][..]],
        vec![&["HSET", "api", "rate", "5", "interval", "1000", "type", "OVERALL"][..]],
        vec![good, &["SET", "{api}:value", "many"][..]],
        vec![good, &["HSET", "{api}:value", "a", "b"][..]],
        vec![good, &["SET", "{api}:permits", "1"][..]],
        // Of Redisson before 3.17.3.
        vec![good, &["ZADD", "{api}:permits", "9999999999999", "8 bytes."][..]],
    ] {
        server.cmd(&["FLUSHALL"]);
        keys.iter().for_each(|command| drop(server.cmd(command)));
        let dump = || ["api", "{api}:value", "{api}:permits"].map(|key| server.cmd(&["DUMP", key]));
        let before = dump();
        let refused = [api.try_acquire(1).await, api.acquire(1, Wait::Forever).await, api.peek().await];
        for refused in refused {
            assert_eq!(refused.unwrap_err().kind(), ErrorKind::WrongType, "{keys:?}");
        }
        assert_eq!(dump(), before, "{keys:?}");
    }
}

#[tokio::test]
async fn a_lock_and_a_limiter_of_one_name_exclude_each_other() {
    for place in Place::both() {
        let client = place.client().await;
        let held = client.lock("api").unwrap().acquire().await.unwrap();
        let api = api(&client, overall(5, SECOND));
        assert_eq!(api.try_acquire(1).await.unwrap_err().kind(), ErrorKind::WrongType);
        assert_eq!(api.reset().await.unwrap_err().kind(), ErrorKind::WrongType);
        held.release().await.unwrap();
        assert!(api.try_acquire(1).await.unwrap().allowed);
    }
}

#[tokio::test]
async fn keys_that_we_make_end_by_themselves() {
    let place = Place::server();
    let (client, server) = (place.client().await, place.server.as_ref().unwrap());
    let ttl = |key: &str| server.cmd(&["PTTL", key]).int();
    let day = 86_400_000;
    client.rate_limiter("all", overall(5, SECOND)).unwrap().try_acquire(1).await.unwrap();
    for key in ["all", "{all}:value", "{all}:permits"] {
        assert!((day - 9_000..=day + 1_000).contains(&ttl(key)), "{key}");
    }
    // The keys of one client end with its log where Redisson gives them no end.
    server.cmd(&["HSET", "own", "rate", "5", "interval", "60000", "type", "1", "keepAliveTime", "0"]);
    client.rate_limiter("own", per_client(5, SECOND)).unwrap().try_acquire(1).await.unwrap();
    assert_eq!(ttl("own"), -1);
    let keys = server.cmd(&["KEYS", "{own}:*"]);
    assert_eq!(keys.array().len(), 2);
    for key in keys.array() {
        assert!((50_000..=60_002).contains(&ttl(key.text())), "{key:?}");
    }
}

#[tokio::test]
async fn waiters_of_one_client_are_served_in_order() {
    let (client, clock) = still_client().await;
    let api = api(&client, overall(4, SECOND));
    assert!(api.try_acquire(4).await.unwrap().allowed);
    let served: Arc<Mutex<Vec<u64>>> = Arc::default();
    // The later would be content with less, and sooner.
    let mut waiters = Vec::new();
    for cost in [4, 3, 1] {
        let (api, served) = (api.clone(), served.clone());
        waiters.push(tokio::spawn(async move {
            let decision = api.acquire(cost, Wait::Forever).await.unwrap();
            assert!(decision.allowed && decision.granted == cost);
            served.lock().unwrap().push(cost);
        }));
        settle().await;
    }
    for expected in [&[][..], &[4], &[4, 3, 1]] {
        assert_eq!(*served.lock().unwrap(), expected);
        clock.advance(SECOND + Duration::from_millis(2));
        settle().await;
    }
}

#[tokio::test]
async fn a_wait_that_is_too_short_is_refused_in_time() {
    let (client, clock) = still_client().await;
    let api = api(&client, overall(1, SECOND));
    assert!(api.try_acquire(1).await.unwrap().allowed);
    // At once, since the permit comes later.
    let refused = api.acquire(1, Wait::For(SECOND / 2)).await.unwrap();
    assert!(!refused.allowed && refused.retry_after > Some(SECOND / 2));
    // Behind somebody who waits, when the time is over.
    let first = tokio::spawn({
        let api = api.clone();
        async move { api.acquire(1, Wait::Forever).await }
    });
    settle().await;
    let second = tokio::spawn({
        let api = api.clone();
        async move { api.acquire(1, Wait::For(SECOND / 2)).await }
    });
    settle().await;
    assert!(!second.is_finished());
    clock.advance(SECOND / 2);
    settle().await;
    assert!(!soon("its time is over", second).await.unwrap().unwrap().allowed);
    clock.advance(SECOND);
    settle().await;
    assert!(soon("the permit is there", first).await.unwrap().unwrap().allowed);
}

#[tokio::test]
async fn a_waiter_that_gives_up_leaves_its_turn_to_the_next() {
    let (client, clock) = still_client().await;
    let api = api(&client, overall(1, SECOND));
    assert!(api.try_acquire(1).await.unwrap().allowed);
    let start = || {
        let api = api.clone();
        tokio::spawn(async move { api.acquire(1, Wait::Forever).await })
    };
    let first = start();
    settle().await;
    let second = start();
    settle().await;
    first.abort();
    settle().await;
    clock.advance(SECOND + Duration::from_millis(2));
    settle().await;
    assert!(soon("the second is served", second).await.unwrap().unwrap().allowed);
}

#[tokio::test]
async fn closing_ends_every_wait() {
    let (client, _clock) = still_client().await;
    let api = api(&client, overall(1, HOUR));
    assert!(api.try_acquire(1).await.unwrap().allowed);
    let waiters: Vec<_> = (0..3)
        .map(|_| {
            let api = api.clone();
            tokio::spawn(async move { api.acquire(1, Wait::Forever).await })
        })
        .collect();
    settle().await;
    client.close().await;
    for waiter in waiters {
        assert_eq!(soon("it ends", waiter).await.unwrap().unwrap_err().kind(), ErrorKind::Closed);
    }
    assert_eq!(api.try_acquire(1).await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn waiters_of_many_clients_get_the_rate_and_no_more() {
    let place = Place::server();
    let per = Duration::from_millis(200);
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let client = place.client().await;
        for _ in 0..3 {
            let api = api(&client, overall(5, per));
            tasks.push(tokio::spawn(async move {
                let mut grants = Vec::new();
                for _ in 0..4 {
                    grants.push(api.acquire(1, Wait::For(SOON)).await.unwrap());
                }
                grants
            }));
        }
    }
    let mut at = Vec::new();
    for task in tasks {
        for decision in soon("all are served", task).await.unwrap() {
            assert!(decision.allowed);
            at.push(decision.server_time.unwrap());
        }
    }
    at.sort_unstable();
    assert_eq!(at.len(), 48);
    for six in at.windows(6) {
        assert!(six[5].duration_since(six[0]).unwrap() >= per, "six within {per:?}");
    }
}

#[tokio::test]
async fn a_large_log_that_is_over_holds_nobody_up() {
    let place = Place::server();
    let (client, server) = (place.client().await, place.server.as_ref().unwrap());
    let fill = "for i = 1, ARGV[1] do \
        redis.call('ZADD', KEYS[1], 1, '\\16' .. string.format('%016d', i) .. '\\1\\0\\0\\0') end";
    let fill = |entries: &str| drop(server.cmd(&["EVAL", fill, "1", "{api}:permits", entries]));
    let entries = || server.cmd(&["ZCARD", "{api}:permits"]).int();
    fill("100000");
    server.cmd(&["SET", "{api}:value", "0"]);
    let api = api(&client, overall(100_000, HOUR));
    let decision = api.try_acquire(1).await.unwrap();
    assert!(decision.allowed && decision.remaining == 99_999);
    assert_eq!(entries(), 1, "all of it is dropped, without a look at each");
    // Where an entry still counts, the others are added up, so many at a time as are needed.
    fill("9999");
    server.cmd(&["SET", "{api}:value", "90000"]);
    assert!(api.try_acquire(90_001).await.unwrap().allowed);
    assert_eq!(entries(), 10_000 - 500 + 1);
    assert!(api.try_acquire(9_000).await.unwrap().allowed);
    assert!(entries() < 1_100);
    assert!(!api.try_acquire(1_000).await.unwrap().allowed);
    assert!(api.try_acquire(998).await.unwrap().allowed);
    assert_eq!(server.cmd(&["GET", "{api}:value"]).text(), "0");
}

#[tokio::test]
async fn a_policy_answers_without_a_server() {
    let place = Place::server();
    let client = place.client().await;
    let options = |absent| LimiterOptions::new(overall(5, HOUR)).absent(absent);
    let deny = client.rate_limiter_with("api", options(Absent::Deny)).unwrap();
    let share = client.rate_limiter_with("api", options(Absent::LocalShare { of: 5 })).unwrap();
    assert!(deny.try_acquire(1).await.unwrap().allowed);
    drop(place);
    let denied = deny.try_acquire(1).await.unwrap();
    assert!(!denied.allowed && denied.server_time.is_none());
    let shared = share.acquire(1, Wait::For(SOON)).await.unwrap();
    assert!(shared.allowed && shared.server_time.is_none() && shared.limit == 1);
    assert!(!share.try_acquire(1).await.unwrap().allowed);
}
