//! `memory://`: the same steps in this process, run by their specification. For tests, demos and single processes.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use super::hub::{Heard, Hub, Listen, Subscription};
use super::{Cell, Done, Sighting};
use crate::error::{Error, ErrorKind, Result};
use crate::name::ObjectName;
use crate::step::{Attempt, Batch, BatchStep, State, Step, WrongType};
use crate::time::{Clock, ServerTime};

pub(crate) struct MemoryBackend {
    store: Arc<Store>,
    clock: Clock,
}

/// What a server would keep.
struct Store {
    cells: Mutex<Cells>,
    hub: Arc<Hub>,
    /// Ties the store's time, as scripts see it, to the monotonic clock.
    epoch: Sighting,
}

#[derive(Default)]
struct Cells {
    /// By the key that would hold it on a server, so that what could not stand side by side there cannot here.
    by_key: HashMap<String, Cell>,
    /// When the map has grown to this size, expired cells are dropped, so that it follows the names in use.
    sweep_at: usize,
}

const SMALLEST_SWEEP: usize = 1024;

/// The stores that `memory://NAME` names: the one process-wide state of this crate, since sharing is what they are for.
/// A store lives as long as its clients.
static SHARED: LazyLock<Mutex<HashMap<String, Weak<Store>>>> = LazyLock::new(Mutex::default);

impl MemoryBackend {
    pub(super) fn open(name: Option<&str>, clock: Clock) -> MemoryBackend {
        let fresh = || Arc::new(Store::new(&clock));
        let store = match name {
            None => fresh(),
            Some(name) => {
                let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
                shared.retain(|_, store| store.strong_count() > 0);
                shared.get(name).and_then(Weak::upgrade).unwrap_or_else(|| {
                    let store = fresh();
                    shared.insert(name.to_owned(), Arc::downgrade(&store));
                    store
                })
            }
        };
        MemoryBackend { store, clock }
    }

    pub(super) fn run<S: Step>(&self, name: &ObjectName, step: &S) -> Result<Done<S::Reply>> {
        let sent = self.clock.now();
        let now = self.store.epoch.at(sent);
        let mut notices = Vec::new();
        let reply = self.store.transact(name, now, |state: &mut S::State| {
            step.apply(name, Attempt { not_after: now }, state, now, &mut notices)
        });
        for notice in notices {
            self.store.hub.tell(&notice.channel, Heard::Message(&notice.payload));
        }
        let wrong_type = |_| {
            let message = "the name belongs to another kind of object, which was left untouched; choose another name";
            Error::new(ErrorKind::WrongType, S::OP, message).on(name.as_str())
        };
        Ok(Done { reply: reply.map_err(wrong_type)?, sent, echo_until: None })
    }

    pub(super) fn run_batch<S: BatchStep>(&self, batch: &Batch<S>) -> Result<Done<Vec<S::Reply>>> {
        let sent = self.clock.now();
        let run = |(name, step): &(ObjectName, S)| self.run(name, step).map(|done| done.reply);
        let reply = batch.items.iter().map(run).collect::<Result<Vec<_>>>()?;
        Ok(Done { reply, sent, echo_until: None })
    }

    pub(super) fn subscribe(&self, channel: &str, listen: Listen) -> Subscription {
        let subscription = self.store.hub.listen(channel, listen.clone());
        // Nothing has to be confirmed here: the listener looks again at once, as it would after a confirmation.
        listen(Heard::LookAgain);
        subscription
    }
}

impl Store {
    fn new(clock: &Clock) -> Store {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let epoch = Sighting { server: ServerTime::default().plus(wall), at: clock.now() };
        Store { cells: Mutex::default(), hub: Arc::default(), epoch }
    }

    /// Changes one object's state atomically; a refusal leaves it as it was.
    fn transact<T: State, R>(
        &self,
        name: &ObjectName,
        now: ServerTime,
        change: impl FnOnce(&mut T) -> Result<R, WrongType>,
    ) -> Result<R, WrongType> {
        let mut cells = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let key = T::main_key(name);
        let mut state = match cells.by_key.get_mut(&key) {
            None => T::default(),
            Some(cell) => T::of(cell).ok_or(WrongType)?.clone(),
        };
        state.expire(now);
        let reply = change(&mut state)?;
        if state.expire(now) {
            cells.by_key.remove(&key);
        } else {
            cells.by_key.insert(key, state.into_cell());
            cells.sweep(now);
        }
        Ok(reply)
    }
}

impl Cells {
    fn sweep(&mut self, now: ServerTime) {
        if self.by_key.len() >= self.sweep_at.max(SMALLEST_SWEEP) {
            self.by_key.retain(|_, cell| match cell {
                Cell::Lock(state) => !state.expire(now),
                Cell::Limit(state) => !state.expire(now),
            });
            self.sweep_at = self.by_key.len() * 2;
        }
    }
}
