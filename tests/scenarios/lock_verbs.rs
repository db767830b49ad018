//! The verbs of locks and their holds.

use std::collections::HashMap;

use libdlock::lease::{HolderId, Lease, LossReason};
use libdlock::lock::{AcquireOptions, LockOptions};
use libdlock::{Held, Result, Wait};

use crate::step::{Clients, Step, Values};

/// The holds of a scenario.
#[derive(Default)]
pub(crate) struct Locks(HashMap<String, Held>);

impl Locks {
    /// What the step answers; none if its verb is another's.
    pub(crate) async fn run(&mut self, clients: &Clients, step: &Step<'_>) -> Result<Option<Values>> {
        let nothing = Values::default;
        Ok(Some(match step.verb {
            "take" => {
                let mut options = LockOptions::default();
                if let Some(lease) = step.millis("lease_ms") {
                    options.lease = Lease::Fixed(lease);
                }
                options.watchdog_lease = step.millis("watchdog_lease_ms");
                let lock = step.client(clients).lock_with(step.objects[1], options)?;
                let how = AcquireOptions::default().wait(step.millis("wait_ms").map_or(Wait::Forever, Wait::For));
                let held = lock.acquire_as(HolderId::fresh(), how).await?;
                self.keep(step.objects[2], held)
            }
            "attach" => {
                let lock = step.client(clients).lock(step.objects[1])?;
                let held = lock.attach_as(HolderId::fresh(), step.options["text"]).await?;
                self.keep(step.objects[2], held)
            }
            "release" => {
                self.take_out(step).release().await?;
                nothing()
            }
            "extend" => {
                self.held(step).extend(step.millis("lease_ms").expect("a lease")).await?;
                nothing()
            }
            "detach" => nothing().add("text", self.take_out(step).detach().await?),
            "see" => {
                let held = self.held(step);
                nothing()
                    .add("valid", held.is_valid())
                    .add("remaining_ms", held.remaining().as_millis())
                    .maybe("lost", held.loss().map(LossReason::as_str))
            }
            "wait_lost" => {
                let wait = step.millis("wait_ms").expect("a wait");
                let lost = tokio::time::timeout(wait, self.held(step).lost()).await.ok().flatten();
                nothing().maybe("lost", lost.map(LossReason::as_str))
            }
            "inspect" => {
                let seen = step.client(clients).lock(step.objects[1])?.inspect().await?;
                nothing()
                    .add("held", seen.holder.is_some())
                    .maybe("holder", seen.holder.as_ref())
                    .add("ours", seen.ours)
                    .maybe("ttl_ms", seen.ttl.map(|ttl| ttl.as_millis()))
                    .maybe("token", seen.token)
                    .add("queued", seen.queued)
            }
            "counted" => {
                let lock = step.client(clients).stats().lock;
                nothing()
                    .add("acquired", lock.acquired)
                    .add("contended", lock.contended)
                    .add("handed_over", lock.handed_over_local + lock.handed_over_remote)
                    .add("wait_timeouts", lock.wait_timeouts)
                    .add("lost", lock.lost)
                    .add("released", lock.released)
                    .add("waiting", lock.waiting)
                    .add("held", lock.held)
                    .add("waits", lock.wait_time.count())
                    .add("holds", lock.hold_time.count())
            }
            "force" => nothing().add("was_held", step.client(clients).lock(step.objects[1])?.force_release().await?),
            _ => return Ok(None),
        }))
    }

    fn held(&self, step: &Step<'_>) -> &Held {
        &self.0[step.objects[0]]
    }

    /// A release or detach consumes the hold in Rust.
    fn take_out(&mut self, step: &Step<'_>) -> Held {
        self.0.remove(step.objects[0]).expect("a hold")
    }

    fn keep(&mut self, name: &str, held: Held) -> Values {
        let values = Values::default().add("token", held.token()).add("owner", held.owner());
        self.0.insert(name.to_owned(), held);
        values
    }
}
