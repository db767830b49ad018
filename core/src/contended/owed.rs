//! The second release that is owed for an acquire without an answer.
//!
//! The bytes of such an attempt may still arrive, until its `not_after`, and take a whole lease for nobody. So when its hold or
//! its caller ends, the owner is released once more as soon as the bytes can no longer take effect.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Primitive;
use super::home::Home;
use super::object::Contended;
use super::server::{self, ServerHandle};
use crate::context::Context;
use crate::lease::{Grant, LossReason};
use crate::name::ObjectName;
use crate::objects::Object;
use crate::task::Life;
use crate::time::Tick;

/// Completes when the first release of [`undo`] was answered, or has failed.
pub(crate) type Undone = oneshot::Receiver<()>;

/// Releases `owner` in the background: now, and once more when bytes of an attempt without an answer can no longer take effect.
pub(crate) fn undo<P: Primitive>(
    shared: &Arc<Contended<P>>,
    owner: &str,
    lease: Duration,
    echo_until: Option<Tick>,
) -> Undone {
    let again = echo_until.map(|until| until.plus(server::attempt_budget(shared.client())));
    let (done, undone) = oneshot::channel();
    Undo { name: shared.name().clone(), owner: owner.to_owned(), lease, over_from: Tick(0) }.start(
        shared.home(),
        Some(done),
        again,
    );
    undone
}

/// As [`undo`], for a hold whose release was sent.
pub(super) fn after_release<P: Primitive>(home: &Arc<Home<P>>, name: &ObjectName, grant: &Grant) {
    let client = home.context();
    let Some(at) = harmless_at(client, grant) else { return };
    if at > client.clock.now() {
        Undo::of(name, grant, Tick(0)).start(home, None, Some(at));
    }
}

/// As [`undo`], for a hold that was lost.
pub(super) fn after_loss<P: Primitive>(home: &Arc<Home<P>>, name: &ObjectName, grant: &Grant, reason: LossReason) {
    let client = home.context();
    let Some(at) = harmless_at(client, grant) else { return };
    let (at, over_from) = match reason {
        // The server showed that the owner no longer holds it.
        LossReason::Taken | LossReason::Deleted | LossReason::ServerChanged if at <= client.clock.now() => return,
        LossReason::Taken | LossReason::Deleted | LossReason::ServerChanged => (at, Tick(0)),
        // The holder may not know yet, and may still work: the lease runs out first.
        _ => (at.max(grant.lease_end()), grant.valid_until()),
    };
    Undo::of(name, grant, over_from).start(home, None, Some(at));
}

/// Whether bytes of a hold's acquire may still take effect.
pub(crate) fn is_owed(client: &Context, grant: &Grant) -> bool {
    harmless_at(client, grant).is_some_and(|at| at > client.clock.now())
}

/// When the bytes of a hold's unanswered attempt can no longer take effect, if there was such an attempt.
fn harmless_at(client: &Context, grant: &Grant) -> Option<Tick> {
    grant.echo_until().map(|until| until.plus(server::attempt_budget(client)))
}

struct Undo {
    name: ObjectName,
    owner: String,
    lease: Duration,
    /// From when on nobody relies on a hold of this owner.
    over_from: Tick,
}

impl Undo {
    fn of(name: &ObjectName, grant: &Grant, over_from: Tick) -> Undo {
        Undo { name: name.clone(), owner: grant.owner().to_owned(), lease: grant.lease(), over_from }
    }

    /// Releases now if `now` is given, and once more at `again`. Gives up when the lease would have run out anyway. Does not
    /// keep the client alive. Closing with a release waits for this; closing without one releases at once what has arrived so
    /// far.
    fn start<P: Primitive>(self, home: &Arc<Home<P>>, now: Option<oneshot::Sender<()>>, again: Option<Tick>) {
        let client = home.context();
        let (server, clock, tasks) = (ServerHandle::of(client), client.clock.clone(), client.tasks.clone());
        let home = Arc::downgrade(home);
        let mut under_way = Some(tasks.under_way());
        tasks.clone().spawn(async move {
            let Undo { name, owner, lease, over_from } = self;
            let step = P::release(&owner, false);
            let at_once = now.is_some();
            if let Some(done) = now {
                server.send_release::<P>(&name, &step, clock.now().plus(lease)).await;
                // The receiver may be gone.
                let _ = done.send(());
            }
            let Some(again) = again else { return };
            if again > clock.now() || !at_once {
                let held_up = async {
                    tasks.ended().await;
                    // A hold that may still be in use runs out by itself.
                    if clock.now() < over_from {
                        under_way = None;
                    }
                    std::future::pending::<()>().await;
                };
                tokio::select! {
                    life = tasks.closing_at_once() => if life == Life::Closed || clock.now() < over_from { return },
                    () = clock.sleep_until(again) => {}
                    () = held_up => {}
                }
                server.send_release::<P>(&name, &step, again.plus(lease)).await;
            }
            // The bytes may have joined the queue too. The object may have been forgotten here, and made anew.
            home.upgrade().into_iter().for_each(|home| {
                let object = home.object(&name);
                object.leave_queue();
                // They may have been granted for another number than the process wants now, and have taken its place.
                if P::QUEUE.wants {
                    object.look_again();
                }
            });
            drop(under_way);
        });
    }
}
