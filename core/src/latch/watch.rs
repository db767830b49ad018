//! The task that watches a name while somebody waits for it: it listens, looks when it is told to and every poll interval, and
//! shows all that wait what it has seen.

use std::sync::Arc;
use std::thread;

use super::object::{LatchObject, LookFailed};
use super::step::{Look, OPEN, channel};
use super::waiter::OP;
use crate::backend::{Failed, Heard, Listen, Subscription};
use crate::ended::{cut_off, ended};
use crate::task::{Life, fault_point};

/// The task's name in tests of panics.
const TASK: &str = "latch";

/// Watches the name, unless somebody does.
pub(super) fn start(object: &Arc<LatchObject>) {
    if object.begin_to_watch() {
        let watch = Watch { object: object.clone(), stopped: false };
        object.client().tasks.spawn(watch.run());
    }
}

/// Tells all that wait when it is dropped before nobody waits: it panics, or its runtime is shut down.
struct Watch {
    object: Arc<LatchObject>,
    /// Nobody waited: who has come since then starts a watch of its own.
    stopped: bool,
}

impl Watch {
    async fn run(mut self) {
        let Watch { object, stopped } = &mut self;
        let (client, tasks) = (object.client(), &object.client().tasks);
        // Before the first look that it has begun for those that wait: what is said after that look is heard.
        let _subscription = listen(object);
        let mut next = client.clock.now().plus(object.latches().pause());
        loop {
            tokio::select! {
                biased;
                () = tasks.closed() => return,
                () = object.noted() => {}
                () = client.clock.sleep_until(next) => {}
            }
            fault_point(TASK);
            if object.stop_if_alone() {
                *stopped = true;
                return;
            }
            let look = object.begin_look();
            let sent = client.clock.now();
            let outcome = tokio::select! {
                biased;
                () = tasks.closed() => return,
                outcome = client.operate(object.name(), &Look) => outcome,
            };
            let failed = |failed: Failed| {
                let away = failed.away;
                LookFailed { error: failed.error.renamed(OP), away }
            };
            object.show(look, outcome.map(|done| done.reply.count == 0).map_err(failed));
            // Counted from the sending: a process that was stopped must not sleep on an old answer.
            next = sent.plus(object.latches().pause());
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let object = &self.object;
        let tasks = &object.client().tasks;
        if tasks.leak_if_forked(object) || self.stopped || object.stop_if_alone() {
            return;
        }
        // What does not panic is dropped by a runtime that is shut down. The client may learn that a moment later.
        let why = if thread::panicking() { cut_off(OP, tasks, "the wait") } else { ended(OP, Life::Closed) };
        object.cut_off(why);
    }
}

/// Listens where it is said that the latch opens. That it is closed, because it was set or removed, is nothing to those that
/// wait.
fn listen(object: &Arc<LatchObject>) -> Subscription {
    let weak = Arc::downgrade(object);
    let listen: Listen = Arc::new(move |heard: Heard<'_>| {
        let looks = match heard {
            Heard::Message(message) => message == OPEN,
            // Earlier messages did not come.
            Heard::Subscribed | Heard::Refused => true,
            // It looks every poll interval anyway.
            Heard::Interrupted => false,
        };
        if looks {
            weak.upgrade().into_iter().for_each(|object: Arc<LatchObject>| object.note());
        }
    });
    object.client().backend.subscribe(object.name(), &channel(object.name()), listen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;

    /// Between the end of the task and that of its future somebody comes, and starts a watch of its own.
    #[tokio::test]
    async fn a_watch_that_has_stopped_cuts_off_nobody() {
        let client = Client::connect("memory://").await.unwrap();
        let latch = client.latch("ready").unwrap();
        let object = &latch.shared;
        let watch = |stopped| Watch { object: object.clone(), stopped };
        let (shown, first, _) = object.enter();
        assert!(object.begin_to_watch());
        drop(watch(true));
        assert!(shown.borrow().failed.is_none() && !object.begin_to_watch(), "the other one watches");
        drop(watch(false));
        assert!(shown.borrow().failed.is_some() && shown.borrow().last >= first, "a panic is told");
        object.leave(shown);
    }
}
