//! What the latches of one name share in one client: what looks have shown, and whether somebody watches the name.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

use super::latches::Latches;
use crate::context::Context;
use crate::error::{Error, ErrorKind};
use crate::lease::HolderId;
use crate::name::ObjectName;
use crate::objects::{Object, ObjectKind, Releasing};

pub(crate) struct LatchObject {
    name: ObjectName,
    latches: Arc<Latches>,
    looks: Mutex<Looks>,
    /// To those that wait, each with a receiver of its own.
    shown: watch::Sender<Shown>,
    /// Wakes who watches: it has to look, or nobody waits any more.
    noted: Notify,
}

/// How the looks of those that wait stand.
#[derive(Default)]
struct Looks {
    /// How many have begun. A look counts for those that waited before it began.
    begun: u64,
    watched: bool,
}

/// What the looks have shown so far.
#[derive(Clone, Default)]
pub(super) struct Shown {
    /// The last one that was answered, or failed.
    pub(super) last: u64,
    /// The last one that showed the latch open.
    pub(super) open: u64,
    /// Why the last one failed, if it did.
    pub(super) failed: Option<LookFailed>,
}

/// A look that brought no answer.
#[derive(Clone)]
pub(super) struct LookFailed {
    pub(super) error: Error,
    /// The server cannot be reached, or refuses for a reason that passes.
    pub(super) away: bool,
}

impl LatchObject {
    pub(super) fn new(name: ObjectName, latches: Arc<Latches>) -> LatchObject {
        let (shown, noted) = (watch::Sender::new(Shown::default()), Notify::new());
        LatchObject { name, latches, looks: Mutex::default(), shown, noted }
    }

    pub(super) fn name(&self) -> &ObjectName {
        &self.name
    }

    pub(super) fn client(&self) -> &Context {
        self.latches.context()
    }

    pub(super) fn latches(&self) -> &Latches {
        &self.latches
    }

    /// The error of a call that the server did not answer.
    pub(super) fn away(&self, op: &'static str) -> Error {
        let client = self.client();
        let why = client.backend.why_away(&self.name).map(|error| error.renamed(op));
        let silence = || Error::new(ErrorKind::Connection, op, format!("{} did not answer in time", client.target));
        why.unwrap_or_else(silence).on(self.name.as_str())
    }

    fn looks(&self) -> MutexGuard<'_, Looks> {
        self.looks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody waits from now on: what looks show, the first of them that counts, and whether others wait, too.
    pub(super) fn enter(&self) -> (watch::Receiver<Shown>, u64, bool) {
        let looks = self.looks();
        let others = self.shown.receiver_count() > 0;
        (self.shown.subscribe(), looks.begun + 1, others)
    }

    /// Somebody no longer waits.
    pub(super) fn leave(&self, shown: watch::Receiver<Shown>) {
        drop(shown);
        if self.shown.receiver_count() == 0 {
            self.noted.notify_one();
        }
    }

    /// True for whoever has to watch the name from now on: somebody waits, and nobody watches.
    pub(super) fn begin_to_watch(&self) -> bool {
        let fresh = !std::mem::replace(&mut self.looks().watched, true);
        if fresh {
            self.latches.add_watched();
        }
        fresh
    }

    /// True when nobody waits: then nobody watches from now on.
    pub(super) fn stop_if_alone(&self) -> bool {
        let mut looks = self.looks();
        let alone = self.shown.receiver_count() == 0;
        if alone {
            self.stop(&mut looks);
        }
        alone
    }

    fn stop(&self, looks: &mut Looks) {
        if std::mem::replace(&mut looks.watched, false) {
            self.latches.remove_watched();
        }
    }

    /// The number of a look that begins.
    pub(super) fn begin_look(&self) -> u64 {
        let mut looks = self.looks();
        looks.begun += 1;
        looks.begun
    }

    /// What a look has shown.
    pub(super) fn show(&self, look: u64, outcome: Result<bool, LookFailed>) {
        self.shown.send_modify(|shown| {
            shown.last = look;
            shown.failed = None;
            match outcome {
                Ok(true) => shown.open = look,
                Ok(false) => {}
                Err(failed) => shown.failed = Some(failed),
            }
        });
    }

    /// Whoever watched is gone: all that wait are told why.
    pub(super) fn cut_off(&self, error: Error) {
        self.stop(&mut self.looks());
        let failed = LookFailed { error: error.on(self.name.as_str()), away: false };
        self.show(self.begin_look(), Err(failed));
    }

    /// Whether whoever watches has looked, and listens since before that.
    #[cfg(test)]
    pub(super) fn has_looked(&self) -> bool {
        self.shown.borrow().last > 0
    }

    /// Has whoever watches look.
    pub(super) fn note(&self) {
        self.noted.notify_one();
    }

    /// Completes when something was noted since the last call. Cancel safe.
    pub(super) async fn noted(&self) {
        self.noted.notified().await;
    }
}

impl ObjectKind for LatchObject {
    const KIND: &'static str = "latch";
}

/// The client has little to do, since nothing is held.
impl Object for LatchObject {
    fn name(&self) -> &ObjectName {
        &self.name
    }

    /// Each caller waits for the end of the client itself.
    fn refuse_waiters(&self, _error: &Error) {}

    fn look_again(&self) {
        self.note();
    }

    fn abandon(&self, _holder: HolderId) {}

    fn let_go(&self) {}

    fn release_all(self: Arc<Self>) -> Vec<Releasing> {
        Vec::new()
    }
}

impl Drop for LatchObject {
    fn drop(&mut self) {
        self.client().objects.forget::<LatchObject>(&self.name);
    }
}
