//! Several independent servers, each of which is asked by itself; what their answers say together is decided above.
//!
//! See docs/protocol/quorum.md.

mod connect;
mod direct;
mod late;
mod listen;
mod members;
mod round;

use std::convert::Infallible;
use std::fmt;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use self::late::LateRequests;
use self::listen::QuorumListener;
pub(crate) use self::members::Members;
pub(crate) use self::round::{Answer, Round};
use super::RedisBackend;
use super::moves::Moves;
use super::parts::Parts;
use crate::backend::{Done, Failed, Listen, Reached, Subscription};
use crate::config::{Address, Config, Servers, Target};
use crate::ended::cut_off;
use crate::error::{Error, ErrorKind, Result};
use crate::event::{Events, Level};
use crate::name::ObjectName;
use crate::stats::Counters;
use crate::step::{Batch, BatchStep, PubSub, Step};
use crate::task::Tasks;
use crate::time::{Clock, ServerTime, Tick};
use crate::wait::by_deadline;

/// The uptime that a server tells is the difference of two times that are cut to seconds.
const UPTIME_ERROR: Duration = Duration::from_secs(1);

/// So many releases wait for a server that does not answer, at most: each takes up memory, and is to be sent when it comes back.
/// More than a burst of calls owes to one that is merely slow, where what is left over is in the way.
const MOST_OWED: usize = 10_000;

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
    cohort_max: u32,
    late: LateRequests,
    events: Events,
    /// The first two addresses that led to one server.
    twins: OnceLock<String>,
    /// Room for what has yet to be freed at each server.
    owed: Vec<Arc<Semaphore>>,
}

impl Quorum {
    /// Connects to a majority at least, or says why not.
    pub(in crate::backend) async fn connect(
        servers: &Servers,
        config: &Config,
        tasks: &Tasks,
        counters: &Arc<Counters>,
    ) -> Result<Quorum> {
        let (moves, options) = (Moves::default(), &config.options);
        let target = |address: &Address| Target::Tcp { address: address.clone(), tls: servers.tls };
        let targets: Vec<Target> = servers.addresses.iter().map(target).collect();
        let parts: Vec<Parts> =
            targets.iter().map(|target| Parts::new(target, config, &moves, PubSub::Plain)).collect();
        if !options.lazy_connect {
            connect::majority(&parts, servers, options, &config.clock).await?;
        }
        let start = |(target, parts): (&Target, Parts)| Arc::new(parts.start(target, config, tasks, counters));
        let all: Vec<_> = targets.iter().zip(parts).map(start).collect();
        let (number, majority) = (all.len(), servers.majority());
        if number.is_multiple_of(2) {
            let (lost, fewer) = (number - majority, number - 1);
            let message = format!(
                "{number} servers tolerate the loss of {lost}, no more than {fewer} do; name an odd number of them"
            );
            config.events.emit(Level::Warn, None, message);
        }
        let quorum = Quorum {
            target: config.target.to_string(),
            majority,
            listener: QuorumListener::start(&all, tasks),
            servers: all,
            moves,
            clock: config.clock.clone(),
            tasks: tasks.clone(),
            response_timeout: options.response_timeout,
            longest_lease: options.longest_lease,
            data_survives: options.data_survives,
            token_ttl: options.token_ttl,
            cohort_max: options.cohort_max,
            late: LateRequests::default(),
            events: config.events.clone(),
            twins: OnceLock::new(),
            owed: (0..number).map(|_| Arc::new(Semaphore::new(MOST_OWED))).collect(),
        };
        // Said now where it can be seen now.
        let _ = (0..number).any(|number| quorum.stands_twice(number));
        Ok(quorum)
    }

    /// How many servers have to grant.
    pub(crate) fn majority(&self) -> usize {
        self.majority
    }

    /// All of them, each by itself.
    pub(in super::super) fn servers(&self) -> impl Iterator<Item = &RedisBackend> {
        self.servers.iter().map(AsRef::as_ref)
    }

    pub(crate) fn all(&self) -> Members {
        Members::first(self.servers.len())
    }

    /// Of a server, as errors say it.
    pub(crate) fn address(&self, server: usize) -> String {
        self.servers[server].target.to_string()
    }

    /// For how long a token's key outlives its last use.
    pub(crate) fn token_ttl(&self) -> Option<Duration> {
        self.token_ttl
    }

    /// How many holders of a process may follow one another, at most.
    pub(crate) fn cohort_max(&self) -> u32 {
        self.cohort_max
    }

    /// No hold lasts for longer.
    pub(crate) fn longest_lease(&self) -> Duration {
        self.longest_lease
    }

    /// Whether what this server grants counts: it has not lost what it granted within the longest lease, and no server before it
    /// is the same one.
    fn counts(&self, number: usize) -> bool {
        let server = &self.servers[number];
        let keeps = self.data_survives || server.server.uptime(self.clock.now()) > self.longest_lease + UPTIME_ERROR;
        keeps && !self.stands_twice(number)
    }

    fn stands_twice(&self, number: usize) -> bool {
        let server = &self.servers[number];
        let Some(before) = self.servers[..number].iter().find(|before| before.server.is_one_with(&server.server))
        else {
            return false;
        };
        self.twins.get_or_init(|| {
            let twins = format!(
                "{} and {} are one server, which counts once; name servers that are independent of each other",
                before.target, server.target
            );
            self.events.emit(Level::Warn, None, twins.clone());
            twins
        });
        true
    }

    /// Said when addresses have turned out to lead to one server.
    pub(crate) fn twins(&self) -> Option<&str> {
        self.twins.get().map(String::as_str)
    }

    /// Asks these servers, each once and all at once, until `deadline` or `response_timeout`.
    pub(crate) fn ask<S: Step>(
        self: &Arc<Self>,
        name: &ObjectName,
        step: &S,
        members: Members,
        deadline: Tick,
    ) -> Round<S::Reply> {
        let deadline = self.deadline(deadline);
        Round::begin(self, members, |_, server, under_way| {
            let (name, step) = (name.clone(), step.clone());
            async move {
                let _under_way = under_way;
                server.is_there_soon(S::OP).await?;
                server.run_while_there(&name, &step, deadline, true).await
            }
        })
    }

    /// As [`Quorum::ask`], of many objects in one script: a reply for each.
    pub(crate) fn ask_for_each<S: BatchStep>(
        self: &Arc<Self>,
        items: &[(ObjectName, S)],
        members: Members,
        deadline: Tick,
    ) -> Round<Vec<S::Reply>> {
        let deadline = self.deadline(deadline);
        Round::begin(self, members, |_, server, under_way| {
            let batch = Batch { items: items.to_vec() };
            async move {
                let _under_way = under_way;
                server.is_there_soon(S::OP).await?;
                server.run_batch(&batch, deadline).await
            }
        })
    }

    /// Has these servers carry out what frees something, each until it has answered or until `until`. Closing the client waits
    /// for the first attempt. Of very many that a server does not answer some are left to their leases.
    pub(crate) fn see_to<S: Step>(
        self: &Arc<Self>,
        name: &ObjectName,
        step: &S,
        members: Members,
        until: Tick,
    ) -> Round<S::Reply> {
        let first = self.deadline(until);
        Round::begin(self, members, |number, server, under_way| {
            let (name, step, owed) = (name.clone(), step.clone(), self.owed[number].clone());
            async move {
                let failed = match server.run_while_there(&name, &step, first, true).await {
                    Ok(done) => return Ok(done),
                    Err(failed) => failed,
                };
                drop(under_way);
                let Ok(_one_of_some) = owed.try_acquire() else { return Err(failed) };
                let done = server.run(&name, &step, until, Tick::NEVER).await;
                // The first attempt may have done it.
                done.map(|done| Done { echo_until: done.echo_until.max(failed.echo_until), ..done })
            }
        })
    }

    /// Each server has so long for one request.
    fn deadline(&self, deadline: Tick) -> Tick {
        deadline.min(self.clock.now().plus(self.response_timeout))
    }

    /// Completes what `work` does on the runtime, where the answers of the servers wake no other thread.
    pub(crate) async fn on_runtime<R: Send + 'static>(
        &self,
        op: &'static str,
        work: impl Future<Output = Result<R, Failed>> + Send + 'static,
    ) -> Result<R, Failed> {
        let cut_off = |_| Err(cut_off(op, &self.tasks, "the attempt").into());
        self.tasks.runtime().spawn(Box::pin(work)).await.unwrap_or_else(cut_off)
    }

    /// Does some work in the background.
    pub(crate) fn beside<R: Send + 'static>(&self, work: impl Future<Output = R> + Send + 'static) -> JoinHandle<R> {
        self.tasks.runtime().spawn(work)
    }

    /// Waits for something until `deadline`.
    pub(crate) async fn by<T>(&self, deadline: Tick, work: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        by_deadline(&self.clock, deadline, work).await
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

    /// The answer to what has no meaning at several servers.
    pub(crate) fn refuse(&self, op: &'static str) -> Failed {
        self.refuse_for(op, "connect to one server, to sentinels or to a cluster for it")
    }

    /// As [`Quorum::refuse`], with what to do instead.
    pub(crate) fn refuse_for(&self, op: &'static str, instead: &str) -> Failed {
        let message = format!(
            "{op} is not possible with {}: independent servers agree on who holds a lock, and on nothing else; {instead}",
            self.target
        );
        Error::new(ErrorKind::Unsupported, op, message).into()
    }

    pub(crate) fn now(&self) -> Tick {
        self.clock.now()
    }

    pub(crate) fn reached(&self) -> Reached {
        Reached { generation: 0, moves: self.moves.last() }
    }

    pub(in crate::backend) fn subscribe(&self, channel: &str, listen: Listen) -> Subscription {
        self.listener.subscribe(channel, listen)
    }

    /// See [`Backend::watch_rights`](crate::backend::Backend::watch_rights), of each server.
    pub(in crate::backend) async fn watch_rights(
        &self,
        access: &'static str,
        name: &ObjectName,
        tell: impl Fn(&dyn fmt::Display, &[String]),
    ) -> Infallible {
        let mut all: Vec<_> =
            self.servers.iter().map(|server| Box::pin(server.watch_rights(access, name, &tell))).collect();
        poll_fn(|context| {
            // None of them ever ends.
            for server in &mut all {
                let _: Poll<Infallible> = server.as_mut().poll(context);
            }
            Poll::Pending
        })
        .await
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
