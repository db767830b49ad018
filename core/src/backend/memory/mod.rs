//! `memory://`: the same steps in this process, run by their specification. For tests, demos and single processes.

mod entry;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use entry::Entry;

use super::hub::{Heard, Hub, Listen, Subscription};
use super::{Done, Reached, Sighting};
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::step::{Attempt, Batch, BatchStep, JointStep, Outbox, State, Step, WrongType};
use crate::time::{Clock, ServerTime};

pub(crate) struct MemoryBackend {
    store: Arc<Store>,
    clock: Clock,
}

/// What a server would keep.
struct Store {
    objects: Mutex<Objects>,
    hub: Arc<Hub>,
    /// Ties the store's time, as scripts see it, to the monotonic clock.
    epoch: Sighting,
}

/// The states of all objects, of any kind.
#[derive(Default)]
struct Objects {
    /// By the key that would hold the object on a server.
    by_key: HashMap<String, Entry>,
    /// The latest time at which a step ran. A caller reads the clock before it has the lock, and another may have run
    /// meanwhile: for the steps time never goes back, as on a server.
    latest: ServerTime,
    /// When the map has grown to this size, expired objects are dropped: it stays proportional to the names in use.
    sweep_at: usize,
}

const SMALLEST_SWEEP: usize = 1024;

/// The stores that `memory://NAME` names: the one process-wide state of this crate, since sharing is what they are for.
/// A store lives as long as its clients. Made by the compiler: a process may fork while a thread makes what others wait for.
static SHARED: Mutex<BTreeMap<String, Weak<Store>>> = Mutex::new(BTreeMap::new());

/// A function by itself in every build: suppressions of leak checkers find what the table keeps by it.
#[inline(never)]
fn shared_store(name: &str, fresh: impl FnOnce() -> Arc<Store>) -> Arc<Store> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    shared.retain(|_, store| store.strong_count() > 0);
    shared.get(name).and_then(Weak::upgrade).unwrap_or_else(|| {
        let store = fresh();
        shared.insert(name.to_owned(), Arc::downgrade(&store));
        store
    })
}

impl MemoryBackend {
    pub(super) fn open(name: Option<&str>, clock: Clock) -> MemoryBackend {
        let fresh = || Arc::new(Store::new(&clock));
        let store = match name {
            None => fresh(),
            Some(name) => shared_store(name, fresh),
        };
        MemoryBackend { store, clock }
    }

    pub(super) fn run<S: Step>(&self, name: &ObjectName, step: &S) -> Result<Done<S::Reply>> {
        let sent = self.clock.now();
        let wrong_type = |_| {
            let message = "the name belongs to another kind of object, which was left untouched; choose another name";
            Error::new(ErrorKind::WrongType, S::OP, message).on(name.as_str())
        };
        let reply = self.carry_out(name, step, self.store.epoch.at(sent)).map_err(wrong_type)?;
        Ok(Done { reply, sent, echo_until: None, reached: Reached::default() })
    }

    pub(super) fn run_batch<S: BatchStep>(&self, batch: &Batch<S>) -> Done<Vec<S::Reply>> {
        let sent = self.clock.now();
        let now = self.store.epoch.at(sent);
        let run = |(name, step): &(ObjectName, S)| {
            self.carry_out(name, step, now).unwrap_or_else(|WrongType| S::wrong_type(now))
        };
        let reply = batch.items.iter().map(run).collect();
        Done { reply, sent, echo_until: None, reached: Reached::default() }
    }

    pub(super) fn run_jointly<S: JointStep>(&self, batch: &Batch<S>) -> Done<Vec<S::Reply>> {
        let sent = self.clock.now();
        let hears = |channel: &str| self.store.hub.hears(channel);
        let mut outbox = Outbox::new(&hears);
        let names = batch.items.iter().map(|(name, _)| name);
        let reply = self.store.transact_jointly(names, self.store.epoch.at(sent), |states, now| {
            S::apply_jointly(&batch.items, Attempt { not_after: now }, states, now, &mut outbox)
        });
        self.tell(outbox);
        Done { reply, sent, echo_until: None, reached: Reached::default() }
    }

    fn tell(&self, outbox: Outbox<'_>) {
        for notice in outbox.into_notices() {
            self.store.hub.tell(&notice.channel, Heard::Message(&notice.payload));
        }
    }

    fn carry_out<S: Step>(&self, name: &ObjectName, step: &S, now: ServerTime) -> Result<S::Reply, WrongType> {
        let hears = |channel: &str| self.store.hub.hears(channel);
        let mut outbox = Outbox::new(&hears);
        let reply = self.store.transact(name, now, |state: &mut S::State, now| {
            step.apply(name, Attempt { not_after: now }, state, now, &mut outbox)
        });
        self.tell(outbox);
        reply
    }

    pub(super) fn subscribe(&self, channel: &str, listen: Listen) -> Subscription {
        let subscription = self.store.hub.listen(channel, listen.clone());
        // Nothing has to be confirmed here: the listener looks again at once, as it would after a confirmation.
        listen(Heard::Subscribed);
        subscription
    }
}

impl Store {
    fn new(clock: &Clock) -> Store {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let epoch = Sighting { server: ServerTime::default().plus(wall), at: clock.now() };
        Store { objects: Mutex::default(), hub: Arc::default(), epoch }
    }

    /// Changes one object's state atomically; a refusal leaves it as it was. `change` is told the time, which may be later than
    /// `now`.
    fn transact<T: State, R>(
        &self,
        name: &ObjectName,
        now: ServerTime,
        change: impl FnOnce(&mut T, ServerTime) -> Result<R, WrongType>,
    ) -> Result<R, WrongType> {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let now = objects.latest.max(now);
        objects.latest = now;
        let key = T::main_key(name);
        // Not on a copy, which a large filter would cost too much: a step that is refused has changed nothing.
        let mut state: T = objects.take(&key, now);
        let reply = change(&mut state, now);
        objects.write(key, state, now);
        reply
    }

    /// As [`Store::transact`], of several objects of one kind.
    fn transact_jointly<'a, T: State, R>(
        &self,
        names: impl Iterator<Item = &'a ObjectName>,
        now: ServerTime,
        change: impl FnOnce(&mut [T], ServerTime) -> R,
    ) -> R {
        let mut objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let now = objects.latest.max(now);
        objects.latest = now;
        let keys: Vec<String> = names.map(T::main_key).collect();
        let mut states: Vec<T> = keys.iter().map(|key| objects.read(key, now)).collect();
        let reply = change(&mut states, now);
        keys.into_iter().zip(states).for_each(|(key, state)| objects.write(key, state, now));
        reply
    }
}

impl Objects {
    /// The state of an object, as it is now.
    fn read<T: State>(&self, key: &str, now: ServerTime) -> T {
        let mut state: T = self.by_key.get(key).map(Entry::state).unwrap_or_default();
        state.expire(now);
        state
    }

    /// The state of an object, as it is now, to be written again.
    fn take<T: State>(&mut self, key: &str, now: ServerTime) -> T {
        let mut state: T = self.by_key.get_mut(key).map(Entry::take).unwrap_or_default();
        state.expire(now);
        state
    }

    fn write<T: State>(&mut self, key: String, state: T, now: ServerTime) {
        match self.by_key.get_mut(&key) {
            Some(entry) => {
                if entry.set(state, now) {
                    self.by_key.remove(&key);
                }
            }
            None => {
                let mut entry = Entry::default();
                if !entry.set(state, now) {
                    self.by_key.insert(key, entry);
                    self.sweep(now);
                }
            }
        }
    }

    fn sweep(&mut self, now: ServerTime) {
        if self.by_key.len() >= self.sweep_at.max(SMALLEST_SWEEP) {
            self.by_key.retain(|_, entry| !entry.expire(now));
            self.sweep_at = self.by_key.len() * 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::Renewed;
    use crate::lock::{Inspect, Renew};
    use crate::step::{Call, Expires, MainKey, Malformed, Reply, Script, SharedKeys};

    /// An object of another kind whose key is a lock's, and holds a text.
    #[derive(Clone, Default)]
    struct Other {
        main: MainKey,
        used: bool,
    }

    #[derive(Clone)]
    struct Put;

    impl Expires for Other {
        fn expire(&mut self, now: ServerTime) -> bool {
            self.main.expire(now) && !self.used
        }
    }

    impl State for Other {
        const ACCESS: &'static str = "~<name>";

        fn main_key(name: &ObjectName) -> String {
            name.as_str().to_owned()
        }

        fn exchange(&mut self, keys: &mut SharedKeys) {
            std::mem::swap(&mut self.main, &mut keys.main);
        }
    }

    impl Step for Put {
        type State = Other;
        type Reply = ();

        const OP: &'static str = "put";
        const IDEMPOTENT: bool = true;

        fn apply(
            &self,
            _name: &ObjectName,
            _attempt: Attempt,
            state: &mut Other,
            _now: ServerTime,
            _outbox: &mut Outbox<'_>,
        ) -> Result<(), WrongType> {
            *state = Other { main: MainKey::of_text("text".to_owned(), None), used: true };
            Ok(())
        }

        fn script() -> &'static Script {
            unreachable!("memory:// runs no scripts")
        }

        fn encode(&self, _name: &ObjectName, _attempt: Attempt, _call: &mut Call) {
            unreachable!("memory:// sends nothing")
        }

        fn decode(_reply: Reply) -> Result<(), Malformed> {
            unreachable!("memory:// reads nothing")
        }
    }

    #[test]
    fn the_time_of_a_store_never_goes_back() {
        let backend = MemoryBackend::open(None, Clock::default());
        let name = ObjectName::new("", "late").unwrap();
        let seen = |us| backend.store.transact(&name, ServerTime(us), |_: &mut Other, now| Ok(now.0)).unwrap();
        // The second caller read the clock first and had to wait for the store.
        assert_eq!([seen(105), seen(90), seen(106)], [105, 105, 106]);
    }

    #[test]
    fn an_object_of_another_kind_does_not_fail_the_rest_of_a_batch() {
        let backend = MemoryBackend::open(None, Clock::default());
        let [taken, absent] = ["taken", "absent"].map(|name| ObjectName::new("", name).unwrap());
        backend.run(&taken, &Put).unwrap();
        let renew = Renew { owner: "o:1".to_owned(), lease: Duration::from_secs(30), cut: None };
        let items = vec![(taken.clone(), renew.clone()), (absent, renew.clone())];
        assert_eq!(backend.run_batch(&Batch { items }).reply, [Renewed::WrongType, Renewed::Gone]);
        assert_eq!(backend.run(&taken, &Inspect).unwrap_err().kind(), ErrorKind::WrongType, "alone it is an error");
    }

    #[test]
    fn what_one_kind_leaves_is_kept_beside_another_kind() {
        let backend = MemoryBackend::open(None, Clock::default());
        let name = ObjectName::new("", "shared").unwrap();
        backend.run(&name, &Put).unwrap();
        let other = |change: fn(&mut Other) -> bool| {
            backend.store.transact(&name, ServerTime(1), |other: &mut Other, _| Ok(change(other))).unwrap()
        };
        other(|other| {
            other.main.delete();
            true
        });
        assert_eq!(backend.run(&name, &Inspect).unwrap().reply.ttl, -2, "the key is gone");
        assert!(other(|other| other.used && !other.main.is_there()));
    }

    #[test]
    fn nothing_is_kept_of_a_name_that_nobody_uses() {
        let backend = MemoryBackend::open(None, Clock::default());
        let name = ObjectName::new("", "unused").unwrap();
        let change = |used: bool| {
            let set = move |other: &mut Other, _| {
                other.used = used;
                Ok(())
            };
            backend.store.transact(&name, ServerTime(1), set).unwrap();
            backend.store.objects.lock().unwrap().by_key.len()
        };
        assert_eq!([true, false].map(change), [1, 0]);
    }
}
