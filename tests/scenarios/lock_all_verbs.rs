//! The verbs of several locks as one.

use std::collections::HashMap;

use libdlock::lease::{HolderId, Lease};
use libdlock::lock::{AcquireOptions, LockOptions};
use libdlock::{HeldAll, LockAll, Result, Wait};

use crate::hold_verbs::{Hold, Holds};
use crate::step::{Clients, Step, Values};

/// The sets of a scenario, and what the one holder of this process has of them.
pub(crate) struct Sets {
    sets: HashMap<String, LockAll>,
    holder: HolderId,
    entered: Vec<(String, HeldAll)>,
}

impl Default for Sets {
    fn default() -> Sets {
        Sets { sets: HashMap::new(), holder: HolderId::fresh(), entered: Vec::new() }
    }
}

impl Sets {
    /// What the step answers; none if its verb is another's.
    pub(crate) async fn run(
        &mut self,
        holds: &mut Holds,
        clients: &Clients,
        step: &Step<'_>,
    ) -> Result<Option<Values>> {
        Ok(Some(match step.verb {
            "lock_all" => {
                let mut options = LockOptions::default();
                if let Some(lease) = step.millis("lease_ms") {
                    options.lease = Lease::Fixed(lease);
                }
                options.watchdog_lease = step.millis("watchdog_lease_ms");
                options.reentrant = step.options.get("reentrant").map(|given| *given == "true");
                let names = step.options["names"].split(',').filter(|name| !name.is_empty());
                let set = step.client(clients).lock_all_with(names, options)?;
                let values = Values::default().add("count", set.names().len());
                self.sets.insert(step.objects[1].to_owned(), set);
                values
            }
            "take_all" => {
                let held = self.named(step).acquire_as(HolderId::fresh(), how(step)).await?;
                let values = Values::default().add("count", held.tokens().len());
                holds.keep(step.objects[1], Hold::All(held));
                values
            }
            "token_of" => Values::default().maybe("token", holds.set(step).token(step.objects[1])),
            "lost_of" => {
                let lost = holds.set(step).loss();
                Values::default()
                    .maybe("name", lost.as_ref().map(|lost| lost.name.as_str()))
                    .maybe("lost", lost.as_ref().map(|lost| lost.reason.as_str()))
            }
            "enter_all" => {
                let held = self.named(step).acquire_as(self.holder, how(step)).await?;
                self.entered.push((step.objects[0].to_owned(), held));
                Values::default()
            }
            "leave_all" => {
                let latest = self.entered.iter().rposition(|(name, _)| name == step.objects[0]);
                match latest {
                    Some(at) => self.entered.remove(at).1.release().await?,
                    None => self.named(step).release_as(self.holder).await?,
                }
                Values::default()
            }
            "entered_all" => Values::default().add("count", self.named(step).hold_count(self.holder)),
            _ => return Ok(None),
        }))
    }

    fn named(&self, step: &Step<'_>) -> &LockAll {
        &self.sets[step.objects[0]]
    }
}

fn how(step: &Step<'_>) -> AcquireOptions {
    let mut how = AcquireOptions::default().wait(step.millis("wait_ms").map_or(Wait::Forever, Wait::For));
    how.lease = step.millis("lease_ms").map(Lease::Fixed);
    how
}
