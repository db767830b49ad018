//! What one client knows of one lock: its line of waiters, and who in this process holds it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use super::contend::{self, First};
use super::holds::Holds;
use super::line::{Line, Mail};
use super::step::{self, Renew};
use super::{HolderId, Lease};
use crate::backend::{Heard, Listen, Subscription};
use crate::client::Inner;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, GrantSpec, Renewal};
use crate::name::ObjectName;
use crate::stats::Way;
use crate::step::Step;
use crate::task::UnderWay;
use crate::time::Tick;

pub(crate) struct LockShared {
    name: ObjectName,
    client: Arc<Inner>,
    line: Mutex<Line<Ticket, Lease>>,
    /// Wakes the contender: something in the line has changed that it should know.
    noted: Notify,
    obstacle: Mutex<Option<Obstacle>>,
    holds: Mutex<Holds>,
}

/// What was last seen to stand in the way of the contender.
#[derive(Clone)]
pub(super) enum Obstacle {
    /// Somebody holds it; a ttl of -1 is without end.
    Holder { holder: String, ttl: i64 },
    /// Other callers of this process wait in front.
    Line,
    /// It is free, and other processes come first.
    Queue,
    /// The server could not be asked.
    Outage(Error),
}

/// How a waiter is given what it waits for.
pub(super) struct Ticket {
    reply: oneshot::Sender<Result<Delivery>>,
    endless: bool,
}

/// A grant on its way to the caller: nobody's hold until it is accepted, given back if it never is.
pub(super) struct Delivery {
    shared: Arc<LockShared>,
    grant: Option<Grant>,
    way: Way,
    /// A client that closes waits for it to arrive or to be given back.
    _under_way: UnderWay,
}

impl Ticket {
    pub(super) fn new(endless: bool) -> (Ticket, oneshot::Receiver<Result<Delivery>>) {
        let (reply, replied) = oneshot::channel();
        (Ticket { reply, endless }, replied)
    }

    pub(super) fn is_endless(&self) -> bool {
        self.endless
    }

    /// Who does not listen any more does not want it: dropping it gives it back.
    pub(super) fn deliver(self, delivery: Delivery) {
        drop(self.reply.send(Ok(delivery)));
    }

    fn refuse(self, error: Error) {
        drop(self.reply.send(Err(error)));
    }
}

impl Delivery {
    pub(super) fn new(shared: &Arc<LockShared>, grant: Grant, way: Way) -> Delivery {
        let _under_way = shared.client.tasks.under_way();
        Delivery { shared: shared.clone(), grant: Some(grant), way, _under_way }
    }

    /// Makes it the holder's hold, unless the client has begun to close.
    pub(super) fn accept(mut self, op: &'static str, holder: HolderId, asked_at: Tick) -> Result<Grant> {
        self.shared.check_open(op)?;
        let grant = self.grant.take().expect("a delivery is accepted once");
        self.shared.holds().enter(holder, grant.clone());
        let client = self.shared.client();
        client.counters.acquired(client.clock.now().since(asked_at), self.way);
        Ok(grant)
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Some(grant) = self.grant.take() {
            self.shared.give_back(&grant);
        }
    }
}

impl LockShared {
    pub(crate) fn new(name: ObjectName, client: Arc<Inner>) -> LockShared {
        LockShared {
            name,
            client,
            line: Mutex::default(),
            noted: Notify::new(),
            obstacle: Mutex::default(),
            holds: Mutex::default(),
        }
    }

    pub(crate) fn name(&self) -> &ObjectName {
        &self.name
    }

    pub(crate) fn client(&self) -> &Inner {
        &self.client
    }

    /// Does not keep the client alive.
    pub(super) fn client_weak(&self) -> Weak<Inner> {
        Arc::downgrade(&self.client)
    }

    /// Sees to it that this client's inbox is listened to; true when it was not before.
    pub(super) fn listen(&self) -> bool {
        self.client.inbox.open(&self.client)
    }

    pub(super) fn holds(&self) -> MutexGuard<'_, Holds> {
        self.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn line(&self) -> MutexGuard<'_, Line<Ticket, Lease>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Completes when something was noted since the last call. Cancel safe.
    pub(super) async fn noted(&self) {
        self.noted.notified().await;
    }

    pub(super) fn wake_contender(&self) {
        self.noted.notify_one();
    }

    pub(super) fn set_obstacle(&self, obstacle: Option<Obstacle>) {
        *self.obstacle.lock().unwrap_or_else(PoisonError::into_inner) = obstacle;
    }

    pub(super) fn obstacle(&self) -> Option<Obstacle> {
        self.obstacle.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A message for this lock came.
    pub(crate) fn hear(self: &Arc<Self>, what: &str) {
        match what {
            "free" => self.note(Mail { ask: true, ..Mail::default() }),
            "next" => self.note(Mail { next: true, ..Mail::default() }),
            // A hint only: what the server says to the renewal counts.
            "lost" => {
                let held = self.holds().valid().cloned();
                held.into_iter().for_each(|grant| self.look_at_hold(grant));
            }
            // From a later version.
            _ => {}
        }
    }

    /// Messages may have been lost.
    pub(crate) fn look_again(&self) {
        if self.line().look_again() {
            self.wake_contender();
        }
    }

    /// Renews a hold at once for what is left of it, to learn whether it is one still.
    fn look_at_hold(self: &Arc<Self>, grant: Grant) {
        let shared = self.clone();
        self.client.tasks.spawn_operation(async move {
            let (client, lease) = (shared.client(), grant.remaining());
            let renewed =
                client.backend.run(&shared.name, &Renew::of(&grant, lease), client.operation_deadline()).await;
            // Without an answer the next renewal tells.
            if let Ok(done) = renewed {
                client.keeper.settle(&client.backend, &grant, lease, done.sent, done.reply);
            }
        });
    }

    fn note(self: &Arc<Self>, mail: Mail) {
        let contends = self.line().note(mail);
        if contends {
            self.wake_contender();
        } else {
            // Nobody waits: an old request has joined the queue, or a replica that was promoted remembers it.
            self.leave_queue();
        }
    }

    /// Gives up a place in the queue that this process may have, unless it needs it; in the background, or when what goes on
    /// now is over.
    pub(super) fn leave_queue(self: &Arc<Self>) {
        let mut line = self.line();
        line.owe_leaving();
        if line.begin() {
            drop(line);
            contend::start(self, First::Leave);
        }
    }

    /// Asks once more at `at`, if somebody waits then.
    pub(super) fn look_again_after(self: &Arc<Self>, at: Tick) {
        let (shared, clock, tasks) = (Arc::downgrade(self), self.client.clock.clone(), self.client.tasks.clone());
        let at = at.plus(self.client.backend.attempt_budget());
        tasks.clone().spawn(async move {
            tokio::select! {
                () = tasks.closed() => return,
                () = clock.sleep_until(at) => {}
            }
            shared.upgrade().into_iter().for_each(|shared: Arc<LockShared>| shared.look_again());
        });
    }

    /// Listens on the channel on which Redisson's clients tell of a release.
    pub(super) fn listen_on_channel(self: &Arc<Self>) -> Subscription {
        let shared = Arc::downgrade(self);
        let listen: Listen = Arc::new(move |_: Heard<'_>| {
            shared.upgrade().into_iter().for_each(|shared: Arc<LockShared>| shared.look_again());
        });
        self.client.backend.subscribe(&step::channel(&self.name), listen)
    }

    /// The error of one whose attempts all came too late.
    pub(super) fn stale(&self) -> Error {
        let message = "the server's clock jumps back and forth; check its time synchronisation";
        Error::new(ErrorKind::Clock, "acquire", message).on(self.name().as_str())
    }

    /// Ends the waiting of those of whom `which` says so.
    pub(super) fn refuse(&self, error: &Error, which: impl Fn(&Ticket) -> bool) {
        let refused = self.line().take_all(which);
        for ticket in refused {
            ticket.refuse(error.clone().on(self.name.as_str()));
        }
    }

    /// Ends all waiting.
    pub(crate) fn refuse_all(&self, error: &Error) {
        self.refuse(error, |_| true);
        self.wake_contender();
    }

    /// The contender has died: whoever waits learns it by the loss of its ticket.
    pub(super) fn cut_off(&self) {
        let waiters = self.line().give_up();
        drop(waiters);
    }

    /// Runs a step that does not wait, within `operation_timeout`.
    pub(super) async fn run_now<S: Step>(&self, step: &S) -> Result<S::Reply> {
        self.check_open(S::OP)?;
        let done = self.client.backend.run(&self.name, step, self.client.operation_deadline()).await;
        done.map(|done| done.reply).map_err(|failed| failed.error)
    }

    /// Prolongs a hold on the server; an error leaves what the client believes as it was.
    pub(super) async fn extend(&self, op: &'static str, grant: &Grant, lease: Duration) -> Result<()> {
        let client = &self.client;
        if lease <= grant.remaining() {
            return Ok(());
        }
        let deadline = client.operation_deadline().min(grant.valid_until()).max(client.clock.now());
        let done = client.backend.run(&self.name, &Renew::of(grant, lease), deadline).await;
        let done = done.map_err(|failed| failed.error)?;
        match client.keeper.settle(&client.backend, grant, lease, done.sent, done.reply) {
            true => Ok(()),
            false => Err(self.not_held(op, Some(grant))),
        }
    }

    /// Refuses a call on a client that has ended, naming the lock.
    pub(super) fn check_open(&self, op: &'static str) -> Result<()> {
        self.client.check_open(op).map_err(|error| error.on(self.name.as_str()))
    }

    /// Makes what the server granted a hold that is looked after.
    pub(super) fn admit(self: &Arc<Self>, spec: GrantSpec) -> Grant {
        let on_end = self.on_end(spec.token);
        let grant = Grant::new(spec, self.client.clock.clone(), on_end);
        self.client.keeper.watch(&grant);
        grant
    }

    /// What happens when the hold with this token ends otherwise than by a release: the next of this process contends.
    pub(super) fn on_end(self: &Arc<Self>, token: u64) -> Box<dyn FnOnce() + Send> {
        let shared: Weak<LockShared> = Arc::downgrade(self);
        Box::new(move || {
            let Some(shared) = shared.upgrade() else { return };
            let rest = shared.line().vacate(token);
            contend::go_on(&shared, rest);
        })
    }

    /// Ends every hold of `holder` without a word to the server: it went away. The leases run out by themselves.
    pub(crate) fn abandon(&self, holder: HolderId) {
        let grant = self.holds().take(holder);
        grant.into_iter().for_each(|grant| self.client.abandon_grant(&grant));
    }

    /// Every hold that is still valid, taken out.
    pub(crate) fn take_valid(&self) -> Vec<Grant> {
        self.holds().take_valid()
    }
}

impl Drop for LockShared {
    fn drop(&mut self) {
        // Nobody is left who could release these: they must not be renewed for ever.
        for grant in self.take_valid() {
            self.client.abandon_grant(&grant);
        }
        self.client.locks.forget(&self.name);
    }
}
