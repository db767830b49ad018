//! A script call as the server takes it.

use std::pin::pin;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisResult, Value};

use crate::step::{Call, PubSub, Script};

/// One attempt: by the script's hash, and with its text when the server does not have it.
pub(super) async fn send(
    connection: &mut MultiplexedConnection,
    (script, pubsub): (&Script, PubSub),
    call: &Call,
    asking: bool,
    left: Duration,
) -> RedisResult<Value> {
    let attempt = async {
        if asking {
            return ask_node(connection, (script, pubsub), call).await;
        }
        match ask(connection, &command("EVALSHA", script.sha1(pubsub), call)).await {
            // A script can be evicted at any time, also between these two: EVAL brings it along.
            Err(error) if error.code() == Some("NOSCRIPT") => {
                ask(connection, &command("EVAL", &script.text(pubsub), call)).await
            }
            other => other,
        }
    };
    // Both where they are: to make a time-out of them would move them.
    let (mut attempt, mut limit) = (pin!(attempt), pin!(tokio::time::sleep(left)));
    tokio::select! {
        biased;
        answer = &mut attempt => answer,
        () = &mut limit => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
    }
}

/// As [`send`], at a node to which the slot is being moved: it answers a request that comes right behind ASKING.
async fn ask_node(
    connection: &mut MultiplexedConnection,
    (script, pubsub): (&Script, PubSub),
    call: &Call,
) -> RedisResult<Value> {
    for verb in ["EVALSHA", "EVAL"] {
        let command = match verb {
            "EVALSHA" => command(verb, script.sha1(pubsub), call),
            _ => command(verb, &script.text(pubsub), call),
        };
        let mut both = redis::Pipeline::with_capacity(2);
        both.cmd("ASKING").add_command(command);
        let answer = connection.send_packed_commands(&both, 1, 1).await?.pop();
        match answer.unwrap_or(Value::Nil) {
            Value::ServerError(error) if error.code() == "NOSCRIPT" && verb == "EVALSHA" => {}
            Value::ServerError(error) => return Err(error.into()),
            value => return Ok(value),
        }
    }
    unreachable!("EVAL has returned")
}

/// One request on the connection. Not by `query_async`, which would put it into a box.
pub(super) async fn ask(connection: &mut MultiplexedConnection, command: &Cmd) -> RedisResult<Value> {
    match connection.send_packed_command(command).await? {
        Value::ServerError(error) => Err(error.into()),
        value => Ok(value),
    }
}

/// For a connection of the redis crate.
pub(super) fn command(verb: &str, script: &str, call: &Call) -> Cmd {
    let mut command = Cmd::with_capacity(words(call), bytes(script, call));
    command.arg(verb).arg(script).arg(call.keys.len());
    for word in call.keys.iter().chain(call.args.iter()) {
        command.arg(word);
    }
    command
}

/// As its bytes, for a connection that this crate writes to itself: [`Cmd`] copies every word twice.
pub(super) fn pack(verb: &str, script: &str, call: &Call, packed: &mut Vec<u8>) {
    let mut digits = itoa::Buffer::new();
    packed.reserve(bytes(script, call) + 16 * words(call));
    head(b'*', words(call), packed);
    let first = [verb, script, digits.format(call.keys.len())];
    for word in first.into_iter().map(str::as_bytes).chain(call.keys.iter()).chain(call.args.iter()) {
        head(b'$', word.len(), packed);
        packed.extend_from_slice(word);
        packed.extend_from_slice(b"\r\n");
    }
}

fn head(kind: u8, length: usize, packed: &mut Vec<u8>) {
    packed.push(kind);
    packed.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    packed.extend_from_slice(b"\r\n");
}

fn words(call: &Call) -> usize {
    3 + call.keys.len() + call.args.len()
}

/// Of all words; more than the few of the verb and the number of keys.
fn bytes(script: &str, call: &Call) -> usize {
    script.len() + call.keys.bytes() + call.args.bytes() + 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_connections_send_the_same_bytes() {
        for (keys, args) in [(vec![], vec![]), (vec!["jobs"], vec!["", "\u{e9}\r\n"]), (vec!["k"; 12], vec!["9"; 101])]
        {
            let mut call = Call::default();
            keys.iter().for_each(|key| call.keys.push(key));
            args.iter().for_each(|arg| call.args.push(arg));
            let mut packed = Vec::new();
            pack("EVALSHA", "e0e1", &call, &mut packed);
            assert_eq!(packed, command("EVALSHA", "e0e1", &call).get_packed_command());
        }
    }
}
