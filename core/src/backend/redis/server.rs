//! The server at the other end, as all connections of a client see it: they follow one server.
//!
//! Each connection says on being dialled which server it has reached. The last one dialled is right: if it reached another
//! server than the one before, the address leads elsewhere now, and the connections that were dialled earlier are replaced.

use std::collections::VecDeque;
use std::fmt;
use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::dial::Hello;
use super::moves::Moves;
use crate::backend::{Reached, Sighting};
use crate::error::Error;
use crate::event::Level;
use crate::step::PubSub;
use crate::time::{ServerTime, Tick};

/// Clones share what is known.
#[derive(Clone)]
pub(super) struct Server(Arc<Shared>);

struct Shared {
    known: Mutex<Known>,
    /// The last time that the address was found to lead to another server, or may have been.
    moves: watch::Sender<u64>,
    /// Those of all servers of the client.
    row: Moves,
    pubsub: PubSub,
    /// Stands for the run id of the server that was reached last; 0 when there is none.
    run: AtomicU64,
}

struct Known {
    sighting: Sighting,
    /// How long it had run when a connection for commands was dialled last, and when that was.
    uptime: (Duration, Tick),
    run_id: Option<String>,
    /// The last connection for commands was not told the run id.
    is_untold: bool,
    /// What it said when it last refused for a reason that passes, until it answers again.
    refusal: Option<Error>,
    generation: u64,
    alternation: Alternation,
}

/// Finds out that the address leads to several live servers: it keeps leading back to one that it led to before. A restarted
/// server has a new run id, and a planned switch is followed by all connections within seconds, after a few moves.
#[derive(Default)]
struct Alternation {
    /// The run ids that connections have moved away from, the last at the end.
    left: VecDeque<String>,
    last_move: Tick,
    returns: u32,
    said: bool,
}

/// So many returns in a row are no switch and no way back.
const RETURNS: u32 = 4;

/// A move so long after the one before it begins a new row.
const ROW: Duration = Duration::from_secs(10);

/// How many run ids are remembered.
const MOST_LEFT: usize = 8;

impl Alternation {
    fn moved(&mut self, from: &str, to: &str, at: Tick) {
        if at.since(self.last_move) > ROW {
            self.returns = 0;
            self.left.clear();
        }
        self.last_move = at;
        if self.left.iter().any(|left| left == to) {
            self.returns += 1;
        }
        self.left.retain(|left| left != from);
        self.left.push_back(from.to_owned());
        if self.left.len() > MOST_LEFT {
            self.left.pop_front();
        }
    }
}

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    Commands,
    Messages(PubSub),
    Direct,
    Replicas,
}

impl Purpose {
    /// How loud it is said that the connection is broken. Nodes end those for messages of slots when slots move, and without
    /// them messages come another way.
    pub(super) fn level(self) -> Level {
        if self == Purpose::Messages(PubSub::Sharded) { Level::Debug } else { Level::Warn }
    }
}

/// As logs say it.
impl fmt::Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purpose::Commands => "commands",
            Purpose::Messages(PubSub::Plain) => "messages",
            Purpose::Messages(PubSub::Sharded) => "messages of slots",
            Purpose::Direct => "blocking calls",
            Purpose::Replicas => "asking for replicas",
        })
    }
}

impl Server {
    /// Nothing is known before the first connection.
    pub(super) fn new(row: &Moves, pubsub: PubSub) -> Server {
        let sighting = Sighting { server: ServerTime::default(), at: Tick::default() };
        let alternation = Alternation::default();
        let (uptime, is_untold) = (Default::default(), false);
        let known = Known { sighting, uptime, run_id: None, is_untold, refusal: None, generation: 0, alternation };
        Server(Arc::new(Shared {
            known: Mutex::new(known),
            moves: watch::Sender::new(0),
            row: row.clone(),
            pubsub,
            run: AtomicU64::new(0),
        }))
    }

    /// Which messages scripts publish there.
    pub(super) fn pubsub(&self) -> PubSub {
        self.0.pubsub
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection was dialled: which server it has reached. The first of a client is no move.
    pub(super) fn reached(&self, by: Purpose, first: bool, hello: &Hello) -> Reached {
        if by == Purpose::Commands {
            let mut known = self.known();
            known.sighting = hello.sighting;
            // One that does not say may have started just now.
            known.uptime = (hello.uptime.unwrap_or_default(), hello.sighting.at);
        }
        self.reached_run(by, first, hello.run_id.as_deref(), hello.sighting.at)
    }

    /// As [`Server::reached`], for a connection that was not told the time.
    pub(super) fn reached_run(&self, by: Purpose, first: bool, run_id: Option<&str>, at: Tick) -> Reached {
        let mut known = self.known();
        let is_another = matches!((known.run_id.as_deref(), run_id), (Some(before), Some(now)) if before != now);
        // Not known is not the same: one connection speaks for all, or they would replace each other for ever.
        let may_be_another = by == Purpose::Commands && !first && (run_id.is_none() || known.is_untold);
        if by == Purpose::Commands {
            known.is_untold = run_id.is_none();
        }
        if let Some(run_id) = run_id {
            self.0.run.store(BuildHasherDefault::<DefaultHasher>::default().hash_one(run_id), Ordering::Relaxed);
        }
        let before = run_id.and_then(|run_id| known.run_id.replace(run_id.to_owned()));
        // Under the lock: whoever sees the move sees the generation.
        if is_another || may_be_another {
            self.0.row.moved(|number| {
                if let (true, Some(before), Some(run_id)) = (is_another, before, run_id) {
                    known.generation = number;
                    known.alternation.moved(&before, run_id, at);
                }
                self.0.moves.send_replace(number);
            });
        }
        Reached { generation: known.generation, moves: *self.0.moves.borrow() }
    }

    /// Whether the connections for commands since the last move are known to lead to one server. Changes only with a move.
    pub(super) fn is_told(&self) -> bool {
        !self.known().is_untold
    }

    /// The last move to a server with another run id.
    pub(super) fn generation(&self) -> u64 {
        self.known().generation
    }

    /// Whether the address leads to several live servers by turns; said once.
    pub(super) fn alternates(&self) -> bool {
        let alternation = &mut self.known().alternation;
        alternation.returns >= RETURNS && !std::mem::replace(&mut alternation.said, true)
    }

    /// The last move.
    pub(super) fn moves(&self) -> u64 {
        *self.0.moves.borrow()
    }

    /// Completes when there was a move after `seen`, with the last. Cancel safe.
    pub(super) async fn moved_since(&self, seen: u64) -> u64 {
        let mut moves = self.0.moves.subscribe();
        let _ = moves.wait_for(|moves| *moves > seen).await;
        // The sender lives in `self`, so the only way out is a move.
        self.moves()
    }

    /// What it refused for now, unless it has answered since.
    pub(super) fn refusal(&self) -> Option<Error> {
        self.known().refusal.clone()
    }

    pub(super) fn refused(&self, error: &Error) {
        self.known().refusal = Some(error.clone());
    }

    /// An answer that told the server's time.
    pub(super) fn saw(&self, sighting: Sighting) {
        let mut known = self.known();
        known.sighting = sighting;
        known.refusal = None;
    }

    /// How long it has run, at least but for a second: as it said, and since.
    pub(super) fn uptime(&self, now: Tick) -> Duration {
        let (told, at) = self.known().uptime;
        told.saturating_add(now.since(at))
    }

    /// Whether both lead to one server, as far as it is known.
    pub(super) fn is_one_with(&self, other: &Server) -> bool {
        let run = self.0.run.load(Ordering::Relaxed);
        run != 0 && run == other.0.run.load(Ordering::Relaxed)
    }

    /// When it last told its time.
    pub(super) fn seen_at(&self) -> Tick {
        self.known().sighting.at
    }

    /// The server's time now, as far as the client knows it.
    pub(super) fn time(&self, now: Tick) -> ServerTime {
        self.known().sighting.at(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Tick = Tick(0);

    #[test]
    fn another_run_id_is_a_move_whichever_connection_met_it() {
        let server = Server::new(&Moves::default(), PubSub::Plain);
        assert_eq!(server.reached_run(Purpose::Commands, true, Some("a"), NOW).moves, 0);
        assert_eq!(server.reached_run(Purpose::Messages(PubSub::Plain), true, Some("a"), NOW).moves, 0);
        assert_eq!(server.reached_run(Purpose::Messages(PubSub::Plain), false, Some("b"), NOW).moves, 1);
        assert_eq!(server.reached_run(Purpose::Commands, false, Some("b"), NOW).moves, 1, "it follows");
        assert_eq!(server.reached_run(Purpose::Direct, false, Some("c"), NOW).moves, 2);
        assert_eq!((server.generation(), server.moves()), (2, 2));
    }

    #[test]
    fn without_run_ids_a_new_connection_for_commands_may_be_a_move() {
        let server = Server::new(&Moves::default(), PubSub::Plain);
        assert_eq!(server.reached_run(Purpose::Commands, true, None, NOW).moves, 0);
        assert_eq!(server.reached_run(Purpose::Commands, false, None, NOW).moves, 1);
        assert_eq!(
            server.reached_run(Purpose::Messages(PubSub::Plain), false, None, NOW).moves,
            1,
            "and the others follow once"
        );
        assert_eq!(server.generation(), 0, "nobody can say that it was replaced");
        assert!(!server.is_told());
    }

    /// The rights of a user may differ from server to server.
    #[test]
    fn a_run_id_that_only_some_connections_are_told_is_no_proof() {
        let server = Server::new(&Moves::default(), PubSub::Plain);
        server.reached_run(Purpose::Commands, true, None, NOW);
        assert_eq!(server.reached_run(Purpose::Replicas, false, Some("a"), NOW).moves, 0, "it does not speak for all");
        assert!(!server.is_told());
        assert_eq!(server.reached_run(Purpose::Commands, false, Some("a"), NOW).moves, 1, "it may have been another");
        assert_eq!((server.is_told(), server.generation()), (true, 0));
        assert_eq!(server.reached_run(Purpose::Commands, false, Some("a"), NOW).moves, 1);
    }

    /// Moves from one server to the next, with so long in between; after how many of them it is said.
    fn said_after(run_ids: &[&str], pause: Duration) -> Option<usize> {
        let (server, mut now) = (Server::new(&Moves::default(), PubSub::Plain), Tick(0));
        let mut said = None;
        for (moves, run_id) in run_ids.iter().enumerate() {
            server.reached_run(Purpose::Commands, moves == 0, Some(run_id), now);
            if server.alternates() {
                assert_eq!(said.replace(moves), None, "it is said once");
            }
            now = now.plus(pause);
        }
        said
    }

    #[test]
    fn live_servers_that_alternate_are_told_once() {
        let second = Duration::from_secs(1);
        assert_eq!(said_after(&["a", "b"].repeat(10), second), Some(5));
        assert_eq!(said_after(&["a", "b", "c"].repeat(10), second), Some(6));
        assert_eq!(said_after(&["a", "b", "a", "b", "b", "c", "d", "e", "f"], second), None, "a switch, and restarts");
        assert_eq!(said_after(&["a", "b"].repeat(10), 60 * second), None, "switched by hand");
    }
}
