//! Locks on several independent servers, of which a majority grants them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libdlock::lease::Lease;
use libdlock::lock::LockOptions;
use libdlock::{Client, Config, ErrorKind, Rate};
use libdlock_testkit::server::Data;
use libdlock_testkit::{Server, eventually};

/// Far beyond what a busy machine needs.
const PATIENCE: Duration = Duration::from_secs(20);

const NAME: &str = "jobs";

struct Servers(Vec<Server>);

impl Servers {
    fn start(number: usize) -> Servers {
        Servers((0..number).map(|_| Server::start()).collect())
    }

    fn url(&self, options: &str) -> String {
        let addresses: Vec<String> = self.0.iter().map(|server| server.address().to_string()).collect();
        format!("redis+quorum://{}?response_timeout=300ms&operation_timeout=2s&{options}", addresses.join(","))
    }

    /// A client of servers that lose nothing: none of them has run for long.
    async fn client(&self) -> Client {
        Client::connect(&self.url("data_survives=true")).await.unwrap()
    }

    /// How many have a field of the lock.
    fn fields(&self) -> usize {
        self.0.iter().filter(|server| server.keys().iter().any(|key| key == NAME)).count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_at_five_servers_goes_from_client_to_client() {
    let servers = Servers::start(5);
    let (one, other) = (servers.client().await, servers.client().await);
    let held = one.lock(NAME).unwrap().acquire().await.unwrap();
    assert!(servers.fields() >= 3);
    let lock = other.lock(NAME).unwrap();
    assert!(lock.try_acquire().await.unwrap().is_none());
    let waiting = tokio::spawn(async move { lock.acquire_timeout(PATIENCE).await });
    let first = held.token();
    held.release().await.unwrap();
    let next = waiting.await.unwrap().unwrap();
    assert!(next.token() > first);
    next.release().await.unwrap();
    eventually(PATIENCE, "nothing is left", || servers.fields() == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_wakes_a_waiter_before_its_timer() {
    let servers = Servers::start(3);
    let url = servers.url("data_survives=true&poll_interval=2s");
    let (one, other) = (Client::connect(&url).await.unwrap(), Client::connect(&url).await.unwrap());
    for _ in 0..5 {
        let held = one.lock(NAME).unwrap().acquire().await.unwrap();
        let lock = other.lock(NAME).unwrap();
        let waiting = tokio::spawn(async move { lock.acquire_timeout(PATIENCE).await });
        eventually(PATIENCE, "the waiter listens", || {
            let counts = servers
                .0
                .iter()
                .map(|server| server.cmd(&["PUBSUB", "NUMSUB", "redisson_lock__channel:{jobs}"]).array()[1].int());
            counts.sum::<i64>() == 3
        });
        let released = Instant::now();
        held.release().await.unwrap();
        waiting.await.unwrap().unwrap().release().await.unwrap();
        // Less than half of the timer.
        assert!(released.elapsed() < Duration::from_secs(1), "{:?}", released.elapsed());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn any_two_of_five_servers_may_be_down() {
    let mut servers = Servers::start(5);
    let client = servers.client().await;
    let lock = client.lock(NAME).unwrap();
    let mut last = 0;
    for pair in [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)] {
        servers.0[pair.0].stop();
        servers.0[pair.1].stop();
        let held = lock.acquire_timeout(PATIENCE).await.unwrap();
        assert!(held.token() > last);
        last = held.token();
        held.release().await.unwrap();
        servers.0[pair.0].start_again();
        servers.0[pair.1].start_again();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_majority_nothing_is_granted() {
    let mut servers = Servers::start(5);
    let client = servers.client().await;
    for server in &mut servers.0[..3] {
        server.stop();
    }
    let refused = client.lock(NAME).unwrap().try_acquire().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Connection);
    assert!(refused.message().contains("3 of 5 servers have to agree"), "{refused}");
    eventually(PATIENCE, "the minority is released", || {
        servers.0[3..].iter().all(|server| !server.keys().contains(&NAME.to_owned()))
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_comes_late_is_undone() {
    let servers = Servers::start(5);
    let client = servers.client().await;
    let lock = client.lock(NAME).unwrap();
    for server in &servers.0[..3] {
        server.pause();
    }
    assert!(lock.try_acquire().await.is_err());
    for server in &servers.0[..3] {
        server.resume();
    }
    // Far below the lease of 30 s.
    eventually(Duration::from_secs(10), "the late grants are undone", || servers.fields() == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_minority_grant_is_undone() {
    let servers = Servers::start(3);
    let client = servers.client().await;
    let foreign = "11111111-2222-4333-8444-555555555555:1";
    for server in &servers.0[..2] {
        server.cmd(&["HSET", NAME, foreign, "1"]);
        server.cmd(&["PEXPIRE", NAME, "60000"]);
    }
    let refused = client.lock(NAME).unwrap().try_acquire().await.unwrap();
    assert!(refused.is_none());
    eventually(PATIENCE, "the minority is released", || servers.fields() == 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_its_data_does_not_count() {
    let mut servers = Servers::start(3);
    let client = Client::connect(&servers.url("lease=1s&longest_lease=1s")).await.unwrap();
    let lock = client.lock(NAME).unwrap();
    let early = lock.try_acquire().await.unwrap_err();
    assert!(early.message().contains("does not count yet"), "{early}");
    lock.acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    servers.0[0].restart(Data::Lost);
    servers.0[1].restart(Data::Lost);
    let restarted = Instant::now();
    lock.acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
    assert!(restarted.elapsed() > Duration::from_secs(1), "{:?}", restarted.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_outlives_restarts_one_after_another() {
    let mut servers = Servers::start(3);
    let client = Client::connect(&servers.url("lease=2s&longest_lease=2s")).await.unwrap();
    let held = client.lock(NAME).unwrap().acquire_timeout(PATIENCE).await.unwrap();
    for number in 0..3 {
        servers.0[number].restart(Data::Lost);
        eventually(PATIENCE, "the lock is taken again", || servers.fields() == 3);
        // Until it counts again.
        tokio::time::sleep(Duration::from_millis(3500)).await;
        assert!(held.is_valid());
    }
    held.release().await.unwrap();
}

/// A hold as its holder saw it.
#[derive(Debug)]
struct Held {
    token: u64,
    from: Instant,
    /// It was released, or was to be trusted no longer.
    until: Instant,
}

/// Clients take the lock one after another while `fault` does what it likes to the servers, one server after another.
async fn hand_over(
    servers: Servers,
    options: &str,
    hand_overs: usize,
    fault: impl Fn(&mut Server, usize) + Send + 'static,
) {
    let url = servers.url(options);
    let history = Arc::new(Mutex::new(Vec::new()));
    let mut work = Vec::new();
    for _ in 0..3 {
        let (client, history) = (Client::connect(&url).await.unwrap(), history.clone());
        work.push(tokio::spawn(async move {
            let lock = client.lock(NAME).unwrap();
            while history.lock().unwrap().len() < hand_overs {
                let Ok(held) = lock.acquire_timeout(PATIENCE).await else { continue };
                let (from, remaining) = (Instant::now(), held.remaining());
                tokio::time::sleep(Duration::from_millis(1)).await;
                let until = Instant::now().min(from + remaining);
                history.lock().unwrap().push(Held { token: held.token(), from, until });
                // It may be lost meanwhile, which is no fault.
                let _ = held.release().await;
            }
        }));
    }
    let stop = Arc::new(AtomicBool::new(false));
    let faults = std::thread::spawn({
        let (stop, mut servers) = (stop.clone(), servers);
        move || {
            for round in 0.. {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                fault(&mut servers.0[round % 5], round);
            }
        }
    });
    for work in work {
        tokio::time::timeout(Duration::from_secs(400), work).await.expect("hand-overs go on").unwrap();
    }
    stop.store(true, Ordering::SeqCst);
    faults.join().unwrap();
    let mut history = std::mem::take(&mut *history.lock().unwrap());
    history.sort_by_key(|held| held.from);
    for pair in history.windows(2) {
        assert!(pair[0].token < pair[1].token && pair[0].until <= pair[1].from, "{pair:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_grow_while_servers_stop_and_go_on() {
    let pause = |server: &mut Server, _| {
        server.pause();
        std::thread::sleep(Duration::from_millis(50));
        server.resume();
        std::thread::sleep(Duration::from_millis(20));
    };
    hand_over(Servers::start(5), "data_survives=true", 200, pause).await;
}

/// One server after another is stopped for a while, or comes back without its data. Their clocks differ.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "minutes"]
async fn tokens_grow_over_ten_thousand_hand_overs() {
    let with_offset = |number: i64| {
        let server = Server::options().clock().start();
        server.clock().offset((number - 2) * 200_000);
        server
    };
    let servers = Servers((0..5).map(with_offset).collect());
    let fault = |server: &mut Server, round: usize| {
        match round % 3 {
            0 => server.restart(Data::Lost),
            1 => {
                server.stop();
                std::thread::sleep(Duration::from_millis(200));
                server.start_again();
            }
            _ => {
                server.pause();
                std::thread::sleep(Duration::from_millis(500));
                server.resume();
            }
        }
        // So that no more than two of five do not count.
        std::thread::sleep(Duration::from_millis(1300));
    };
    hand_over(servers, "lease=1s&longest_lease=1s", 10_000, fault).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_wait_goes_on_while_too_few_servers_count() {
    let servers = Servers::start(3);
    let client = Client::connect(&servers.url("lease=1s&longest_lease=1s")).await.unwrap();
    let lock = client.lock(NAME).unwrap();
    assert!(lock.try_acquire().await.is_err());
    let held = tokio::time::timeout(PATIENCE, lock.acquire()).await.unwrap().unwrap();
    held.release().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_wait_ends_when_too_many_servers_are_down() {
    let mut servers = Servers::start(3);
    let client = servers.client().await;
    servers.0[0].stop();
    servers.0[1].stop();
    let began = Instant::now();
    let acquiring = client.lock(NAME).unwrap();
    let refused = tokio::time::timeout(PATIENCE, acquiring.acquire()).await.unwrap().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Connection, "{refused}");
    // `operation_timeout`.
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_a_client_frees_its_holds_everywhere() {
    let servers = Servers::start(5);
    // Now and then a renewal is under way, because a server was connected only then.
    for _ in 0..20 {
        let client = servers.client().await;
        let held = client.lock(NAME).unwrap().acquire().await.unwrap();
        client.close_releasing().await.unwrap();
        assert_eq!(servers.fields(), 0, "{held:?}");
    }
}

#[tokio::test]
async fn only_locks_can_be_had_of_several_servers() {
    let servers = Servers::start(3);
    let client = servers.client().await;
    let second = Duration::from_secs(1);
    let refused = [
        client.semaphore("permits", 3).err(),
        client.rw_lock("book").err(),
        client.latch("start").err(),
        client.rate_limiter("calls", Rate::new(5, second)).err(),
        client.lock_all(["a", "b"]).err(),
    ];
    for refused in refused {
        let refused = refused.expect("a refusal");
        assert_eq!(refused.kind(), ErrorKind::Unsupported, "{refused}");
        assert!(refused.message().contains("agree on who holds a lock, and on nothing else"), "{refused}");
    }
}

#[tokio::test]
async fn a_lease_beyond_the_longest_lease_is_refused() {
    let servers = Servers::start(3);
    let client = servers.client().await;
    let lock = client.lock_with(NAME, LockOptions::default().lease(Lease::Fixed(Duration::from_secs(61)))).unwrap();
    let refused = lock.try_acquire().await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArgument, "{refused}");
    assert!(refused.message().contains("lease 61s is longer than longest_lease"), "{refused}");
    assert_eq!(servers.fields(), 0);
}

#[tokio::test]
async fn an_even_number_of_servers_is_a_warning() {
    let servers = Servers::start(4);
    let said = Arc::new(Mutex::new(Vec::new()));
    let mut config = Config::from_url(&servers.url("")).unwrap();
    let sink = said.clone();
    config.on_event(Arc::new(move |event| sink.lock().unwrap().push(event.message.clone())));
    Client::connect_with(config).await.unwrap();
    let said = said.lock().unwrap();
    assert!(said.iter().any(|said| said.contains("4 servers tolerate the loss of 1, no more than 3 do")), "{said:?}");
}
