//! One connection for several requests in a row, beside others to other servers: what is sent to all of them before the first
//! answer is read takes one round trip.

use super::pool::Loan;
use super::verdict;
use crate::backend::Done;
use crate::backend::redis::{RedisBackend, Sent};
use crate::name::ObjectName;
use crate::step::{Call, Step};
use crate::time::Tick;

/// A blocking connection in the hands of a caller.
pub(in crate::backend::redis) struct Connection(Loan);

/// A request that was sent.
pub(in crate::backend::redis) struct Request {
    call: Call,
    sent: Tick,
}

/// Why there is no answer.
pub(in crate::backend::redis) enum NoAnswer {
    /// The server has refused it, or the answer says nothing. The connection was given back.
    Refused,
    /// It may be carried out all the same, until its `not_after`. The connection is closed.
    Unknown,
}

impl RedisBackend {
    /// A connection for requests on the calling thread, each of which blocks it for 40 ms at most, if this is a time for that.
    pub(in crate::backend::redis) fn lend(&self, now: Tick, deadline: Tick) -> Option<Connection> {
        self.borrow(now, deadline).map(Connection)
    }

    pub(in crate::backend::redis) fn send<S: Step>(
        &self,
        connection: &mut Connection,
        name: &ObjectName,
        step: &S,
        sent: Tick,
    ) -> Option<Request> {
        let mut call = Call::default();
        step.encode(name, self.attempt_at(sent), &mut call);
        match connection.0.send(S::script(), &call, sent) {
            Ok(()) => Some(Request { call, sent }),
            Err(error) => {
                self.direct.rest(verdict::how(&error));
                None
            }
        }
    }

    pub(in crate::backend::redis) fn receive<S: Step>(
        &self,
        mut connection: Connection,
        Request { call, sent }: Request,
    ) -> Result<(Connection, Done<S::Reply>), NoAnswer> {
        let answer = connection.0.receive(S::script(), &call);
        let answered = self.clock.now();
        let value = match answer {
            Ok(value) => value,
            Err(error) if verdict::is_reply(&error) => {
                self.take_back(connection);
                return Err(NoAnswer::Refused);
            }
            Err(error) => {
                self.direct.rest(verdict::how(&error));
                return Err(NoAnswer::Unknown);
            }
        };
        let reached = connection.0.beside.reached;
        let sent = Sent { first: sent, last: sent, answered, echo_until: None, reached };
        match self.read(S::OP, value, S::decode, sent) {
            Ok(done) => {
                self.note_time::<S>(&done.reply, answered);
                Ok((connection, done))
            }
            Err(_) => {
                self.take_back(connection);
                Err(NoAnswer::Refused)
            }
        }
    }

    /// For the next caller.
    pub(in crate::backend::redis) fn take_back(&self, connection: Connection) {
        connection.0.give_back(self.clock.now());
    }
}
