//! Steps on a cluster: each goes to the node that serves the slot of its object.
//!
//! A node is what a client of one server has, with connections of its own: so one that hangs holds up nobody but the callers
//! of its own objects.

mod listen;
mod pipelined;
mod refresh;
mod routes;
mod slots;

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use self::listen::ClusterListener;
pub(super) use self::refresh::ask;
pub(crate) use self::routes::Node;
use self::routes::Place;
pub(super) use self::routes::Routes;
pub(super) use self::slots::NO_NAME;
use super::direct::Begun;
use super::in_slot::{Elsewhere, Halt, InSlot, To};
use super::moves::Moves;
use super::verdict::StepKind;
use super::{REDIAL_GRACE, RedisBackend, outcome_unknown};
use crate::backend::{Done, Failed, Listen, Reached, Subscription};
use crate::config::{Address, Config, Nodes, Target};
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::stats::Counters;
use crate::step::{Batch, BatchStep, PubSub, Step};
use crate::task::Tasks;
use crate::time::{Clock, ServerTime, Tick};

/// A request that was sent on so often, without a pause in between, is sent in a circle.
const AT_ONCE: u32 = 3;

/// The pause before it is sent on once more.
const PAUSE: Duration = Duration::from_millis(20);

pub(crate) struct Cluster {
    target: String,
    routes: Arc<Routes>,
    listener: ClusterListener,
    moves: Moves,
    clock: Clock,
    response_timeout: Duration,
}

/// A step on one object, or on many of one slot, at one node.
trait AtNode {
    type Reply;

    fn kind() -> StepKind;

    /// How long it waits for a node that serves the slot, within its own time; `grace` if it needs no server.
    fn patience(&self, _grace: Duration) -> Duration {
        Duration::MAX
    }

    async fn run(&self, node: &RedisBackend, begun: Option<Begun>, at: InSlot<'_>) -> Result<Done<Self::Reply>, Halt>;
}

struct One<'a, S> {
    name: &'a ObjectName,
    step: &'a S,
    deadline: Tick,
    caller: Tick,
}

struct OnceOnly<'a, S> {
    name: &'a ObjectName,
    step: &'a S,
    deadline: Tick,
    known_away: bool,
}

struct Many<'a, S> {
    batch: &'a Batch<S>,
    deadline: Tick,
}

impl<S: Step> AtNode for One<'_, S> {
    type Reply = S::Reply;

    fn kind() -> StepKind {
        StepKind::of::<S>()
    }

    async fn run(&self, node: &RedisBackend, begun: Option<Begun>, at: InSlot<'_>) -> Result<Done<S::Reply>, Halt> {
        node.run_step(self.name, self.step, self.deadline, self.caller, false, begun, Some(at)).await
    }
}

impl<S: Step> AtNode for OnceOnly<'_, S> {
    type Reply = S::Reply;

    fn kind() -> StepKind {
        StepKind::of::<S>()
    }

    fn patience(&self, grace: Duration) -> Duration {
        if self.known_away { Duration::ZERO } else { grace }
    }

    async fn run(&self, node: &RedisBackend, begun: Option<Begun>, at: InSlot<'_>) -> Result<Done<S::Reply>, Halt> {
        node.run_while_there_in(self.name, self.step, self.deadline, self.known_away, begun, Some(at)).await
    }
}

impl<S: BatchStep> AtNode for Many<'_, S> {
    type Reply = Vec<S::Reply>;

    fn kind() -> StepKind {
        StepKind::of::<S>()
    }

    async fn run(
        &self,
        node: &RedisBackend,
        begun: Option<Begun>,
        at: InSlot<'_>,
    ) -> Result<Done<Vec<S::Reply>>, Halt> {
        node.run_batch_in(self.batch, self.deadline, begun, Some(at)).await
    }
}

impl Cluster {
    pub(in crate::backend) async fn connect(
        nodes: &Nodes,
        config: &Config,
        tasks: &Tasks,
        counters: &Arc<Counters>,
    ) -> Result<Cluster> {
        let moves = Moves::default();
        let make = {
            let (config, tasks, counters) = (config.clone(), tasks.clone(), counters.clone());
            let (tls, moves) = (nodes.tls, moves.clone());
            Box::new(move |address: &Address, pubsub| {
                let target = Target::Tcp { address: address.clone(), tls };
                RedisBackend::node(&target, &config, (&tasks, &counters), &moves, pubsub)
            })
        };
        let routes = Arc::new(Routes::new(moves.clone(), make));
        if !config.options.lazy_connect {
            routes.told_first(refresh::first(nodes, config).await?);
        }
        refresh::start(&routes, nodes, config, tasks);
        Ok(Cluster {
            target: config.target.to_string(),
            listener: ClusterListener::start(&routes, tasks),
            routes,
            moves,
            clock: config.clock.clone(),
            response_timeout: config.options.response_timeout,
        })
    }

    pub(in crate::backend) async fn run<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        caller: Tick,
    ) -> Result<Done<S::Reply>, Failed> {
        let run = self.follow(name.slot(), One { name, step, deadline, caller }, deadline);
        run.await.map_err(|failed| failed.on(name))
    }

    pub(in crate::backend) async fn run_while_there<S: Step>(
        &self,
        name: &ObjectName,
        step: &S,
        deadline: Tick,
        known_away: bool,
    ) -> Result<Done<S::Reply>, Failed> {
        let run = self.follow(name.slot(), OnceOnly { name, step, deadline, known_away }, deadline);
        run.await.map_err(|failed| failed.on(name))
    }

    /// Of names of one slot.
    pub(in crate::backend) async fn run_batch<S: BatchStep>(
        &self,
        batch: &Batch<S>,
        deadline: Tick,
    ) -> Result<Done<Vec<S::Reply>>, Failed> {
        let slot = batch.items.first().map_or(0, |(name, _)| name.slot());
        debug_assert!(batch.items.iter().all(|(name, _)| name.slot() == slot));
        self.follow(slot, Many { batch, deadline }, deadline).await
    }

    /// Runs a request at the node that serves the slot, whichever that is while it runs.
    async fn follow<R: AtNode>(&self, slot: u16, request: R, deadline: Tick) -> Result<Done<R::Reply>, Failed> {
        let (mut begun, mut sent_on, mut ask): (Option<Begun>, u32, Option<Address>) = (None, 0, None);
        let mut last_sent_on = None;
        loop {
            let place = match self.routes.place(slot) {
                Some(place) => place,
                None => self.place(slot, &request, begun, deadline).await?,
            };
            let asked = ask.take().map(|address| self.routes.node_at(&address));
            let (node, asking) = (asked.as_ref().unwrap_or(&place.node), asked.is_some());
            let at = InSlot { routes: &self.routes, slot, home: &place.node.address, asking };
            let Elsewhere { to, begun: so_far } = match request.run(&node.server, begun, at).await {
                Ok(mut done) => {
                    done.reached.moves = done.reached.moves.max(place.since);
                    done.reached.generation = done.reached.generation.max(place.since);
                    return Ok(done);
                }
                Err(Halt::Failed(failed)) => return Err(failed),
                Err(Halt::Elsewhere(elsewhere)) => elsewhere,
            };
            begun = so_far;
            match to {
                To::Moved(address) => {
                    self.routes.moved(slot, &address);
                    last_sent_on = Some([node.address.clone(), address]);
                }
                To::Ask(address) => {
                    ask = Some(address.clone());
                    last_sent_on = Some([node.address.clone(), address]);
                }
                To::Owner => {}
            }
            sent_on += 1;
            if sent_on <= AT_ONCE {
                continue;
            }
            let next = self.clock.now().plus(PAUSE);
            if let Some([from, to]) = last_sent_on.as_ref().filter(|_| next.plus(PAUSE) >= deadline) {
                self.clock.sleep_until(deadline).await;
                let message = format!(
                    "the nodes of {} send requests for this name (slot {slot}) from one to another, {from} to {to} at last; \
                     they disagree about who serves it, or announce addresses that lead to other nodes",
                    self.target
                );
                return Err(failed(R::kind(), ErrorKind::Server, message, begun));
            }
            self.clock.sleep_until(next.min(deadline)).await;
        }
    }

    /// The node that serves the slot, of which none is known, waiting for one as long as the request does.
    async fn place<R: AtNode>(
        &self,
        slot: u16,
        request: &R,
        begun: Option<Begun>,
        deadline: Tick,
    ) -> Result<Place, Failed> {
        let grace = if self.routes.is_untried() { self.response_timeout } else { REDIAL_GRACE };
        let until = self.clock.now().plus(request.patience(grace)).min(deadline);
        loop {
            if let Some(place) = self.routes.place(slot) {
                return Ok(place);
            }
            self.routes.doubt();
            tokio::select! {
                biased;
                () = self.routes.served(slot, None) => {}
                () = self.clock.sleep_until(until) => {
                    let message = match self.routes.why_unknown() {
                        Some(why) => why.message().to_owned(),
                        None => format!("no node of {} serves the slot of this name ({slot})", self.target),
                    };
                    return Err(failed(R::kind(), ErrorKind::Connection, message, begun));
                }
            }
        }
    }

    fn at<T>(&self, name: &ObjectName, see: impl FnOnce(&Place) -> T) -> Option<T> {
        self.routes.place(name.slot()).as_ref().map(see)
    }

    /// The nodes that serve slots.
    pub(super) fn serving(&self) -> Vec<Arc<Node>> {
        self.routes.nodes().into_iter().filter(|node| self.routes.serves(node)).collect()
    }

    /// The node that serves the object of this name, if one does.
    pub(super) fn serving_of(&self, name: &ObjectName) -> Option<Arc<Node>> {
        self.at(name, |place| place.node.clone())
    }

    pub(in crate::backend) fn pubsub(&self) -> PubSub {
        self.routes.pubsub()
    }

    pub(in crate::backend) fn subscribe(&self, name: &ObjectName, channel: &str, listen: Listen) -> Subscription {
        self.listener.of_object(name.slot(), channel, listen)
    }

    pub(in crate::backend) fn subscribe_to_all(&self, channel: &str, listen: Listen) -> Subscription {
        self.listener.everywhere(channel, listen)
    }

    pub(in crate::backend) fn server_of(&self, name: &ObjectName) -> u64 {
        self.at(name, |place| place.node.number).unwrap_or_default()
    }

    pub(in crate::backend) fn server_generation(&self, name: &ObjectName) -> u64 {
        self.at(name, |place| place.node.server.server_generation().max(place.since)).unwrap_or_default()
    }

    pub(in crate::backend) fn moves(&self, name: &ObjectName) -> u64 {
        self.at(name, |place| place.node.server.moves().max(place.since)).unwrap_or_default()
    }

    pub(in crate::backend) fn last_move(&self) -> u64 {
        self.moves.last()
    }

    pub(in crate::backend) async fn moved_since(&self, seen: u64) -> u64 {
        self.moves.since(seen).await
    }

    pub(in crate::backend) fn heard_at(&self, name: &ObjectName) -> Tick {
        self.at(name, |place| place.node.server.heard_at()).unwrap_or_default()
    }

    pub(in crate::backend) fn why_away(&self, name: &ObjectName) -> Option<Error> {
        self.at(name, |place| place.node.server.why_away()).unwrap_or_else(|| self.routes.why_unknown())
    }

    pub(in crate::backend) fn down_since(&self, name: &ObjectName) -> Option<Tick> {
        self.at(name, |place| place.node.server.down_since()).flatten()
    }

    pub(in crate::backend) fn server_time(&self, name: &ObjectName, now: Tick) -> ServerTime {
        self.at(name, |place| place.node.server.server_time(now)).unwrap_or_default()
    }

    /// Asked of the node that serves the object, which must be the one that made the grant.
    pub(in crate::backend) async fn count_replicas(&self, name: &ObjectName, reached: Reached) -> Result<u32, Failed> {
        match self.routes.place(name.slot()) {
            Some(place) if place.since <= reached.moves => place.node.server.count_replicas(name, reached).await,
            _ => {
                let message = format!("another node of {} serves this name since the grant", self.target);
                let error = Error::new(ErrorKind::Connection, "acquire", message);
                Err(Failed { error, echo_until: None, away: true })
            }
        }
    }

    /// Asked of each node that comes to serve the object. Cancel safe.
    pub(in crate::backend) async fn watch_rights(
        &self,
        access: &'static str,
        name: &ObjectName,
        tell: impl Fn(&dyn fmt::Display, &[String]),
    ) -> Infallible {
        let slot = name.slot();
        loop {
            let Some(Place { node, .. }) = self.routes.place(slot) else {
                self.routes.served(slot, None).await;
                continue;
            };
            tokio::select! {
                never = node.server.watch_rights(access, name, &tell) => match never {},
                () = self.routes.served(slot, Some(&node.address)) => {}
            }
        }
    }

    pub(in crate::backend) fn attempt_budget(&self) -> Duration {
        self.response_timeout
    }
}

/// The end of a request that no node has answered.
fn failed(step: StepKind, kind: ErrorKind, message: String, begun: Option<Begun>) -> Failed {
    let error = Error::new(kind, step.op, message);
    match begun {
        None => Failed { error, echo_until: None, away: true },
        Some(begun) => Failed { error: outcome_unknown(step, &error), echo_until: Some(begun.echo_until), away: true },
    }
}
