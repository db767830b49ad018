//! Dialling all servers for the caller of `connect`, who is to see why too few of them can be reached.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use crate::backend::redis::REDIAL_GRACE;
use crate::backend::redis::parts::Parts;
use crate::config::{Options, Servers};
use crate::error::{Error, ErrorKind, Result};
use crate::time::Clock;
use crate::wait::by_deadline;

/// Dials all servers at once. Done when so many are there as make a majority, and a moment later, in which the others come if
/// nothing is wrong with them.
pub(super) async fn majority(parts: &[Parts], servers: &Servers, options: &Options, clock: &Clock) -> Result<()> {
    let needed = servers.majority();
    let mut dials = Dials::new(parts, options.connect_wait);
    dials.go_on(|there, failed| there >= needed || failed > parts.len() - needed).await;
    let (there, failed) = (dials.there, std::mem::take(&mut dials.failed));
    if there >= needed {
        let others = pin!(dials.go_on(|there, failed| there + failed == parts.len()));
        by_deadline(clock, clock.now().plus(REDIAL_GRACE), others).await;
        return Ok(());
    }
    let mut why: Vec<&str> = failed.iter().map(Error::message).collect();
    why.dedup();
    let message = format!("{servers}: {needed} of them have to be reached, only {there} could be: {}", why.join("; "));
    // What stays as it is says more than what may pass.
    let worst = failed.iter().find(|error| error.kind() != ErrorKind::Connection).or(failed.first());
    Err(worst.map_or_else(
        || Error::new(ErrorKind::Connection, "connect", message.clone()),
        |worst| worst.retold("connect", message.clone()),
    ))
}

type Dial<'a> = Pin<Box<dyn Future<Output = Result<()>> + Send + 'a>>;

/// Tries to connect that go on side by side. `None` is one that has ended.
struct Dials<'a> {
    dials: Vec<Option<Dial<'a>>>,
    there: usize,
    failed: Vec<Error>,
}

impl<'a> Dials<'a> {
    fn new(parts: &'a [Parts], wait: Duration) -> Dials<'a> {
        let dial = |parts: &'a Parts| -> Option<Dial<'a>> { Some(Box::pin(parts.link.dial_first(wait))) };
        Dials { dials: parts.iter().map(dial).collect(), there: 0, failed: Vec::new() }
    }

    /// Until so many are there, or have failed.
    async fn go_on(&mut self, enough: impl Fn(usize, usize) -> bool) {
        poll_fn(|context| {
            for dial in &mut self.dials {
                let Some(dialling) = dial else { continue };
                match dialling.as_mut().poll(context) {
                    Poll::Pending => continue,
                    Poll::Ready(Ok(())) => self.there += 1,
                    Poll::Ready(Err(error)) => self.failed.push(error),
                }
                *dial = None;
            }
            if enough(self.there, self.failed.len()) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
