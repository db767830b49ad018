//! What a server keeps under one name: the keys that objects of several kinds have, and those that only one kind has.

use std::any::Any;

use crate::step::{Expires, SharedKeys, State};
use crate::time::ServerTime;

/// The objects of one name.
#[derive(Default)]
pub(super) struct Entry {
    shared: SharedKeys,
    /// The states of the kinds of which more is left than the shared keys, which are not in them.
    own: Vec<Box<dyn Expires>>,
}

impl Entry {
    /// A copy of the state of the object of one kind.
    pub(super) fn state<T: State>(&self) -> T {
        let own = self.own.iter().find_map(|own| (&**own as &dyn Any).downcast_ref::<T>());
        let mut state = own.cloned().unwrap_or_default();
        state.exchange(&mut self.shared.clone());
        state
    }

    /// The state of the object of one kind, to be put back: it is not here as long as it is changed.
    pub(super) fn take<T: State>(&mut self) -> T {
        let at = self.own.iter().position(|own| (&**own as &dyn Any).is::<T>());
        let own = at.and_then(|at| (self.own.swap_remove(at) as Box<dyn Any>).downcast::<T>().ok());
        let mut state = own.map(|own| *own).unwrap_or_default();
        state.exchange(&mut self.shared);
        state
    }

    /// Puts back what came from [`Entry::state`] or [`Entry::take`], since when nobody has changed anything; true when nothing is left.
    pub(super) fn set<T: State>(&mut self, mut state: T, now: ServerTime) -> bool {
        state.exchange(&mut self.shared);
        // What the keys held before is in the state now.
        state.exchange(&mut SharedKeys::default());
        match self.own.iter().position(|own| (&**own as &dyn Any).is::<T>()) {
            Some(at) => self.own[at] = Box::new(state),
            None if !state.expire(now) => self.own.push(Box::new(state)),
            None => {}
        }
        self.expire(now)
    }

    /// Drops what has ended; true when nothing is left.
    pub(super) fn expire(&mut self, now: ServerTime) -> bool {
        self.own.retain_mut(|own| !own.expire(now));
        self.shared.expire(now) && self.own.is_empty()
    }
}
