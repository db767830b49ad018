//! The verbs of locks.

use libdlock::lease::{HolderId, Lease};
use libdlock::lock::{AcquireOptions, LockOptions};
use libdlock::{Held, Result, Wait};

use crate::hold_verbs::{Hold, Holds};
use crate::step::{Clients, Step, Values};

/// What the step answers; none if its verb is another's.
pub(crate) async fn run(holds: &mut Holds, clients: &Clients, step: &Step<'_>) -> Result<Option<Values>> {
    let mut kept = |held: Held| {
        let values = Values::default().add("token", held.token()).add("owner", held.owner());
        holds.keep(step.objects[2], Hold::Lock(held));
        values
    };
    Ok(Some(match step.verb {
        "take" => {
            let mut options = LockOptions::default();
            if let Some(lease) = step.millis("lease_ms") {
                options.lease = Lease::Fixed(lease);
            }
            options.watchdog_lease = step.millis("watchdog_lease_ms");
            let lock = step.client(clients).lock_with(step.objects[1], options)?;
            let how = AcquireOptions::default().wait(step.millis("wait_ms").map_or(Wait::Forever, Wait::For));
            kept(lock.acquire_as(HolderId::fresh(), how).await?)
        }
        "attach" => {
            let lock = step.client(clients).lock(step.objects[1])?;
            kept(lock.attach_as(HolderId::fresh(), step.options["text"]).await?)
        }
        "inspect" => {
            let seen = step.client(clients).lock(step.objects[1])?.inspect().await?;
            Values::default()
                .add("held", seen.holder.is_some())
                .maybe("holder", seen.holder.as_ref())
                .add("ours", seen.ours)
                .maybe("ttl_ms", seen.ttl.map(|ttl| ttl.as_millis()))
                .maybe("token", seen.token)
                .add("queued", seen.queued)
        }
        "force" => {
            Values::default().add("was_held", step.client(clients).lock(step.objects[1])?.force_release().await?)
        }
        _ => return Ok(None),
    }))
}
