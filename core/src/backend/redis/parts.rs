//! What a client of one server consists of.

use std::sync::Arc;

use super::RedisBackend;
use super::checkup::Checkup;
use super::dial::Dialler;
use super::direct::Direct;
use super::link::Link;
use super::listen::Listener;
use super::moves::Moves;
use super::replicas::Replicas;
use super::server::{Purpose, Server};
use crate::config::{Config, Target};
use crate::stats::Counters;
use crate::step::PubSub;
use crate::task::Tasks;

/// What a server is reached by, before there is a connection.
pub(super) struct Parts {
    pub(super) dialler: Dialler,
    server: Server,
    pub(super) link: Link,
}

impl Parts {
    pub(super) fn new(target: &Target, config: &Config, moves: &Moves, pubsub: PubSub) -> Parts {
        let (clock, events) = (&config.clock, &config.events);
        let dialler = Dialler::new(target, &config.options, clock, events);
        let server = Server::new(moves, pubsub);
        // Nothing is pushed on this connection.
        let nothing = Arc::new(|_| ());
        let (purpose, checkup) = (Purpose::Commands, Some(Checkup::new(config)));
        let link = Link::new(purpose, dialler.clone(), server.clone(), clock.clone(), events.clone(), nothing, checkup);
        Parts { dialler, server, link }
    }

    /// Keeps it connected from now on.
    pub(super) fn start(
        self,
        target: &Target,
        config: &Config,
        tasks: &Tasks,
        counters: &Arc<Counters>,
    ) -> RedisBackend {
        let Parts { dialler, server, link } = self;
        let (clock, events) = (&config.clock, &config.events);
        link.supervise("supervisor", tasks);
        let listener = |pubsub| Listener::start(pubsub, &dialler, &server, clock, events, tasks);
        RedisBackend {
            target: target.clone(),
            route: dialler.route().clone(),
            clock: clock.clone(),
            response_timeout: config.options.response_timeout,
            ping_interval: config.options.ping_interval,
            listener: listener(PubSub::Plain),
            shard_listener: (server.pubsub() == PubSub::Sharded).then(|| listener(PubSub::Sharded)),
            direct: Direct::new(&dialler, &link, &server, config, tasks),
            replicas: Replicas::start(&dialler, &link, &server, config, tasks),
            link,
            server,
            counters: counters.clone(),
        }
    }
}
