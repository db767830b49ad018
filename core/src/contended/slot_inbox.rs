//! The inbox of a client in the slot of an object that it waits for, in a cluster whose messages have slots: what is said there
//! costs the nodes of that slot, and not all nodes.
//!
//! Until the node has confirmed it, and when it breaks, messages come to the inbox that the client has at every node. So nothing
//! depends on it.

use std::sync::{Arc, MutexGuard, PoisonError};
use std::time::Duration;

use super::Primitive;
use super::object::Contended;
use crate::backend::Subscription;
use crate::objects::Object;

/// How long it stays at least after it was needed.
const KEPT: Duration = Duration::from_secs(30);

pub(super) struct SlotInbox {
    _subscription: Subscription,
    /// Whether a waiter needed it since it was last looked at.
    is_used: bool,
}

impl<P: Primitive> Contended<P> {
    fn slot_inbox(&self) -> MutexGuard<'_, Option<Box<SlotInbox>>> {
        self.slot_inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the inbox for callers that wait, where messages have slots, unless it is open. No I/O here.
    pub(super) fn open_slot_inbox(self: &Arc<Self>) {
        if !self.client().has_slot_inboxes() {
            return;
        }
        let mut inbox = self.slot_inbox();
        if let Some(inbox) = inbox.as_mut() {
            inbox.is_used = true;
            return;
        }
        let object = Arc::downgrade(self);
        let interrupted = move || object.upgrade().into_iter().for_each(|object: Arc<Self>| object.look_again());
        let subscription = self.home().context().open_slot_inbox(self.name(), interrupted);
        *inbox = Some(Box::new(SlotInbox { _subscription: subscription, is_used: true }));
        drop(inbox);
        self.close_slot_inbox_when_unused();
    }

    fn close_slot_inbox_when_unused(self: &Arc<Self>) {
        let (object, clock, tasks) = (Arc::downgrade(self), self.client().clock.clone(), self.client().tasks.clone());
        self.client().tasks.spawn(async move {
            loop {
                tokio::select! {
                    () = tasks.closed() => return,
                    () = clock.sleep_until(clock.now().plus(KEPT)) => {}
                }
                let Some(object) = object.upgrade() else { return };
                let is_waited_for = object.line().len() > 0;
                let mut inbox = object.slot_inbox();
                let was_used = inbox.as_mut().is_some_and(|inbox| std::mem::take(&mut inbox.is_used));
                if !is_waited_for && !was_used {
                    // Not dropped under the lock.
                    let unused = inbox.take();
                    drop((inbox, unused));
                    return;
                }
            }
        });
    }
}
