//! The commands by which a connection listens on channels, plain ones or those of a cluster's slots.

use std::collections::HashSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redis::aio::MultiplexedConnection;
use redis::{PushInfo, PushKind, RedisResult, Value};
use tokio::sync::Notify;

use crate::step::PubSub;

/// How one connection after the other listens.
pub(super) struct Ears {
    pub(super) pubsub: PubSub,
    /// Channels of slots that the client leaves by itself.
    leaving: Mutex<HashSet<String>>,
    /// A node has ended what was listened to there: its slot has gone to another node.
    taken: Notify,
}

impl Ears {
    pub(super) fn new(pubsub: PubSub) -> Ears {
        Ears { pubsub, leaving: Mutex::default(), taken: Notify::new() }
    }

    fn leaving(&self) -> MutexGuard<'_, HashSet<String>> {
        self.leaving.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The channel and the text of a message. Takes note of what else the server says.
    pub(super) fn message<'a>(&self, push: &'a PushInfo) -> Option<(&'a str, &'a str)> {
        let text = |at: usize| match push.data.get(at) {
            Some(Value::BulkString(bytes)) => std::str::from_utf8(bytes).ok(),
            _ => None,
        };
        let is_message = match self.pubsub {
            PubSub::Plain => PushKind::Message,
            PubSub::Sharded => PushKind::SMessage,
        };
        if push.kind == is_message {
            return text(0).zip(text(1));
        }
        if push.kind == PushKind::SUnsubscribe && text(0).is_none_or(|channel| !self.leaving().remove(channel)) {
            self.taken.notify_one();
        }
        None
    }

    /// Completes when the node has ended something since the last call. The connection cannot be used any more: the redis crate
    /// took the news for the answer to a request. Cancel safe.
    pub(super) async fn taken(&self) {
        self.taken.notified().await;
    }

    /// There is another connection: what the one before has said is over.
    pub(super) async fn renewed(&self) {
        self.leaving().clear();
        tokio::select! {
            biased;
            () = self.taken.notified() => {}
            () = std::future::ready(()) => {}
        }
    }

    /// How many channels one command may name: those of two slots may not stand in one.
    pub(super) fn most(&self) -> usize {
        match self.pubsub {
            PubSub::Plain => usize::MAX,
            PubSub::Sharded => 1,
        }
    }

    /// By one command.
    pub(super) async fn subscribe(
        &self,
        connection: &mut MultiplexedConnection,
        channels: &[&String],
    ) -> RedisResult<()> {
        match self.pubsub {
            PubSub::Plain => connection.subscribe(channels).await,
            PubSub::Sharded => {
                let answer = connection.send_packed_command(redis::cmd("SSUBSCRIBE").arg(channels)).await?;
                answer.extract_error().map(drop)
            }
        }
    }

    pub(super) async fn unsubscribe(
        &self,
        connection: &mut MultiplexedConnection,
        channels: &[String],
    ) -> RedisResult<()> {
        if self.pubsub == PubSub::Plain {
            return connection.unsubscribe(channels).await;
        }
        for channel in channels {
            self.leaving().insert(channel.clone());
            let answer = connection.send_packed_command(redis::cmd("SUNSUBSCRIBE").arg(channel)).await;
            self.leaving().remove(channel);
            answer?.extract_error()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(kind: PushKind, words: &[&str]) -> PushInfo {
        PushInfo { kind, data: words.iter().map(|word| Value::BulkString(word.as_bytes().to_vec())).collect() }
    }

    async fn is_taken(ears: &Ears) -> bool {
        tokio::select! {
            biased;
            () = ears.taken() => true,
            () = std::future::ready(()) => false,
        }
    }

    #[test]
    fn only_the_messages_of_its_kind_are_read() {
        let (plain, sharded) = (Ears::new(PubSub::Plain), Ears::new(PubSub::Sharded));
        let (message, of_slot) = (push(PushKind::Message, &["c", "m"]), push(PushKind::SMessage, &["c", "m"]));
        assert_eq!((plain.message(&message), plain.message(&of_slot)), (Some(("c", "m")), None));
        assert_eq!((sharded.message(&message), sharded.message(&of_slot)), (None, Some(("c", "m"))));
        assert_eq!(plain.message(&push(PushKind::Message, &["c"])), None);
        let no_text = PushInfo { kind: PushKind::Message, data: vec![Value::BulkString(vec![0xff]), Value::Int(1)] };
        assert_eq!(plain.message(&no_text), None);
    }

    #[tokio::test]
    async fn a_node_that_ends_channels_ends_its_connection_alone() {
        let (ears, ended) = (Ears::new(PubSub::Sharded), push(PushKind::SUnsubscribe, &["c"]));
        ears.leaving().insert("c".to_owned());
        assert_eq!(ears.message(&ended), None);
        assert!(!is_taken(&ears).await, "the client has asked for it");
        ears.message(&ended);
        assert!(is_taken(&ears).await);
        ears.message(&ended);
        ears.renewed().await;
        assert!(!is_taken(&ears).await);
    }
}
