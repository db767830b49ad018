//! Prolonging a hold because its holder asks for it.

use std::time::Duration;

use super::{Contended, Primitive};
use crate::error::Result;
use crate::lease::{Grant, Renewal};

impl<P: Primitive> Contended<P> {
    /// Prolongs a hold on the server, or learns that it is gone. Any other error leaves what the client believes as it was.
    pub(crate) async fn extend(&self, op: &'static str, grant: &Grant, lease: Duration) -> Result<()> {
        let client = self.client();
        let (deadline, end) = (client.operation_deadline(), grant.valid_until().max(client.clock.now()));
        loop {
            let done = self.send_renewal(&P::Renew::of(grant, lease), deadline, end).await;
            let done = done.map_err(|failed| failed.error.retold(op, failed.error.message()))?;
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
}
