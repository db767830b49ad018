//! What a client has made of each name, shared by all that ask for it again: as long as somebody uses it, no longer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::name::ObjectName;

/// One `T` for each name in use. Follows the names in use: a `T` takes itself out when it is dropped, by [`Registry::forget`].
pub(crate) struct Registry<T> {
    by_name: Mutex<HashMap<ObjectName, Weak<T>>>,
}

impl<T> Registry<T> {
    /// The one of this name, made if there is none.
    pub(crate) fn get_or_insert(&self, name: &ObjectName, make: impl FnOnce() -> T) -> Arc<T> {
        let mut entries = self.entries();
        entries.get(name).and_then(Weak::upgrade).unwrap_or_else(|| {
            let fresh = Arc::new(make());
            entries.insert(name.clone(), Arc::downgrade(&fresh));
            fresh
        })
    }

    /// The one of this key, if it is in use.
    pub(crate) fn get(&self, key: &str) -> Option<Arc<T>> {
        self.entries().get(key).and_then(Weak::upgrade)
    }

    /// Called by a `T` of this name as it ends.
    pub(crate) fn forget(&self, name: &ObjectName) {
        let mut entries = self.entries();
        // A successor may stand there already.
        if entries.get(name).is_some_and(|entry| entry.strong_count() == 0) {
            entries.remove(name);
        }
    }

    /// All that are in use.
    pub(crate) fn all(&self) -> Vec<Arc<T>> {
        self.entries().values().filter_map(Weak::upgrade).collect()
    }

    fn entries(&self) -> MutexGuard<'_, HashMap<ObjectName, Weak<T>>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Registry { by_name: Mutex::default() }
    }
}
