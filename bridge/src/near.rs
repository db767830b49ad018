//! The object that a thread used last, found again without the table's lock.
//!
//! For calls so short that the lock would be most of them. It is weak: a freed object ends as it would without this, and in a
//! forked child nothing of its parent's is dropped.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use libdlock::Result;

use crate::handle::Handle;

/// Whether an object's handle was given up while a call used it: a weak reference would still find it.
#[derive(Default)]
pub(crate) struct Freed(AtomicBool);

impl Freed {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The object that one thread used last, and the life of the library: in another life a handle means another object.
pub(crate) struct Near<T>(RefCell<Option<(Handle, u32, Weak<T>)>>);

impl<T> Near<T> {
    pub(crate) const fn new() -> Self {
        Self(RefCell::new(None))
    }

    /// The object of `handle` in this `life`: the one at hand when it is that and still `usable`, otherwise what `find`
    /// finds. A life never uses a handle again, so one that equals cannot mean another object.
    #[inline]
    pub(crate) fn get(
        &self,
        handle: Handle,
        life: u32,
        usable: impl FnOnce(&T) -> bool,
        find: impl FnOnce() -> Result<Arc<T>>,
    ) -> Result<Arc<T>> {
        if let Some((known, known_in, object)) = &*self.0.borrow()
            && (*known, *known_in) == (handle, life)
            && let Some(object) = object.upgrade()
            && usable(&object)
        {
            return Ok(object);
        }
        let object = find()?;
        *self.0.borrow_mut() = Some((handle, life, Arc::downgrade(&object)));
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use libdlock::{Error, ErrorKind};

    use super::*;

    fn gone() -> Result<Arc<u32>> {
        Err(Error::new(ErrorKind::Closed, "get", "freed"))
    }

    #[test]
    fn the_last_object_is_found_without_asking_until_it_ends() {
        let near = Near::new();
        let (one, two) = (Arc::new(1), Arc::new(2));
        assert_eq!(*near.get(11, 0, |_| true, || Ok(one.clone())).unwrap(), 1);
        assert_eq!(*near.get(11, 0, |_| true, gone).unwrap(), 1, "at hand");
        assert!(near.get(11, 0, |_| false, gone).is_err(), "freed while a call is under way");
        assert!(near.get(11, 1, |_| true, gone).is_err(), "a child's of the same number");
        assert_eq!(*near.get(12, 0, |_| true, || Ok(two.clone())).unwrap(), 2);
        assert_eq!(*near.get(11, 0, |_| true, || Ok(one.clone())).unwrap(), 1);
        drop(one);
        assert!(near.get(11, 0, |_| true, gone).is_err(), "nothing is kept alive");
        assert!(near.get(13, 0, |_| true, gone).is_err());
    }
}
