//! The rounds of a lock on several servers, a majority of which has to agree, for some callers that share a socket to each.
//!
//! An acquire is two rounds, and a release is one (docs/protocol/quorum.md). A round is over when a majority has answered: that is
//! all the protocol asks for, and nothing that keeps to it can be done sooner. The other answers are read all the same, each
//! before the next one of its server is needed; every pair begins at another server, so none is left for long.
//!
//! The majority is the servers that were written to first, and not those that answered first: to wait for any of five sockets is
//! a system call more at each wake-up, which on loopback made no pair faster. To wait for all five took an eighth longer.

use std::io;

use crate::Work;
use crate::lock::{Lock, Raise, Scripts, client_id};
use crate::resp::Connection;

/// Callers that go through every round together, each with a lock that nobody else wants.
pub struct Rounds {
    servers: Vec<Server>,
    callers: Vec<Caller>,
    client: String,
    attempts: usize,
    /// Of all callers together.
    rounds: usize,
    releases: bool,
}

struct Caller {
    number: usize,
    lock: Lock,
    owner: String,
    token: i64,
}

struct Server {
    connection: Connection,
    scripts: Scripts,
    raise: Raise,
    /// The rounds whose answers have not been read, the oldest first.
    owed: Vec<Round>,
}

#[derive(Clone, Copy, PartialEq)]
enum Round {
    Acquire,
    Raise,
    Release,
}

impl Rounds {
    /// Callers number `first` to `first + count - 1`, which repeat acquire and release, or acquire another lock every time.
    pub fn new(addresses: &[&str], first: usize, count: usize, releases: bool) -> io::Result<Rounds> {
        let servers = addresses.iter().map(|address| Server::open(address)).collect::<io::Result<_>>()?;
        let caller =
            |number| Caller { number, lock: Lock::new(&format!("bench-{number}")), owner: String::new(), token: 0 };
        let callers = (first..first + count).map(caller).collect();
        Ok(Rounds { servers, callers, client: client_id(first), attempts: 0, rounds: 0, releases })
    }

    /// Sends the round to so many servers, from this one on, and reads the answers of a majority.
    fn go(&mut self, round: Round, from: usize, asked: usize) -> io::Result<()> {
        let (count, majority) = (self.servers.len(), self.servers.len() / 2 + 1);
        for number in from..from + asked {
            self.servers[number % count].ask(round, &self.callers)?;
        }
        for number in from..from + majority {
            self.servers[number % count].answers(&mut self.callers)?;
        }
        Ok(())
    }
}

impl Work for Rounds {
    fn round(&mut self) -> io::Result<usize> {
        self.rounds += 1;
        for caller in &mut self.callers {
            self.attempts += 1;
            caller.owner = format!("{}:{}", self.client, self.attempts);
            caller.token = 0;
            if !self.releases {
                caller.lock = Lock::new(&format!("bench-{}-{}", caller.number, self.rounds));
            }
        }
        let (count, from) = (self.servers.len(), self.rounds);
        self.go(Round::Acquire, from, count)?;
        // To those that are known to have granted.
        self.go(Round::Raise, from, count / 2 + 1)?;
        if self.releases {
            self.go(Round::Release, from, count)?;
        }
        Ok(self.callers.len())
    }
}

impl Server {
    fn open(address: &str) -> io::Result<Server> {
        let mut connection = Connection::open(address)?;
        let (scripts, raise) = (Scripts::load(&mut connection)?, Raise::load(&mut connection)?);
        Ok(Server { connection, scripts, raise, owed: Vec::new() })
    }

    /// Sends the requests of all callers as one write.
    fn ask(&mut self, round: Round, callers: &[Caller]) -> io::Result<()> {
        let (connection, scripts) = (&mut self.connection, &self.scripts);
        for Caller { lock, owner, token, .. } in callers {
            match round {
                Round::Acquire => scripts.acquire_at_one(connection, lock, owner),
                Round::Raise => self.raise.push(connection, lock, owner, *token),
                Round::Release => scripts.release(connection, lock, owner, false),
            }
        }
        self.owed.push(round);
        connection.flush()
    }

    /// Reads what is owed; the largest token of the acquires that the callers have under way becomes theirs.
    fn answers(&mut self, callers: &mut [Caller]) -> io::Result<()> {
        let last = self.owed.len().saturating_sub(1);
        for (number, round) in std::mem::take(&mut self.owed).into_iter().enumerate() {
            for caller in &mut *callers {
                match round {
                    Round::Acquire => {
                        let token = self.scripts.granted(&mut self.connection)?;
                        let token =
                            token.ok_or_else(|| io::Error::other(format!("somebody else has {}", caller.lock.name)))?;
                        if number == last {
                            caller.token = caller.token.max(token);
                        }
                    }
                    Round::Raise => Raise::raised(&mut self.connection)?,
                    Round::Release => drop(Scripts::released(&mut self.connection)?),
                }
            }
        }
        Ok(())
    }
}
