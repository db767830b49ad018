//! One round trip, and nothing done in it.

use std::io;

use crate::Work;
use crate::resp::Connection;

/// A caller that asks for a sign of life.
pub struct Pings(pub Connection);

impl Work for Pings {
    fn round(&mut self) -> io::Result<usize> {
        self.0.push(&["PING"]);
        self.0.flush()?;
        match self.0.simple()?.as_str() {
            "+PONG" => Ok(1),
            other => Err(io::Error::other(format!("the server answered {other:?}"))),
        }
    }
}
