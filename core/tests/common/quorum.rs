//! What the tests of locks on several servers share: the servers, faults of them, and clients that take one lock in turn.
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use libdlock::event::Level;
use libdlock::lock::Lock;
use libdlock::{Client, Config, Held, Result};
use libdlock_testkit::checker::assert_lawful;
use libdlock_testkit::server::Data;
use libdlock_testkit::wait::monotonic_us;
use libdlock_testkit::{Hold, Proxy, Reply, Server, eventually, within};
use tokio::task::JoinHandle;

/// Far beyond what a busy machine needs.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The lock.
pub const NAME: &str = "jobs";

/// Of servers that have just started and lose nothing while the test runs.
pub const KEPT: &str = "data_survives=true";

/// Of servers that may lose what they have: those that do count again after 1 s and what `uptime_in_seconds` leaves open.
pub const SHORT: &str = "lease=1s&longest_lease=1s";

/// Independent servers.
pub struct Servers {
    pub servers: Vec<Server>,
    /// In front of each, or none.
    pub ways: Vec<Proxy>,
}

impl Servers {
    pub fn start(number: usize) -> Servers {
        Servers::of((0..number).map(|_| Server::start()).collect())
    }

    pub fn of(servers: Vec<Server>) -> Servers {
        Servers { servers, ways: Vec::new() }
    }

    /// Each with a clock of its own, so many microseconds ahead of the true time.
    pub fn with_clocks(ahead: &[i64]) -> Servers {
        let start = |ahead: &i64| {
            let server = Server::options().clock().start();
            server.clock().offset(*ahead);
            server
        };
        Servers::of(ahead.iter().map(start).collect())
    }

    /// With a proxy in front of each.
    pub fn behind_proxies(mut self) -> Servers {
        self.ways = self.servers.iter().map(|server| Proxy::start(server.address())).collect();
        self
    }

    /// Where clients find them.
    pub fn addresses(&self) -> Vec<SocketAddr> {
        match self.ways.as_slice() {
            [] => self.servers.iter().map(Server::address).collect(),
            ways => ways.iter().map(Proxy::address).collect(),
        }
    }

    pub fn url(&self, options: &str) -> String {
        url(&self.addresses(), options)
    }

    pub async fn client(&self, options: &str) -> Client {
        Client::connect(&self.url(options)).await.unwrap()
    }

    /// A client that is connected to all of them, each of which knows the scripts of a lock: a first request would otherwise be
    /// sent once more, and do nothing if it came late.
    pub async fn ready_client(&self, options: &str) -> Client {
        let client = self.client(options).await;
        let known = |server: &Server| !server.cmd(&["GET", "redisson_lock_token:{ready}"]).is_nil();
        let lock = client.lock("ready").unwrap();
        let deadline = Instant::now() + PATIENCE;
        while !self.servers.iter().all(known) {
            assert!(Instant::now() < deadline, "the client is connected to all");
            lock.acquire_timeout(PATIENCE).await.unwrap().release().await.unwrap();
        }
        client
    }

    /// The hold is released, the next one has a greater token, and nothing is left.
    pub async fn is_handed_on(&self, held: Held, lock: &Lock) {
        let token = held.token();
        held.release().await.unwrap();
        let next = lock.acquire_timeout(PATIENCE).await.unwrap();
        assert!(next.token() > token);
        next.release().await.unwrap();
        self.nothing_is_left();
    }

    /// How many have a field of the lock; all of them have to run.
    pub fn fields(&self) -> usize {
        self.servers.iter().filter(|server| has_field(server)).count()
    }

    /// The last token that each knows.
    pub fn tokens(&self) -> Vec<Option<u64>> {
        self.servers.iter().map(last_token).collect()
    }

    /// Waits until every key but that of the last token is gone.
    #[track_caller]
    pub fn nothing_is_left(&self) {
        let left = |server: &Server| {
            let keys = server.keys().into_iter().filter(|key| !key.starts_with("redisson_lock_token:"));
            keys.map(|key| format!("{key} of {:?}", owners(server, &key))).collect::<Vec<_>>()
        };
        let all = || self.servers.iter().map(left).collect::<Vec<_>>();
        assert!(within(PATIENCE, || all().iter().all(Vec::is_empty)), "left after {PATIENCE:?}: {:?}", all());
    }
}

/// A URL of these servers, with short time-outs unless `options` has others.
pub fn url(addresses: &[SocketAddr], options: &str) -> String {
    let addresses: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    let mut url = format!("redis+quorum://{}?{options}", addresses.join(","));
    for (option, value) in [("response_timeout", "300ms"), ("operation_timeout", "2s")] {
        if !options.contains(option) {
            url += &format!("&{option}={value}");
        }
    }
    url
}

fn owners(server: &Server, key: &str) -> Vec<String> {
    match server.cmd(&["HKEYS", key]) {
        Reply::Array(owners) => owners.iter().map(|owner| owner.text().to_owned()).collect(),
        other => vec![format!("{other:?}")],
    }
}

/// Whether a server has a field of the lock, whoever's.
pub fn has_field(server: &Server) -> bool {
    server.keys().iter().any(|key| key == NAME)
}

/// The last token that a server knows.
pub fn last_token(server: &Server) -> Option<u64> {
    let token = server.cmd(&["GET", "redisson_lock_token:{jobs}"]);
    (!token.is_nil()).then(|| token.int().unsigned_abs())
}

/// How many seconds ago a server started, by its own clock: less than none when that was set back since.
pub fn uptime(server: &Server) -> i64 {
    let info = server.cmd(&["INFO", "server"]);
    let told = info.text().lines().find_map(|line| line.strip_prefix("uptime_in_seconds:"));
    told.expect("the server tells it").parse().expect("a number")
}

/// Waits until a server counts again with [`SHORT`]: when it has run for more than 2 s.
#[track_caller]
pub fn counts_again(server: &Server) {
    eventually(PATIENCE, "the server counts again", || uptime(server) > 2);
}

/// A client that records what it says.
pub async fn listening(config: &str, set: &[(&str, &str)]) -> (Result<Client>, Said) {
    let mut config = Config::from_url(config).unwrap();
    for (option, value) in set {
        config.set(option, value).unwrap();
    }
    let said = Said::default();
    let sink = said.clone();
    config.on_event(Arc::new(move |event| sink.0.lock().unwrap().push((event.level, event.message.clone()))));
    (Client::connect_with(config).await, said)
}

/// What a client has said.
#[derive(Clone, Debug, Default)]
pub struct Said(Arc<Mutex<Vec<(Level, String)>>>);

impl Said {
    /// Warnings and worse.
    pub fn warnings(&self) -> Vec<String> {
        let all = self.0.lock().unwrap();
        all.iter().filter(|(level, _)| *level >= Level::Warn).map(|(_, message)| message.clone()).collect()
    }

    /// Waits for a warning that has all of this in it.
    #[track_caller]
    pub fn expect(&self, parts: &[&str]) {
        let is_it = |warning: &String| parts.iter().all(|part| warning.contains(part));
        let said = within(PATIENCE, || self.warnings().iter().any(is_it));
        assert!(said, "{parts:?} is not among {:#?}", self.warnings());
    }
}

/// What happens to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// It is gone, and comes back without its data.
    Killed,
    /// It stands still.
    Paused,
    /// It has restarted without its data.
    Emptied,
    /// Nothing reaches it, and nobody is told.
    CutOff,
}

impl Fault {
    pub const ALL: [Fault; 4] = [Fault::Killed, Fault::Paused, Fault::Emptied, Fault::CutOff];

    pub fn begin(self, servers: &mut Servers, at: usize) {
        match self {
            Fault::Killed => servers.servers[at].stop(),
            Fault::Paused => servers.servers[at].pause(),
            Fault::Emptied => servers.servers[at].restart(Data::Lost),
            Fault::CutOff => servers.ways[at].hold_all(),
        }
    }

    pub fn end(self, servers: &mut Servers, at: usize) {
        match self {
            Fault::Killed => servers.servers[at].start_again(),
            Fault::Paused => servers.servers[at].resume(),
            Fault::Emptied => {}
            Fault::CutOff => servers.ways[at].heal(),
        }
    }
}

/// Clients that take the lock in turn, each whenever it can, until they are told to end.
pub struct Fleet {
    history: Arc<Mutex<Vec<Hold>>>,
    /// Why the last attempt failed.
    failed: Arc<Mutex<String>>,
    over: Arc<AtomicBool>,
    clients: Vec<Client>,
    work: Vec<JoinHandle<()>>,
}

impl Fleet {
    /// Of clients by this URL, each of which holds the lock for as long as `holds` says: it may be for several leases.
    pub async fn start(url: &str, clients: usize, holds: impl FnMut() -> Duration + Clone + Send + 'static) -> Fleet {
        let mut fleet = Fleet {
            history: Arc::default(),
            failed: Arc::new(Mutex::new("no attempt has failed".to_owned())),
            over: Arc::default(),
            clients: Vec::new(),
            work: Vec::new(),
        };
        for number in 0..clients {
            let client = Client::connect(url).await.unwrap();
            fleet.clients.push(client.clone());
            let (history, failed, over) = (fleet.history.clone(), fleet.failed.clone(), fleet.over.clone());
            let mut holds = holds.clone();
            fleet.work.push(tokio::spawn(async move {
                let lock = client.lock(NAME).unwrap();
                while !over.load(Ordering::SeqCst) {
                    match lock.acquire_timeout(PATIENCE).await {
                        Ok(held) => {
                            let hold = hold_for(held, holds(), &format!("client {number}")).await;
                            history.lock().unwrap().push(hold);
                        }
                        Err(error) => *failed.lock().unwrap() = error.to_string(),
                    }
                }
            }));
        }
        fleet
    }

    pub fn hand_overs(&self) -> usize {
        self.history.lock().unwrap().len()
    }

    /// Waits until the lock has gone on to somebody so many times from now on.
    #[track_caller]
    pub fn goes_on(&self, hand_overs: usize, when: &str) {
        let goal = self.hand_overs() + hand_overs;
        let goes_on = within(PATIENCE, || self.hand_overs() >= goal);
        let missing = goal.saturating_sub(self.hand_overs());
        assert!(goes_on, "{missing} of {hand_overs} hand-overs missing, {when}: {}", self.failed.lock().unwrap());
    }

    /// Ends all: their holds were lawful, and nothing is left of them at these servers, which all run. How many there were.
    pub async fn end(self, servers: &Servers) -> usize {
        self.over.store(true, Ordering::SeqCst);
        for work in self.work {
            tokio::time::timeout(PATIENCE * 2, work).await.expect("every wait ends").unwrap();
        }
        let history = std::mem::take(&mut *self.history.lock().unwrap());
        assert_lawful(&history);
        // While the clients live, which have to undo what arrives late.
        servers.nothing_is_left();
        drop(self.clients);
        history.len()
    }
}

/// Holds for so long, or until the hold is lost, and says from when to when it was valid.
pub async fn hold_for(held: Held, how_long: Duration, who: &str) -> Hold {
    let (token, acquired_at) = (held.token(), monotonic_us());
    let (over_at, mut trusted_until) = (acquired_at + how_long.as_micros() as i64, acquired_at);
    let mut why = String::new();
    let ended_at = loop {
        // First the clock, so that it is never later than what was promised.
        let now = monotonic_us();
        let remaining = held.remaining();
        if remaining.is_zero() {
            why = format!(", lost as {:?} when seen at {now} us", held.loss());
            break trusted_until;
        }
        trusted_until = now + remaining.as_micros() as i64;
        if now >= over_at {
            break now;
        }
        let pause = Duration::from_micros((over_at - now).min(20_000).unsigned_abs());
        tokio::time::sleep(pause.min(remaining)).await;
    };
    // It may have been lost, which is no fault.
    let _ = held.release().await;
    Hold { who: format!("{who}{why}"), token, acquired_at, ended_at }
}
