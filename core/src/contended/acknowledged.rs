//! Grants that count only if enough replicas have them (option `replicas`). Other grants are released, and fail.
//!
//! This happens before anything else is made of a grant, so no caller and no line ever sees one that does not count. The time
//! it takes is part of the lease, which counts from the sending of the request.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use super::object::Obstacle;
use super::{AcquireStep, Acquired, Contended, Joint, Primitive, TakenTogether, server};
use crate::backend::{Done, Failed, Reached, RequiredReplicas};
use crate::context::Context;
use crate::ended::while_open;
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::step::Step;

/// Why a grant does not count.
enum Shortfall {
    /// Only this many replicas have it.
    Had(u32),
    /// The replicas could not be counted.
    Unknown(Failed),
}

impl<P: Primitive> Contended<P> {
    /// Passes the answer to an acquire on, unless it grants something that too few replicas have.
    pub(super) async fn acknowledged(&self, step: &P::Acquire, done: Done<Acquired>) -> Result<Done<Acquired>, Failed> {
        let Some(required) = RequiredReplicas::of(&self.client().options) else { return Ok(done) };
        let granted = match done.reply {
            Acquired::Granted { .. } => usize::MAX,
            Acquired::Several { granted, .. } if granted > 0 => granted,
            _ => return Ok(done),
        };
        // In a box: most clients never need it, and this future is moved about with whatever it is part of.
        Box::pin(async move {
            let Some(shortfall) = self.shortfall(required, done.reached).await else { return Ok(done) };
            let mut released = Ok(());
            for each in step.each().iter().take(granted) {
                released = self.send_release(&P::release(each.owner(), false)).await.map(drop);
                if released.is_err() {
                    break;
                }
            }
            Err(shortfall.fail(P::Acquire::OP, self.client(), self.name(), required, &done, released))
        })
        .await
    }

    /// Why what was granted until now does not count, if it does not.
    async fn shortfall(&self, required: RequiredReplicas, reached: Reached) -> Option<Shortfall> {
        let client = self.client();
        let before = self.replace_obstacle(Some(Obstacle::Replicas(required)));
        let counting = pin!(self.count_replicas(reached));
        let counted = while_open(P::Acquire::OP, &client.tasks, counting).await;
        self.replace_obstacle(before);
        match counted {
            Ok(Ok(count)) if count >= required.count => None,
            Ok(Ok(count)) => Some(Shortfall::Had(count)),
            Ok(Err(failed)) => Some(Shortfall::Unknown(failed)),
            Err(ended) => Some(Shortfall::Unknown(ended.into())),
        }
    }
}

/// As [`Contended::acknowledged`], for objects that were asked for together, with these steps, one for each.
pub(super) async fn acknowledged_together<P: TakenTogether>(
    objects: &[Arc<Contended<P>>],
    steps: &[&P::Acquire],
    done: Done<Vec<Joint>>,
) -> Result<Done<Vec<Joint>>, Failed> {
    let (first, client) = (&objects[0], objects[0].client());
    let Some(required) = RequiredReplicas::of(&client.options) else { return Ok(done) };
    // All are granted, or none.
    if !matches!(done.reply.first(), Some(Joint::Is(Acquired::Granted { .. }))) {
        return Ok(done);
    }
    let Some(shortfall) = first.shortfall(required, done.reached).await else { return Ok(done) };
    let release = |(object, step): (&Arc<Contended<P>>, &&P::Acquire)| {
        (object.name().clone(), P::release_all(P::release(step.owner(), false)))
    };
    let released = server::send_releases::<P>(client, objects.iter().zip(steps).map(release).collect()).await;
    Err(shortfall.fail(P::Acquire::OP, client, first.name(), required, &done, released.map(drop)))
}

impl Shortfall {
    /// What the caller is told of a grant that was `released`, or may not have been.
    fn fail<R>(
        self,
        op: &'static str,
        client: &Context,
        name: &ObjectName,
        required: RequiredReplicas,
        done: &Done<R>,
        released: Result<(), Failed>,
    ) -> Failed {
        let RequiredReplicas { count, timeout } = required;
        let (why, away) = match &self {
            Shortfall::Had(had) => {
                let message = format!(
                    "{} had the grant within {timeout:?} (option replica_timeout), of {count} that must have it (option replicas)",
                    Replicas(*had)
                );
                (Error::new(ErrorKind::Server, op, message), false)
            }
            Shortfall::Unknown(Failed { error, away, .. }) => {
                let message = format!(
                    "{}; it is not known whether {} had the grant (option replicas)",
                    error.message(),
                    Replicas(count)
                );
                (error.retold(op, message), *away)
            }
        };
        let advice = match self {
            Shortfall::Had(_) => {
                ". Check that the replicas are connected and keep up (INFO replication), or require fewer"
            }
            Shortfall::Unknown(_) => "",
        };
        let (error, echo_until) = match released {
            Ok(()) => {
                let message = format!("{}; the grant was released, nothing is held{advice}", why.message());
                (why.retold(op, message), done.echo_until)
            }
            // What was granted may still be there: the caller of this undoes it.
            Err(failed) => {
                let message = format!(
                    "{}; this caller holds nothing, but the release of the grant was not confirmed ({}), and goes on in the \
                     background{advice}",
                    why.message(),
                    failed.error.message()
                );
                let error = match why.kind() {
                    ErrorKind::Closed | ErrorKind::Forked | ErrorKind::Internal => why.retold(op, message),
                    _ => Error::new(ErrorKind::OutcomeUnknown, op, message),
                };
                (error, done.echo_until.or(Some(client.clock.now())))
            }
        };
        Failed { error: error.on(name.as_str()), echo_until, away }
    }
}

/// A number of replicas, in words.
pub(super) struct Replicas(pub(super) u32);

impl fmt::Display for Replicas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("no replica"),
            1 => f.write_str("1 replica"),
            count => write!(f, "{count} replicas"),
        }
    }
}
