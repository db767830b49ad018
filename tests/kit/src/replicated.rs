//! A primary and its replicas, as real processes. Each replica follows through a proxy of its own, so that it can be cut off
//! without being stopped.

use std::time::Duration;

use crate::{
    proxy::Proxy,
    resp::Reply,
    server::{Options, Server},
    wait::eventually,
};

/// How long the processes may take to find one another.
const SETTLING: Duration = Duration::from_secs(30);

/// A server and those that follow it.
#[derive(Debug)]
pub struct Replicated {
    /// The server that clients use.
    pub primary: Server,
    /// In the order in which they were started.
    pub replicas: Vec<Replica>,
}

/// A server that follows another one.
#[derive(Debug)]
pub struct Replica {
    /// The process.
    pub server: Server,
    /// Its way to the primary: what the primary sends are replies.
    pub stream: Proxy,
}

impl Replicated {
    /// Starts a primary and this many replicas, which are in sync when this returns.
    #[track_caller]
    pub fn start(replicas: usize) -> Self {
        Self::with(replicas, Server::options())
    }

    /// The same with options of the primary.
    #[track_caller]
    pub fn with(replicas: usize, options: Options) -> Self {
        let primary = options.args(&["--repl-diskless-sync-delay", "0"]).start();
        let follow = |_| {
            let (server, stream) = (Server::start(), Proxy::start(primary.address()));
            let port = stream.address().port().to_string();
            assert_eq!(server.cmd(&["REPLICAOF", "127.0.0.1", &port]).text(), "OK");
            Replica { server, stream }
        };
        let replicated = Self { replicas: (0..replicas).map(follow).collect(), primary };
        // The first may have come with the copy of everything; Redis sends what follows up to a second after that.
        for what in ["all replicas have a copy", "all replicas follow"] {
            eventually(SETTLING, what, || replicated.acknowledged(Duration::from_secs(5)) == replicas);
        }
        replicated
    }

    /// How many replicas have all that was written until now, waiting for them for no longer than `within`.
    pub fn acknowledged(&self, within: Duration) -> usize {
        let mut connection = self.primary.connect();
        // On a connection that has written nothing, WAIT counts all replicas.
        connection.cmd(&["SET", "kit-written", "1", "PX", "1"]).expect("a reply");
        let wanted = self.replicas.len().to_string();
        let counted = connection.cmd(&["WAIT", &wanted, &within.as_millis().to_string()]).expect("a reply");
        match counted {
            Reply::Int(count) => count as usize,
            other => panic!("WAIT answered {other:?}"),
        }
    }
}
