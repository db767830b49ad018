//! The verbs of read-write locks.

use std::collections::HashMap;

use libdlock::lease::{HolderId, Lease};
use libdlock::rw_lock::{AcquireOptions, RwLockOptions, RwLockSide};
use libdlock::{Result, RwHeld, RwLock, Wait};

use crate::hold_verbs::{Hold, Holds};
use crate::step::{Clients, Step, Values};

/// The read-write locks of a scenario, and what the one holder of this process has of them.
pub(crate) struct RwLocks {
    locks: HashMap<String, RwLock>,
    holder: HolderId,
    entered: Vec<(String, RwHeld)>,
}

impl Default for RwLocks {
    fn default() -> RwLocks {
        RwLocks { locks: HashMap::new(), holder: HolderId::fresh(), entered: Vec::new() }
    }
}

impl RwLocks {
    /// What the step answers; none if its verb is another's.
    pub(crate) async fn run(
        &mut self,
        holds: &mut Holds,
        clients: &Clients,
        step: &Step<'_>,
    ) -> Result<Option<Values>> {
        Ok(Some(match step.verb {
            "rw_lock" => {
                let mut options = RwLockOptions::default();
                if let Some(lease) = step.millis("lease_ms") {
                    options.lease = Lease::Fixed(lease);
                }
                options.watchdog_lease = step.millis("watchdog_lease_ms");
                options.reentrant = step.options.get("reentrant").map(|given| *given == "true");
                if let Some(age) = step.millis("shared_age_ms") {
                    options.shared_age = age;
                }
                let lock = step.client(clients).rw_lock_with(step.objects[1], options)?;
                self.locks.insert(step.objects[2].to_owned(), lock);
                Values::default()
            }
            "read" => kept(holds, step, self.named(step).read().acquire_as(HolderId::fresh(), how(step)).await?),
            "write" => kept(holds, step, self.named(step).write().acquire_as(HolderId::fresh(), how(step)).await?),
            "downgrade" => {
                let writes = holds.take_side(step);
                kept(holds, step, writes.downgrade().await?)
            }
            "enter" => {
                let held = self.side(step).acquire_as(self.holder, how(step)).await?;
                let values = Values::default().add("token", held.token());
                self.entered.push((entry(step), held));
                values
            }
            "leave" => {
                let latest = self.entered.iter().rposition(|(name, _)| *name == entry(step));
                match latest {
                    Some(at) => self.entered.remove(at).1.release().await?,
                    None => self.side(step).release_as(self.holder).await?,
                }
                Values::default()
            }
            "entered" => Values::default().add("count", self.side(step).hold_count(self.holder)),
            "force_rw" => Values::default().add("was_held", self.named(step).force_release().await?),
            "inspect_rw" => {
                let seen = self.named(step).inspect().await?;
                Values::default()
                    .maybe("writer", seen.writer)
                    .add("ours", seen.ours)
                    .add("readers", seen.readers)
                    .maybe("ttl_ms", seen.ttl.map(|ttl| ttl.as_millis()))
                    .maybe("token", seen.token)
                    .add("queued", seen.queued)
            }
            _ => return Ok(None),
        }))
    }

    fn named(&self, step: &Step<'_>) -> &RwLock {
        &self.locks[step.objects[0]]
    }

    fn side(&self, step: &Step<'_>) -> RwLockSide {
        match step.options["side"] {
            "write" => self.named(step).write(),
            _ => self.named(step).read(),
        }
    }
}

fn how(step: &Step<'_>) -> AcquireOptions {
    AcquireOptions::default().wait(step.millis("wait_ms").map_or(Wait::Forever, Wait::For))
}

fn kept(holds: &mut Holds, step: &Step<'_>, held: RwHeld) -> Values {
    let values = Values::default().add("token", held.token()).add("owner", held.owner());
    holds.keep(step.objects[1], Hold::Side(held));
    values
}

/// The lock and the side that the holder enters.
fn entry(step: &Step<'_>) -> String {
    format!("{} {}", step.objects[0], step.options["side"])
}
