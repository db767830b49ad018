//! Keeps the table of slots right: asks a node for all of it at first, when somebody doubts it, and now and then.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{RedisResult, Value};
use tokio::task::JoinSet;

use super::super::dial::Dialler;
use super::super::stream::Cause;
use super::super::verdict::{self, Passes};
use super::routes::Routes;
use super::slots;
use crate::config::{Address, Config, Nodes, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::event::Level;
use crate::step::PubSub;
use crate::task::{Tasks, fault_point};
use crate::time::{Clock, Tick};

/// The name of the task, for the fault tests.
const TASK: &str = "routes";

/// How often the table is asked for when nobody doubts it.
const NOW_AND_THEN: Duration = Duration::from_secs(10);

/// How often while a node that serves slots cannot be reached: another one may take its place.
const WHILE_AWAY: Duration = Duration::from_millis(250);

/// A node that has served no slot for so long is let go: longer than a slot takes on its way to and fro.
const KEPT: Duration = Duration::from_secs(10);

/// The shortest time between two askings.
const PAUSE: Duration = Duration::from_millis(50);

/// How the nodes of the URL are asked.
#[derive(Clone)]
struct Seeds {
    nodes: Nodes,
    config: Config,
}

/// What a node tells at first.
pub(super) struct First {
    pub(super) served: Vec<slots::Served>,
    pub(super) pubsub: PubSub,
}

/// Asks for the first table, for the caller of `connect`, who is to see the error: again until `connect_wait` is over while no
/// node may be up yet.
pub(super) async fn first(nodes: &Nodes, config: &Config) -> Result<First> {
    let seeds = Seeds { nodes: nodes.clone(), config: config.clone() };
    let (clock, wait) = (&config.clock, config.options.connect_wait);
    let until = clock.now().plus(wait);
    loop {
        let (error, passes) = match seeds.ask(true).await {
            Ok(first) if !first.served.is_empty() => return Ok(first),
            Ok(_) => (no_slot_is_served(config), Passes::WhenUp),
            Err(failed) => failed,
        };
        if passes == Passes::Never || clock.now() >= until {
            return Err(error);
        }
        clock.sleep_until(clock.now().plus(WHILE_AWAY).min(until)).await;
    }
}

pub(super) fn start(routes: &Arc<Routes>, nodes: &Nodes, config: &Config, tasks: &Tasks) {
    let seeds = Seeds { nodes: nodes.clone(), config: config.clone() };
    let (routes, clock) = (routes.clone(), config.clock.clone());
    tasks.spawn_vital(TASK, async move { keep(&routes, &seeds, &clock).await });
}

async fn keep(routes: &Routes, seeds: &Seeds, clock: &Clock) {
    // Nodes that serve no slot, and since when.
    let mut idle: HashMap<u64, Tick> = HashMap::new();
    if routes.nodes().is_empty() {
        look(routes, seeds).await;
    }
    loop {
        fault_point(TASK);
        let (now, mut nodes) = (clock.now(), routes.nodes());
        nodes.retain(|node| !routes.serves(node));
        idle.retain(|number, _| nodes.iter().any(|node| node.number == *number));
        for node in nodes {
            if now.since(*idle.entry(node.number).or_insert(now)) >= KEPT {
                routes.let_go(&node);
            }
        }
        let is_away = routes.why_unknown().is_some()
            || routes.nodes().iter().any(|node| routes.serves(node) && node.server.why_down().is_some());
        let pause = if is_away { WHILE_AWAY } else { NOW_AND_THEN };
        tokio::select! {
            () = routes.doubted() => {}
            () = clock.sleep_until(clock.now().plus(pause)) => {}
        }
        look(routes, seeds).await;
        clock.sleep_until(clock.now().plus(PAUSE)).await;
    }
}

/// Asks one node after the other until one answers: first the one of which another said that it has a slot.
async fn look(routes: &Routes, seeds: &Seeds) {
    let said = routes.take_said();
    let mut nodes = routes.nodes();
    fastrand::shuffle(&mut nodes);
    nodes.sort_by_key(|node| said.as_ref() != Some(&node.address));
    for node in nodes {
        let Some(asked) = node.server.ask_for_slots().await else { continue };
        if let Some(served) = slots::read(&asked, &node.address).filter(|served| !served.is_empty()) {
            routes.told(served);
            return;
        }
    }
    let is_first = routes.nodes().is_empty();
    match seeds.ask(is_first).await {
        Ok(first) if !first.served.is_empty() => routes.told_first(first),
        asked if is_first => {
            let why = asked.map_or_else(|(error, _)| error, |_| no_slot_is_served(&seeds.config));
            let message = format!("cannot connect for commands: {}", why.message());
            if routes.asked_in_vain(why) {
                seeds.config.events.emit(Level::Warn, None, message);
            }
        }
        _ => {}
    }
}

fn no_slot_is_served(config: &Config) -> Error {
    let message = format!("no slot of {} is served; has it been set up?", config.target);
    Error::new(ErrorKind::Connection, "connect", message)
}

impl Seeds {
    /// Asks all nodes of the URL at once, each on a connection of its own: the first answer. That of a node that knows nobody who
    /// serves a slot, as one that was taken out of the cluster, only if there is no other.
    async fn ask(&self, first: bool) -> Result<First, (Error, Passes)> {
        let mut asked = JoinSet::new();
        for address in self.nodes.addresses.clone() {
            let seeds = self.clone();
            asked.spawn(async move { seeds.ask_at(&address, first).await });
        }
        let (mut failed, mut knows_nobody): (Option<(Error, Passes)>, _) = (None, None);
        while let Some(joined) = asked.join_next().await {
            match joined {
                Ok(Ok(first)) if first.served.is_empty() => knows_nobody = Some(first),
                Ok(Ok(first)) => return Ok(first),
                // What one says that is there is more than that another one is not.
                Ok(Err(error)) if error.1 == Passes::Never => failed = Some(error),
                Ok(Err(error)) => drop(failed.get_or_insert(error)),
                Err(_) => {}
            }
        }
        if let Some(first) = knows_nobody {
            return Ok(first);
        }
        Err(failed
            .unwrap_or_else(|| (Error::new(ErrorKind::Connection, "connect", "no node answered"), Passes::WhenUp)))
    }

    async fn ask_at(&self, address: &Address, first: bool) -> Result<First, (Error, Passes)> {
        let Config { options, clock, events, .. } = &self.config;
        let target = Target::Tcp { address: address.clone(), tls: self.nodes.tls };
        let dialler = Dialler::new(&target, options, clock, events);
        let dialled = dialler.dial(first, Cause::default(), |_| Ok(())).await;
        let mut dialled = dialled.map_err(|failed| (failed.error, failed.passes))?;
        let both = async {
            let slots = ask(&mut dialled.connection).await?;
            Ok((slots, pubsub_of(&mut dialled.connection).await))
        };
        match dialler.in_time(both).await {
            Ok((reply, pubsub)) => {
                slots::read(&reply, address).map(|served| First { served, pubsub }).ok_or_else(|| {
                    let message = format!("{address} did not answer CLUSTER SLOTS as a cluster node does");
                    (Error::new(ErrorKind::Server, "connect", message).permanent(), Passes::Never)
                })
            }
            Err(error) => Err(verdict::of_asking_for_slots(&error, &dialled.endpoint)),
        }
    }
}

/// Whether the node knows messages of slots, which came with Redis 7.0, and lets this user ask. Redisson finds out in the same
/// way, and both have to come to the same answer to hear each other.
async fn pubsub_of(connection: &mut MultiplexedConnection) -> PubSub {
    let asked: RedisResult<Value> = redis::cmd("PUBSUB").arg("SHARDNUMSUB").query_async(connection).await;
    if asked.is_ok() { PubSub::Sharded } else { PubSub::Plain }
}

/// Which node serves which slot, as the one at the other end sees it.
pub(in super::super) async fn ask(connection: &mut MultiplexedConnection) -> RedisResult<Value> {
    redis::cmd("CLUSTER").arg("SLOTS").query_async(connection).await
}
