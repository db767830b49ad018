//! Prolonging a hold, or several in one request, because its holder asks for it.

use std::sync::Arc;
use std::time::Duration;

use super::{Contended, Primitive, server};
use crate::backend::Done;
use crate::error::Result;
use crate::lease::{Grant, Renewal, Term};

impl<P: Primitive> Contended<P>
where
    P::Renew: Renewal,
{
    /// Prolongs a hold on the server, or learns that it is gone. Any other error leaves what the client believes as it was.
    pub(crate) async fn extend(&self, op: &'static str, grant: &Grant, lease: Duration) -> Result<()> {
        let client = self.client();
        let (deadline, end) = (client.operation_deadline(), grant.valid_until().max(client.clock.now()));
        loop {
            let done = self.send_renewal(grant, lease, deadline, end).await;
            let done = done.map_err(|failed| failed.error.renamed(op))?;
            // The server before may have answered: what it prolonged is not what counts.
            if done.reached.moves != self.moves() && client.clock.now() < deadline.min(end) {
                continue;
            }
            return match self.settle(grant, lease, &done) {
                true => Ok(()),
                false => Err(self.not_held(op, Some(grant))),
            };
        }
    }

    /// Has a hold last as a re-entry asks that wants `term`; never for less than before.
    pub(crate) async fn extend_for(&self, op: &'static str, grant: &Grant, term: Term) -> Result<()> {
        match term {
            Term::Renewed(lease) if !grant.is_renewed_for(lease) => {
                self.extend(op, grant, lease).await?;
                grant.renew_from_now(lease);
                self.client().keeper.watch(grant);
            }
            Term::Fixed(lease) if lease > grant.remaining() && (!grant.is_renewed() || lease > grant.lease()) => {
                self.extend(op, grant, lease).await?;
            }
            Term::Renewed(_) | Term::Fixed(_) => {}
        }
        Ok(())
    }
}

/// As [`Contended::extend`], of holds of several objects of one client. Says of the first that is gone that it is not held; the
/// others are prolonged all the same.
pub(crate) async fn extend_together<P: Primitive<Renew: Renewal>>(
    op: &'static str,
    holds: &[(Arc<Contended<P>>, Grant)],
    lease: Duration,
) -> Result<()> {
    let Some((first, _)) = holds.first() else { return Ok(()) };
    let client = first.client();
    let end = holds.iter().map(|(_, grant)| grant.valid_until()).min().unwrap_or_default().max(client.clock.now());
    let deadline = client.operation_deadline();
    loop {
        let items = holds.iter().map(|(object, grant)| (object.name().clone(), P::Renew::of(grant, lease))).collect();
        let done = server::send_renewals::<P>(client, items, deadline, end).await;
        let done = done.map_err(|failed| failed.error.renamed(op).on(first.name().as_str()))?;
        if done.reached.moves != first.moves() && client.clock.now() < deadline.min(end) {
            continue;
        }
        let mut gone = None;
        for ((object, grant), reply) in holds.iter().zip(done.reply) {
            let each = Done { reply, sent: done.sent, echo_until: done.echo_until, reached: done.reached };
            if !object.settle(grant, lease, &each) {
                gone.get_or_insert_with(|| object.not_held(op, Some(grant)));
            }
        }
        return gone.map_or(Ok(()), Err);
    }
}
