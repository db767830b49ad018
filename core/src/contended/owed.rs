//! The second release that is owed for an acquire without an answer.
//!
//! The bytes of such an attempt may still arrive, until its `not_after`, and take a whole lease for nobody. So when its hold or
//! its caller ends, the owner is released once more as soon as the bytes can no longer take effect.
//!
//! What is granted for good has no lease that would run out in the stead of a release. The server knows the owner for a minute:
//! for so long it is tried to give it back, and if that fails, or is cut off, an event says that something may be missing.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use super::home::Home;
use super::object::Contended;
use super::server::{self, ServerHandle};
use super::{Primitive, Released};
use crate::backend::{Done, Failed};
use crate::context::Context;
use crate::event::{Events, Level};
use crate::lease::{Grant, GrantKind, LossReason};
use crate::name::ObjectName;
use crate::objects::Object;
use crate::task::{Life, Tasks};
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
    let (client, name, owner) = (shared.client(), shared.name().clone(), owner.to_owned());
    let now = client.clock.now();
    let mut again = echo_until.map(|until| until.plus(server::attempt_budget(client)));
    if !P::Renew::LEASED {
        // The bytes are void by then, and what they have done meanwhile is still known.
        again = again.map(|again| again.min(now.plus(lease)));
    }
    let (done, undone) = oneshot::channel();
    let undo = Undo { name, owner, lease, until: now.plus(lease), over_from: Tick(0), known: false, held_as: None };
    undo.start(shared.home(), Some(done), again);
    undone
}

/// As [`undo`], for what was granted for good to a caller that has gone.
pub(super) fn undo_granted<P: Primitive>(shared: &Arc<Contended<P>>, grant: &Grant) {
    let client = shared.client();
    let now = client.clock.now();
    let harmless = harmless_at(client, grant).filter(|at| *at > now);
    let again = harmless.map(|at| at.min(now.plus(grant.lease())));
    let until = grant.lease_end().max(now).plus(grant.lease());
    let undo = Undo { until, known: true, ..Undo::of(shared.name(), grant, Tick(0)) };
    undo.start(shared.home(), Some(oneshot::channel().0), again);
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
    /// For how long the first release is tried.
    until: Tick,
    /// From when on nobody relies on a hold of this owner.
    over_from: Tick,
    /// The owner was granted something, which is there to be released.
    known: bool,
    /// The token under which a holder had it.
    held_as: Option<u64>,
}

impl Undo {
    fn of(name: &ObjectName, grant: &Grant, over_from: Tick) -> Undo {
        let (name, owner, lease) = (name.clone(), grant.owner().to_owned(), grant.lease());
        let held_as = Some(grant.token());
        Undo { name, owner, lease, until: grant.lease_end(), over_from, known: false, held_as }
    }

    /// Releases now if `now` is given, and once more at `again`. Gives up when the lease would have run out anyway, or the
    /// server no longer knows the owner. Does not keep the client alive. Closing with a release waits for this; closing without
    /// one releases at once what has arrived so far.
    fn start<P: Primitive>(self, home: &Arc<Home<P>>, now: Option<oneshot::Sender<()>>, again: Option<Tick>) {
        let client = home.context();
        let (server, clock, tasks) = (ServerHandle::of(client), client.clock.clone(), client.tasks.clone());
        let home = Arc::downgrade(home);
        let mut under_way = Some(tasks.under_way());
        let mut missing = Missing::new::<P>(client, &self.name);
        tasks.clone().spawn(async move {
            let Undo { name, owner, lease, until, over_from, known, held_as } = self;
            let step = match held_as {
                Some(token) => P::release_late(&owner, token),
                None => P::release(&owner, false),
            };
            let at_once = now.is_some();
            if let Some(done) = now {
                let freed = server.send_release::<P>(&name, &step, until).await;
                missing.heard(freed, known, again.is_some());
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
                // Of a client that closes, the bytes may yet arrive.
                let early = clock.now() < again;
                let freed = server.send_release::<P>(&name, &step, again.plus(lease)).await;
                missing.heard(freed, false, early);
            }
            drop(missing);
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

/// Says, when it is dropped, that what was granted for good may be missing, unless it was given back. A release with a lease that
/// fails leaves the key to that.
struct Missing {
    name: ObjectName,
    tasks: Tasks,
    events: Events,
    /// Nothing is missing, or the lease runs out.
    why: Option<Cow<'static, str>>,
    /// No release can bring it back any more.
    is_lost: bool,
}

impl Missing {
    fn new<P: Primitive>(client: &Context, name: &ObjectName) -> Missing {
        let cut_off = "the client ended before it was tried for the last time".into();
        let why = (!P::Renew::LEASED).then_some(cut_off);
        Missing { name: name.clone(), tasks: client.tasks.clone(), events: client.events.clone(), why, is_lost: false }
    }

    /// What came of a release. `known`: the owner was there to be released. `again`: another one has to follow.
    fn heard(&mut self, freed: Result<Done<Released>, Failed>, known: bool, again: bool) {
        if self.why.is_none() || self.is_lost {
            return;
        }
        self.why = match freed {
            Err(Failed { error, .. }) => Some(error.message().to_owned().into()),
            // Unless an attempt without an answer has freed it.
            Ok(Done { reply: Released::NotHeld, echo_until: None, .. }) if known => {
                self.is_lost = true;
                Some("the server no longer knows of it".into())
            }
            Ok(_) if again => return,
            Ok(_) => None,
        };
    }
}

impl Drop for Missing {
    fn drop(&mut self) {
        if let Some(why) = self.why.take().filter(|_| !self.tasks.is_forked()) {
            let message = format!("what nobody holds may not have been given back, and may be missing: {why}");
            self.events.emit(Level::Warn, Some(self.name.as_str()), message);
        }
    }
}
