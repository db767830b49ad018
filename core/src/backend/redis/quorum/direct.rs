//! Rounds on the thread of a caller who may block, at a majority of the servers: without the hop to the runtime and back, as
//! direct calls are made to one server.

use super::{Answer, Members, Quorum};
use crate::backend::redis::direct::{Connection, NoAnswer};
use crate::blocking;
use crate::name::ObjectName;
use crate::step::Step;
use crate::time::Tick;

/// When the first request was sent, and an answer of each server; the connections for the next round.
type Asked<'a, R> = (DirectMajority<'a>, Tick, Vec<Answer<R>>);

/// Blocking connections to as many servers as make a majority, in the hands of one caller.
pub(crate) struct DirectMajority<'a> {
    quorum: &'a Quorum,
    connections: Vec<(usize, Connection)>,
}

impl Quorum {
    /// Connections to a majority, none of them to one of `others`, if the calling thread may block and this is a time for it.
    pub(crate) fn directly(&self, others: Members, deadline: Tick) -> Option<DirectMajority<'_>> {
        if !blocking::is_allowed() {
            return None;
        }
        let now = self.clock.now();
        let mut directly = DirectMajority { quorum: self, connections: Vec::with_capacity(self.majority) };
        for (number, server) in self.servers.iter().enumerate() {
            if others.has(number) {
                continue;
            }
            if let Some(connection) = server.lend(now, deadline) {
                directly.connections.push((number, connection));
                if directly.connections.len() == self.majority {
                    return Some(directly);
                }
            }
        }
        directly.give_back();
        None
    }
}

impl<'a> DirectMajority<'a> {
    /// Asks all of them, and blocks the thread for 40 ms at most. With the time of the first sending and the answers of all of
    /// them; or with those that may carry it out although they have not answered, and then the connections are of no more use.
    pub(crate) fn ask<S: Step>(mut self, name: &ObjectName, step: &S) -> Result<Asked<'a, S::Reply>, Members> {
        let (quorum, sent) = (self.quorum, self.quorum.clock.now());
        let mut requests = Vec::with_capacity(self.connections.len());
        let mut unanswered = Members::default();
        for (number, mut connection) in std::mem::take(&mut self.connections) {
            match quorum.servers[number].send(&mut connection, name, step, sent) {
                Some(request) => requests.push((number, connection, request)),
                // A part of it may have been sent.
                None => unanswered.insert(number),
            }
        }
        let mut answers = Vec::with_capacity(requests.len());
        for (number, connection, request) in requests {
            let server = &quorum.servers[number];
            match server.receive::<S>(connection, request) {
                Ok((connection, done)) => {
                    self.connections.push((number, connection));
                    answers.push(Answer { server: number, counts: quorum.counts(number), outcome: Ok(done) });
                }
                Err(NoAnswer::Refused) => {}
                Err(NoAnswer::Unknown) => unanswered.insert(number),
            }
        }
        if answers.len() == quorum.majority {
            return Ok((self, sent, answers));
        }
        self.give_back();
        Err(unanswered)
    }

    /// The servers that are asked.
    pub(crate) fn members(&self) -> Members {
        let mut members = Members::default();
        self.connections.iter().for_each(|(number, _)| members.insert(*number));
        members
    }

    /// For the next caller.
    pub(crate) fn give_back(self) {
        for (number, connection) in self.connections {
            self.quorum.servers[number].take_back(connection);
        }
    }
}
