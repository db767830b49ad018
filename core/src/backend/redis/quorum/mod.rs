//! Several independent servers, each of which is asked by itself; what their answers say together is decided above.
//!
//! See docs/protocol/quorum.md.

mod listen;
mod round;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use self::listen::QuorumListener;
pub(crate) use self::round::{Answer, Round};
use super::RedisBackend;
use super::moves::Moves;
use crate::backend::{Failed, Listen, Reached, Subscription};
use crate::config::{Config, Servers, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;
use crate::name::ObjectName;
use crate::stats::Counters;
use crate::step::{PubSub, Step};
use crate::task::Tasks;
use crate::time::{Clock, ServerTime, Tick};

/// The uptime that a server tells is the difference of two times that are cut to seconds.
const UPTIME_ERROR: Duration = Duration::from_secs(1);

pub(crate) struct Quorum {
    target: String,
    majority: usize,
    servers: Vec<Arc<RedisBackend>>,
    listener: QuorumListener,
    moves: Moves,
    clock: Clock,
    tasks: Tasks,
    response_timeout: Duration,
    longest_lease: Duration,
    data_survives: bool,
    token_ttl: Option<Duration>,
    /// By name: see [`Quorum::note_late`].
    late: Mutex<HashMap<String, Tick>>,
}

impl Quorum {
    /// Connects to all servers at once, and is done when a majority is there.
    pub(in crate::backend) async fn connect(
        servers: &Servers,
        config: &Config,
        tasks: &Tasks,
        counters: &Arc<Counters>,
    ) -> Result<Quorum> {
        let (moves, options) = (Moves::default(), &config.options);
        let node = |address: &crate::config::Address| {
            let target = Target::Tcp { address: address.clone(), tls: servers.tls };
            Arc::new(RedisBackend::node(&target, config, (tasks, counters), &moves, PubSub::Plain))
        };
        let quorum = Quorum {
            target: config.target.to_string(),
            majority: servers.majority(),
            servers: servers.addresses.iter().map(node).collect(),
            listener: QuorumListener::default(),
            moves: moves.clone(),
            clock: config.clock.clone(),
            tasks: tasks.clone(),
            response_timeout: options.response_timeout,
            longest_lease: options.longest_lease,
            data_survives: options.data_survives,
            token_ttl: options.token_ttl,
            late: Mutex::default(),
        };
        let number = quorum.servers.len();
        if number.is_multiple_of(2) {
            let message = format!(
                "{number} servers tolerate the loss of {}, no more than {} do; name an odd number of them",
                number - quorum.majority,
                number - 1
            );
            config.events.emit(Level::Warn, None, message);
        }
        quorum.listener.start(&quorum.servers, tasks);
        quorum.majority_is_there(options.connect_timeout.max(options.connect_wait)).await?;
        Ok(quorum)
    }

    async fn majority_is_there(&self, wait: Duration) -> Result<()> {
        let deadline = self.clock.now().plus(wait);
        let (there, mut comes) = tokio::sync::mpsc::unbounded_channel();
        for server in &self.servers {
            let (server, there) = (server.clone(), there.clone());
            self.tasks.spawn(async move {
                let _ = there.send(server.is_there(deadline).await);
            });
        }
        drop(there);
        let (mut number, mut why) = (0, None);
        while number < self.majority {
            match comes.recv().await {
                Some(Ok(())) => number += 1,
                Some(Err(error)) => why = Some(error),
                None => {
                    let first = why.map_or(String::new(), |error| format!("; one of them: {}", error.message()));
                    let message = format!(
                        "{number} of the {} servers of {} can be reached{first}",
                        self.servers.len(),
                        self.target
                    );
                    return Err(Error::new(ErrorKind::Connection, "connect", message));
                }
            }
        }
        Ok(())
    }

    /// How many servers have to grant.
    pub(crate) fn majority(&self) -> usize {
        self.majority
    }

    /// The numbers of all servers.
    pub(crate) fn all(&self) -> Vec<usize> {
        (0..self.servers.len()).collect()
    }

    /// For how long a token's key outlives its last use.
    pub(crate) fn token_ttl(&self) -> Option<Duration> {
        self.token_ttl
    }

    /// No hold lasts for longer.
    pub(crate) fn longest_lease(&self) -> Duration {
        self.longest_lease
    }

    /// Whether what this server grants counts: it has not lost what it granted within the longest lease.
    fn counts(&self, server: &RedisBackend) -> bool {
        self.data_survives || server.server.uptime(self.clock.now()) > self.longest_lease + UPTIME_ERROR
    }

    /// Asks these servers, each once and all at once, until `deadline` or `response_timeout`.
    pub(crate) fn ask<S: Step>(
        self: &Arc<Self>,
        name: &ObjectName,
        step: &S,
        servers: &[usize],
        deadline: Tick,
    ) -> Round<S::Reply> {
        Round::begin(self, name, step, servers, deadline)
    }

    /// Has these servers carry out what frees something, from `from` on, each until it has answered or until `until`. Closing the
    /// client waits for the first attempt.
    pub(crate) fn see_to<S: Step>(
        self: &Arc<Self>,
        name: &ObjectName,
        step: &S,
        servers: &[usize],
        from: Tick,
        until: Tick,
    ) {
        for server in servers.iter().map(|server| self.servers[*server].clone()) {
            let (name, step, clock, tasks) = (name.clone(), step.clone(), self.clock.clone(), self.tasks.clone());
            let timeout = self.response_timeout;
            self.tasks.spawn_operation(async move {
                clock.sleep_until(from).await;
                let first = clock.now().plus(timeout).min(until);
                if server.run_while_there(&name, &step, first, true).await.is_err() {
                    tasks.spawn(async move {
                        let _ = server.run(&name, &step, until, Tick::NEVER).await;
                    });
                }
            });
        }
    }

    /// Refuses what would last for longer than a server that restarted waits.
    pub(crate) fn check_lease(&self, op: &'static str, name: &ObjectName, lease: Duration) -> Result<(), Failed> {
        if lease <= self.longest_lease {
            return Ok(());
        }
        let what = format_args!("lease {lease:?} is longer than longest_lease of these servers");
        let error = Error::refused(ErrorKind::InvalidArgument, op, what, format!("up to {:?}", self.longest_lease));
        Err(Failed::from(error).on(name))
    }

    /// An acquire by which a hold of this name was to be taken again may take effect until then.
    pub(crate) fn note_late(&self, name: &ObjectName, until: Tick) {
        let (mut late, now) = (self.late(), self.clock.now());
        late.retain(|_, until| *until > now);
        let known = late.entry(name.as_str().to_owned()).or_default();
        *known = (*known).max(until);
    }

    /// Until when one may that was sent for this name.
    pub(crate) fn late_until(&self, name: &ObjectName) -> Option<Tick> {
        self.late().get(name.as_str()).copied().filter(|until| *until > self.clock.now())
    }

    fn late(&self) -> MutexGuard<'_, HashMap<String, Tick>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a caller is told when too few servers answered, or count.
    pub(crate) fn too_few(&self, op: &'static str, name: &ObjectName, why: &[String]) -> Failed {
        let mut why = why.to_vec();
        why.dedup();
        let message = format!("{} of {} servers have to agree: {}", self.majority, self.servers.len(), why.join("; "));
        let error = Error::new(ErrorKind::Connection, op, message);
        Failed { error, echo_until: None, away: true }.on(name)
    }

    /// The answer to a step that has no meaning at several servers.
    pub(crate) fn refuse(&self, op: &'static str) -> Failed {
        let message = format!(
            "{op} is not possible with {}: independent servers agree on nothing but who holds, so that only locks can be acquired, \
             renewed and released there; connect to one server, sentinels or a cluster for anything else",
            self.target
        );
        Error::new(ErrorKind::Unsupported, op, message).into()
    }

    pub(crate) fn now(&self) -> Tick {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) fn reached(&self) -> Reached {
        Reached { generation: 0, moves: self.moves.last() }
    }

    pub(in crate::backend) fn subscribe(&self, channel: &str, listen: Listen) -> Subscription {
        self.listener.subscribe(channel, listen)
    }

    pub(in crate::backend) fn last_move(&self) -> u64 {
        self.moves.last()
    }

    pub(in crate::backend) async fn moved_since(&self, seen: u64) -> u64 {
        self.moves.since(seen).await
    }

    pub(in crate::backend) fn heard_at(&self) -> Tick {
        self.servers.iter().map(|server| server.heard_at()).max().unwrap_or_default()
    }

    /// Set when too many servers cannot be reached.
    pub(in crate::backend) fn why_away(&self) -> Option<Error> {
        let mut away: Vec<Error> = self.servers.iter().filter_map(|server| server.why_down()).collect();
        (away.len() > self.servers.len() - self.majority).then(|| away.swap_remove(0))
    }

    pub(in crate::backend) fn server_time(&self, now: Tick) -> ServerTime {
        self.servers.first().map(|server| server.server_time(now)).unwrap_or_default()
    }

    pub(crate) fn attempt_budget(&self) -> Duration {
        self.response_timeout
    }
}
