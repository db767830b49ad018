//! The verbs of semaphores.

use std::collections::HashMap;

use libdlock::lease::{HolderId, Lease};
use libdlock::semaphore::{AcquireOptions, SemaphoreOptions};
use libdlock::{Result, Semaphore, Wait};

use crate::hold_verbs::{Hold, Holds};
use crate::step::{Clients, Step, Values};

/// The semaphores of a scenario.
#[derive(Default)]
pub(crate) struct Semaphores(HashMap<String, Semaphore>);

impl Semaphores {
    /// What the step answers; none if its verb is another's.
    pub(crate) async fn run(
        &mut self,
        holds: &mut Holds,
        clients: &Clients,
        step: &Step<'_>,
    ) -> Result<Option<Values>> {
        Ok(Some(match step.verb {
            "semaphore" => {
                let mut options = SemaphoreOptions::new(permits(step));
                if let Some(lease) = step.millis("lease_ms") {
                    options.lease = Lease::Fixed(lease);
                }
                options.watchdog_lease = step.millis("watchdog_lease_ms");
                let semaphore = step.client(clients).semaphore_with(step.objects[1], options)?;
                self.0.insert(step.objects[2].to_owned(), semaphore);
                Values::default()
            }
            "acquire" => {
                let mut how = AcquireOptions::default().wait(step.millis("wait_ms").map_or(Wait::Forever, Wait::For));
                how.lease = step.millis("lease_ms").map(Lease::Fixed);
                let held = self.named(step).acquire_as(HolderId::fresh(), permits(step), how).await?;
                let ids = held.ids();
                holds.keep(step.objects[1], Hold::Permits(held));
                Values::default().add("permits", ids.len()).add("ids", ids.join(","))
            }
            "set_permits" => {
                self.named(step).set_permits(permits(step)).await?;
                Values::default()
            }
            "inspect_permits" => {
                let seen = self.named(step).inspect().await?;
                Values::default()
                    .maybe("permits", seen.permits)
                    .add("available", seen.available)
                    .add("queued", seen.queued)
            }
            _ => return Ok(None),
        }))
    }

    fn named(&self, step: &Step<'_>) -> &Semaphore {
        &self.0[step.objects[0]]
    }
}

/// One, if the step names no number.
fn permits(step: &Step<'_>) -> u32 {
    step.given("permits").map_or(1, |permits| permits.try_into().expect("a number of 32 bits"))
}
