//! One object that callers contend for, as one client knows it: its line of waiters, and who in this process holds it.

use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::contend::{self, First};
use super::delivery::{Delivery, Ticket};
use super::give_back::LastHolder;
use super::home::Home;
use super::line::{Line, Mail};
use super::order::{MutexOrder, Ordered, OrderedGuard};
use super::slot_inbox::SlotInbox;
use super::{DUE, Primitive, Wanted, owed, pace, server};
use crate::backend::{Heard, Listen, RequiredReplicas, Subscription};
use crate::context::Context;
use crate::error::{Error, ErrorKind, Result};
use crate::lease::{Grant, GrantKind, GrantSpec, HolderId, LossReason, Source};
use crate::name::ObjectName;
use crate::objects::{Object, ObjectKind, Releasing};
use crate::stats::Way;
use crate::time::Tick;

pub(crate) struct Contended<P: Primitive> {
    name: ObjectName,
    home: Arc<Home<P>>,
    primitive: P,
    line: Ordered<Line<Ticket<P>, P::Wanted>>,
    /// Wakes the contender: something in the line has changed that it should know.
    noted: Notify,
    /// In a box, because most objects never have one.
    obstacle: Ordered<Option<Box<Obstacle>>>,
    pub(super) slot_inbox: Mutex<Option<Box<SlotInbox>>>,
}

type LineGuard<'a, P> = OrderedGuard<'a, Line<Ticket<P>, <P as Primitive>::Wanted>>;

/// What was last seen to stand in the way of the contender.
#[derive(Clone)]
pub(super) enum Obstacle {
    /// Somebody holds it; a ttl of -1 is without end.
    Holder { holder: String, ttl: i64 },
    /// Another holder of this process holds it.
    Ours { owner: String, token: u64, remaining: Duration },
    /// Other callers of this process wait in front.
    Line,
    /// Other processes come first.
    Queue,
    /// It was granted, and the replicas that must have the grant are being counted.
    Replicas(RequiredReplicas),
    /// The server could not be asked.
    Outage(Error),
}

impl<P: Primitive> Contended<P> {
    pub(super) fn new(name: ObjectName, home: Arc<Home<P>>, primitive: P) -> Contended<P> {
        let (line, obstacle) = (Ordered::new(MutexOrder::Line), Ordered::new(MutexOrder::Obstacle));
        Contended { name, home, primitive, line, noted: Notify::new(), obstacle, slot_inbox: Mutex::default() }
    }

    pub(crate) fn name(&self) -> &ObjectName {
        &self.name
    }

    pub(crate) fn client(&self) -> &Context {
        self.home.context()
    }

    /// What it shares with the other objects of its kind.
    pub(super) fn home(&self) -> &Arc<Home<P>> {
        &self.home
    }

    /// What is the primitive's own.
    pub(crate) fn primitive(&self) -> &P {
        &self.primitive
    }

    pub(crate) fn line(&self) -> LineGuard<'_, P> {
        self.line.lock()
    }

    /// Completes when something was noted since the last call. Cancel safe.
    pub(super) async fn noted(&self) {
        self.noted.notified().await;
    }

    /// Somebody left the line at whose front one stood that wanted `before`. The contender is told what it would not see by
    /// itself: that nobody waits any more, or that the first in line wants another number than it asked for.
    pub(super) fn has_left(&self, line: LineGuard<'_, P>, before: Option<P::Wanted>) {
        let next = line.wanted();
        drop(line);
        if next.map(Wanted::permits) != before.map(Wanted::permits) {
            self.wake_contender();
        }
    }

    pub(super) fn wake_contender(&self) {
        self.noted.notify_one();
    }

    pub(super) fn set_obstacle(&self, obstacle: Option<Obstacle>) {
        self.replace_obstacle(obstacle);
    }

    /// As [`Contended::set_obstacle`], with the one before.
    pub(super) fn replace_obstacle(&self, obstacle: Option<Obstacle>) -> Option<Obstacle> {
        std::mem::replace(&mut *self.obstacle.lock(), obstacle.map(Box::new)).map(|before| *before)
    }

    pub(super) fn obstacle(&self) -> Option<Obstacle> {
        self.obstacle.lock().as_deref().cloned()
    }

    /// The hold of this process that keeps out a caller that wants this, if there is one.
    pub(super) fn obstacle_here(&self, wanted: P::Wanted) -> Option<Obstacle> {
        let grant = self.primitive.in_the_way(wanted)?;
        let remaining = Duration::from_millis(grant.remaining().as_millis() as u64);
        Some(Obstacle::Ours { owner: grant.owner().to_owned(), token: grant.token(), remaining })
    }

    /// Takes note of a message, and wakes the contender; drops it if nobody contends.
    pub(super) fn note_if_contending(&self, mail: Mail) {
        let contends = self.line().note_if_contending(mail);
        if contends {
            self.wake_contender();
        }
    }

    /// Takes note of a message, also for a contender that starts later. False when nobody contends now.
    pub(super) fn note(&self, mail: Mail) -> bool {
        let contends = self.line().note(mail);
        if contends {
            self.wake_contender();
        }
        contends
    }

    /// Takes note of a message. False when no contender needs it: an old request has joined the queue, or a promoted replica
    /// remembers the place.
    pub(super) fn hear(&self, word: &str) -> bool {
        match word {
            "free" => self.note(Mail { ask: true, ..Mail::default() }),
            "next" => self.note(Mail { next: true, ..Mail::default() }),
            // A hint only: what the server says to the renewal counts.
            "lost" => {
                self.home().doubt();
                self.verify_holds();
                true
            }
            _ => match word.strip_prefix(DUE).and_then(|ms| ms.parse().ok()) {
                Some(ms) => {
                    let wait = Duration::from_millis(ms).clamp(P::SHORTEST_TIMER, pace::when_crowded(0));
                    self.note(Mail { due: Some(self.client().clock.now().plus(wait)), ..Mail::default() })
                }
                // From a later version.
                None => true,
            },
        }
    }

    /// Asks the server, in the background, whether it still shows what is held here.
    pub(crate) fn verify_holds(&self) {
        self.primitive.valid().iter().for_each(|grant| self.client().keeper.verify(grant));
    }

    /// Gives up a place in the queue that this process may have, unless it needs it: in the background, or at the end of the
    /// present contending or holding.
    pub(super) fn leave_queue(self: &Arc<Self>) {
        let mut line = self.line();
        line.owe_leaving();
        if line.begin() {
            drop(line);
            contend::start(self, First::Leave);
        }
    }

    /// Looks again when bytes that may take effect until `at` no longer can, if a caller waits then.
    pub(super) fn look_again_after(self: &Arc<Self>, at: Tick) {
        let (shared, clock, tasks) = (Arc::downgrade(self), self.client().clock.clone(), self.client().tasks.clone());
        let at = at.plus(server::attempt_budget(self.client()));
        tasks.clone().spawn(async move {
            tokio::select! {
                () = tasks.closed() => return,
                () = clock.sleep_until(at) => {}
            }
            shared.upgrade().into_iter().for_each(|shared: Arc<Contended<P>>| shared.look_again());
        });
    }

    /// Listens where holders that are no clients of libdlock announce a release.
    pub(super) fn listen_on_channel(self: &Arc<Self>) -> Subscription {
        let shared = Arc::downgrade(self);
        let listen: Listen = Arc::new(move |heard: Heard<'_>| {
            let free = match heard {
                Heard::Message(announcement) if P::is_of_libdlock(announcement) => return,
                Heard::Message(_) => true,
                Heard::Subscribed | Heard::Refused => false,
                // The head looks often anyway.
                Heard::Interrupted => return,
            };
            let mail = Mail { ask: free, missed: !free, ..Mail::default() };
            shared.upgrade().into_iter().for_each(|shared: Arc<Contended<P>>| shared.note_if_contending(mail));
        });
        server::subscribe(self.client(), &self.name, &P::foreign_channel(&self.name), listen)
    }

    /// The error of a caller whose requests all came too late.
    pub(crate) fn too_late(&self, op: &'static str) -> Error {
        let message = "the server's clock jumps back and forth; check its time synchronisation";
        Error::new(ErrorKind::Clock, op, message).temporary().on(self.name.as_str())
    }

    /// Fails all waiters that match the predicate.
    pub(super) fn refuse(&self, error: &Error, which: impl Fn(&Ticket<P>) -> bool) {
        let refused = self.line().take_all(which);
        for ticket in refused {
            ticket.refuse(error.clone().on(self.name.as_str()));
        }
    }

    /// Fails the first in line, if that caller wants just this.
    pub(super) fn refuse_first(&self, wanted: P::Wanted, error: &Error) {
        let first = self.line().take_first(wanted);
        first.into_iter().for_each(|ticket| ticket.refuse(error.clone().on(self.name.as_str())));
    }

    /// Fails all waiters.
    pub(super) fn refuse_all(&self, error: &Error) {
        self.refuse(error, |_| true);
        self.wake_contender();
    }

    /// The contender has died: each waiter is told why, or learns it by the loss of its ticket.
    pub(super) fn cut_off(&self, why: Option<Error>) {
        let waiters = self.line().give_up();
        let Some(why) = why else { return drop(waiters) };
        waiters.into_iter().for_each(|waiter| waiter.refuse(why.clone().on(self.name.as_str())));
    }

    /// Refuses a call on a client that has ended, naming the object.
    pub(crate) fn check_open(&self, op: &'static str) -> Result<()> {
        self.client().check_open(op).map_err(|error| error.on(self.name.as_str()))
    }

    /// Makes what the server granted a hold that is looked after, if it ends with a lease.
    pub(crate) fn admit(self: &Arc<Self>, spec: GrantSpec) -> Grant {
        let (moves, sent) = (spec.reached.moves, spec.sent);
        let source: Weak<Contended<P>> = Arc::downgrade(self);
        let grant = Grant::new::<P::Renew>(spec, self.client().clock.clone(), source);
        if !P::Renew::LEASED {
            return grant;
        }
        self.client().keeper.watch(&grant);
        // Read after `watch`: a later move asks for this hold too.
        if self.moves() != moves || self.home.is_doubted_since(sent) {
            self.client().keeper.verify(&grant);
        }
        grant
    }

    /// As [`Contended::admit`], for a caller that wanted this. Where that is shared, those at the front of the line that want
    /// just this get it too.
    pub(super) fn admit_all(self: &Arc<Self>, wanted: P::Wanted, spec: GrantSpec) -> Grant {
        let grant = self.admit(spec);
        if !P::is_shared(wanted) {
            return grant;
        }
        let first = grant.shared();
        self.primitive.offer(&first, self.client().clock.now());
        let mut line = self.line();
        let sharers = line.take_alike(wanted);
        if sharers.is_empty() {
            drop(line);
        } else {
            // A contender may have asked for them, and goes on.
            self.has_left(line, Some(wanted));
        }
        for ticket in sharers {
            let grant = first.join().expect("its first holder has not got it yet");
            ticket.deliver(Delivery::new(self, grant, Way::Local));
        }
        first
    }

    /// The line no longer stands behind the hold with this token: the next of this process contends.
    pub(crate) fn vacate(self: &Arc<Self>, token: u64) {
        let now = self.client().clock.now();
        let rest = self.line().vacate(token, now.0);
        contend::go_on(self, rest);
    }

    /// The holder has learned of a loss: its next acquire begins anew.
    pub(crate) fn told(&self, lost: &Grant) {
        self.client().keeper.expire(lost, self.client().clock.now());
        self.primitive.told(lost);
    }

    /// The error of a caller that holds nothing, or has lost what it held.
    pub(crate) fn not_held(&self, op: &'static str, lost: Option<&Grant>) -> Error {
        let message = match lost.map(|grant| (grant.loss(), grant.which())) {
            Some((Some(reason), which)) => {
                lost.into_iter().for_each(|lost| self.told(lost));
                format!(
                    "not held any more: {reason}; it was lost with {which}, work done since may have overlapped another holder's"
                )
            }
            _ => "not held by this holder; only the holder that acquired it can do this".to_owned(),
        };
        Error::new(ErrorKind::NotHeld, op, message).on(self.name.as_str())
    }

    /// Stops the renewal of all that `take` takes out of the holds, with a warning. No word to the server.
    pub(crate) fn abandon_all(&self, take: impl FnMut() -> Option<Grant>) {
        for grant in std::iter::from_fn(take) {
            if grant.leave_abandoned() {
                self.client().abandon_grant(&grant);
            }
        }
    }
}

impl<P: Primitive> ObjectKind for Contended<P> {
    const KIND: &'static str = P::KIND;
}

impl<P: Primitive> Object for Contended<P> {
    fn name(&self) -> &ObjectName {
        &self.name
    }

    fn refuse_waiters(&self, error: &Error) {
        self.refuse_all(error);
    }

    /// If somebody contends, the object is looked at again, together with others of the client.
    fn look_again(&self) {
        self.note_if_contending(Mail { missed: true, ..Mail::default() });
    }

    fn abandon(&self, holder: HolderId) {
        self.abandon_all(|| self.primitive().take(holder));
    }

    fn let_go(&self) {
        let kept = self.primitive().let_go(None);
        drop(kept);
    }

    fn release_all(self: Arc<Self>) -> Vec<Releasing> {
        let release = |grant| -> Releasing {
            let object = self.clone();
            Box::pin(async move { object.release(grant, LastHolder::CallerUntilClosed).await })
        };
        self.primitive().take_valid().into_iter().map(release).collect()
    }
}

impl<P: Primitive> Source for Contended<P> {
    /// The next waiter of this process contends.
    fn lost(self: Arc<Self>, grant: &Grant, reason: LossReason) {
        owed::after_loss(&self.home, &self.name, grant, reason);
        let kept = self.primitive.let_go(Some(grant.token()));
        drop(kept);
        self.vacate(grant.token());
    }
}

impl<P: Primitive> Drop for Contended<P> {
    fn drop(&mut self) {
        // Nobody is left who could release these: they must not be renewed for ever.
        for grant in self.primitive.take_valid() {
            self.client().abandon_grant(&grant);
            owed::after_loss(&self.home, &self.name, &grant, LossReason::Closed);
        }
        self.client().objects.forget::<Contended<P>>(&self.name);
    }
}
