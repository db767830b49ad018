//! A network that misbehaves on demand: a TCP proxy on loopback between a client and a Redis server.
//!
//! Everything is switched while it runs and acts on the connections that are there as well as on later ones:
//!
//! * [`delay`](Proxy::delay), [`throttle`](Proxy::throttle), [`hold`](Proxy::hold) (a black hole) for each direction;
//! * [`reset_all`](Proxy::reset_all), [`forsake_clients`](Proxy::forsake_clients), [`half_close`](Proxy::half_close),
//!   [`refuse`](Proxy::refuse), [`point_at`](Proxy::point_at);
//! * [`on`](Proxy::on): something that happens when a certain command passes, once, at exactly that place.
//!
//! It reads requests as whole RESP commands, so that a match never depends on how TCP cut the bytes.

mod link;
mod rule;

use std::{
    collections::HashMap,
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use link::Link;
use rule::Rules;
pub use rule::{Action, Match};

use crate::{port, sys, wait};

/// A direction through the proxy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the client to the server.
    Requests,
    /// From the server to the client.
    Replies,
}

/// Both directions.
pub const BOTH: [Side; 2] = [Side::Requests, Side::Replies];

/// How one direction behaves at the moment.
#[derive(Clone, Copy, Debug, Default)]
struct Weather {
    delay: Duration,
    held: bool,
    bytes_per_second: Option<u64>,
}

#[derive(Debug)]
struct State {
    target: SocketAddr,
    weather: [Weather; 2],
    rules: Rules,
    links: HashMap<u64, Link>,
    refusing: bool,
    accepted: u64,
    bytes: [u64; 2],
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// Changes something and wakes everybody whom it may concern.
    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let result = change(&mut self.state());
        self.changed.notify_all();
        result
    }
}

/// The proxy. At drop its connections are reset and its port is closed.
#[derive(Debug)]
pub struct Proxy {
    shared: Arc<Shared>,
    port: u16,
    accepting: Mutex<Option<JoinHandle<()>>>,
}

impl Proxy {
    /// A proxy on a free loopback port in front of `target`, hiding nothing yet.
    pub fn start(target: SocketAddr) -> Self {
        let shared = Arc::new(Shared {
            state: Mutex::new(State {
                target,
                weather: [Weather::default(); 2],
                rules: Rules::default(),
                links: HashMap::new(),
                refusing: false,
                accepted: 0,
                bytes: [0; 2],
            }),
            changed: Condvar::new(),
        });
        let (port, listener) = loop {
            let port = port::free();
            if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
                break (port, listener);
            }
        };
        let proxy = Self { shared, port, accepting: Mutex::new(None) };
        proxy.accept(listener);
        proxy
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.port).into()
    }

    /// `redis://127.0.0.1:PORT`
    pub fn url(&self) -> String {
        format!("redis://{}", self.address())
    }

    /// Lets every byte of this direction arrive this much later. Bytes do not wait for one another.
    pub fn delay(&self, side: Side, delay: Duration) {
        self.shared.change(|s| s.weather[side as usize].delay = delay);
    }

    /// Lets at most this many bytes a second through, `None`: all.
    pub fn throttle(&self, side: Side, bytes_per_second: Option<u64>) {
        self.shared.change(|s| s.weather[side as usize].bytes_per_second = bytes_per_second);
    }

    /// A black hole in this direction: nothing arrives, nothing is reset, new connections are accepted. As with TCP
    /// over a network that comes back, what was sent in the meantime arrives after [`heal`](Proxy::heal).
    pub fn hold(&self, side: Side) {
        self.shared.change(|s| s.weather[side as usize].held = true);
    }

    /// A black hole in both directions.
    pub fn hold_all(&self) {
        BOTH.into_iter().for_each(|side| self.hold(side));
    }

    /// Ends delays, throttling, and every hold, also those by [`Action`]; forgets rules that have not fired.
    pub fn heal(&self) {
        self.shared.change(|s| {
            s.weather = [Weather::default(); 2];
            s.rules.clear();
            s.links.values_mut().for_each(Link::heal);
        });
    }

    /// Resets every connection at once; what was under way in it is lost.
    pub fn reset_all(&self) {
        self.shared.change(|s| s.links.values_mut().for_each(Link::reset));
    }

    /// Resets the clients' ends alone, as a middlebox that forgets its connections does: what they have sent and is held
    /// still reaches the server, after [`heal`](Proxy::heal).
    pub fn forsake_clients(&self) {
        self.shared.change(|s| s.links.values_mut().for_each(Link::forsake));
    }

    /// Ends this direction of every present connection in good order (FIN), while the other one stays open.
    pub fn half_close(&self, side: Side) {
        self.shared.change(|s| s.links.values_mut().for_each(|link| link.half_close(side)));
    }

    /// Refuses new connections (`true`) or accepts them again. Present ones stay.
    pub fn refuse(&self, refuse: bool) {
        let mut accepting = self.accepting.lock().unwrap_or_else(|e| e.into_inner());
        match (refuse, accepting.take()) {
            (true, Some(thread)) => {
                self.shared.change(|s| s.refusing = true);
                // accept() has no time-out: a connection of our own makes it look
                let _ = TcpStream::connect(self.address());
                thread.join().expect("the accepting thread does not panic");
            }
            (false, None) => {
                self.shared.change(|s| s.refusing = false);
                drop(accepting);
                // For a moment another test may have the port, to see whether it is free.
                let mut listener = None;
                wait::eventually(Duration::from_secs(20), "the port is free again", || {
                    listener = TcpListener::bind(self.address()).ok();
                    listener.is_some()
                });
                self.accept(listener.expect("it is bound"));
            }
            (_, unchanged) => *accepting = unchanged,
        }
    }

    /// Leads new connections to another server. Present ones stay where they are: see [`reset_all`](Proxy::reset_all).
    pub fn point_at(&self, target: SocketAddr) {
        self.shared.change(|s| s.target = target);
    }

    /// The next command among whose arguments each of `parts` occurs (as a part of one argument) meets `action`.
    pub fn on(&self, parts: &[&str], action: Action) -> Match {
        let id = self.shared.change(|s| s.rules.add(parts, action, 1));
        Match::new(&self.shared, id)
    }

    /// As [`on`](Proxy::on), but every such command, until [`heal`](Proxy::heal).
    pub fn on_each(&self, parts: &[&str], action: Action) -> Match {
        let id = self.shared.change(|s| s.rules.add(parts, action, u64::MAX));
        Match::new(&self.shared, id)
    }

    /// Connections accepted so far.
    pub fn accepted(&self) -> u64 {
        self.shared.state().accepted
    }

    /// Connections open at the moment.
    pub fn open(&self) -> usize {
        self.shared.state().links.len()
    }

    /// Bytes forwarded in this direction so far.
    pub fn bytes(&self, side: Side) -> u64 {
        self.shared.state().bytes[side as usize]
    }

    fn accept(&self, listener: TcpListener) {
        let shared = self.shared.clone();
        let thread = thread::spawn(move || {
            for (id, client) in (self::first_id()..).zip(listener.incoming()) {
                if shared.state().refusing {
                    break;
                }
                if let Ok(client) = client {
                    // a target that is down shows as a connection that breaks at once
                    if let Err((client, _)) = open_link(&shared, id, client) {
                        sys::reset(&client);
                    }
                }
            }
        });
        *self.accepting.lock().unwrap_or_else(|e| e.into_inner()) = Some(thread);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.refuse(true);
        self.reset_all();
    }
}

/// Ids of connections: those of one listening episode follow one another and never meet those of another.
fn first_id() -> u64 {
    use std::sync::atomic::{AtomicU64, Ordering};
    static EPISODE: AtomicU64 = AtomicU64::new(0);
    EPISODE.fetch_add(1, Ordering::Relaxed) << 32
}

fn open_link(shared: &Arc<Shared>, id: u64, client: TcpStream) -> Result<(), (TcpStream, io::Error)> {
    let target = shared.state().target;
    let server = match TcpStream::connect(target) {
        Ok(server) => server,
        Err(e) => return Err((client, e)),
    };
    for stream in [&client, &server] {
        let _ = stream.set_nodelay(true);
    }
    shared.change(|s| {
        s.accepted += 1;
        s.links.insert(id, Link::new(client, server));
    });
    link::start_threads(shared, id);
    Ok(())
}

/// When something that is sent now arrives.
fn due(weather: &Weather) -> Instant {
    Instant::now() + weather.delay
}
