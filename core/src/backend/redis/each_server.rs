//! Plain commands to each of the servers that a client uses, for what looks at servers and not at one object.

use std::sync::Arc;

use redis::{Cmd, Pipeline, RedisError, Value};

use super::RedisBackend;
use super::cluster::Node;
use super::reply::reply;
use super::rights;
use super::verdict::{self, StepKind, Verdict};
use crate::backend::Backend;
use crate::error::Result;
use crate::name::ObjectName;
use crate::step::Reply;
use crate::time::Tick;

/// One of the servers of a client.
pub(crate) enum OneServer<'a> {
    Own(&'a RedisBackend),
    Node(Arc<Node>),
}

impl Backend {
    /// The servers that have objects; none where the steps run in this process.
    pub(crate) fn servers(&self) -> Vec<OneServer<'_>> {
        match self {
            Backend::Redis(redis) => vec![OneServer::Own(redis)],
            Backend::Cluster(cluster) => cluster.serving().into_iter().map(OneServer::Node).collect(),
            Backend::Quorum(quorum) => quorum.servers().map(OneServer::Own).collect(),
            Backend::Memory(_) => Vec::new(),
        }
    }

    /// The server that has the object of this name, if it is one alone.
    pub(crate) fn server_with(&self, name: &ObjectName) -> Option<OneServer<'_>> {
        match self {
            Backend::Redis(redis) => Some(OneServer::Own(redis)),
            Backend::Cluster(cluster) => cluster.serving_of(name).map(OneServer::Node),
            Backend::Quorum(_) | Backend::Memory(_) => None,
        }
    }
}

impl OneServer<'_> {
    fn redis(&self) -> &RedisBackend {
        match self {
            OneServer::Own(redis) => redis,
            OneServer::Node(node) => &node.server,
        }
    }

    /// Where it is: of the master that sentinels name the server that it is now.
    pub(crate) fn address(&self) -> String {
        let redis = self.redis();
        redis.link.up(|connected| connected.endpoint.to_string()).unwrap_or_else(|| redis.target.to_string())
    }

    /// Sends these commands, which only read, at once, and waits for all answers: an error for each that the server refuses.
    /// `needs` is what the user needs for them, as an error says it.
    ///
    /// # Errors
    /// When there is no connection until `deadline`, or no answer within `response_timeout`.
    pub(crate) async fn ask(
        &self,
        op: &'static str,
        needs: &'static str,
        commands: &[Vec<&str>],
        deadline: Tick,
    ) -> Result<Vec<Result<Reply>>> {
        let redis = self.redis();
        let mut connected = redis.link.get(deadline).await.map_err(|error| error.renamed(op))?;
        let kind = StepKind { op, idempotent: true, reads: true, access: needs };
        let judged = |error: RedisError| match verdict::of(kind, &error, &connected.endpoint) {
            Verdict::Refused { error, .. } | Verdict::Unknown(error) | Verdict::Fatal { error, .. } => error,
            Verdict::NoScript => redis.target_error(op, "has forgotten a script"),
        };
        let mut pipeline = Pipeline::with_capacity(commands.len());
        for words in commands {
            let mut command = Cmd::new();
            for word in words {
                command.arg(*word);
            }
            pipeline.add_command(command);
        }
        let answers = connected.connection.send_packed_commands(&pipeline, 0, commands.len());
        let answers = redis.link.in_time(answers).await.map_err(&judged)?;
        let each = |answer| match answer {
            Value::ServerError(error) => Err(judged(error.into())),
            value => Ok(reply(flat(value))),
        };
        Ok(answers.into_iter().map(each).collect())
    }

    /// The rules in `access` that the user lacks for the object of this name; none where the server does not tell, `None` without
    /// an answer.
    pub(crate) async fn lacks(&self, access: &'static str, name: &ObjectName) -> Option<Vec<String>> {
        let redis = self.redis();
        let mut connected = redis.link.up(Clone::clone)?;
        let missing = rights::missing(&mut connected.connection, access, name);
        tokio::time::timeout(redis.response_timeout, missing).await.ok().flatten()
    }
}

/// RESP3 has maps and words where RESP2 has lists and strings.
fn flat(value: Value) -> Value {
    match value {
        Value::Map(pairs) => Value::Array(pairs.into_iter().flat_map(|(key, value)| [key, value]).collect()),
        Value::Okay => Value::SimpleString("OK".to_owned()),
        Value::Array(items) => Value::Array(items.into_iter().map(flat).collect()),
        other => other,
    }
}
