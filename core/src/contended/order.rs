//! A mutex that knows its place in the order in which mutexes are locked; see the head of `contended`.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// In the order in which they are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum MutexOrder {
    Holds,
    Line,
    Sleepers,
    Obstacle,
    UnneededPlaces,
    Confirmed,
    Acks,
}

/// A mutex of this order. Survives a panic of a thread that had locked it.
pub(crate) struct Ordered<T> {
    #[cfg(debug_assertions)]
    order: MutexOrder,
    value: Mutex<T>,
}

pub(crate) struct OrderedGuard<'a, T> {
    value: MutexGuard<'a, T>,
    #[cfg(debug_assertions)]
    _locked: watch::Locked,
}

impl<T: Default> Ordered<T> {
    pub(crate) fn new(order: MutexOrder) -> Ordered<T> {
        let _ = order;
        Ordered {
            #[cfg(debug_assertions)]
            order,
            value: Mutex::default(),
        }
    }

    /// # Panics
    /// In a debug build, when this thread has locked one of the same order or of one that comes later.
    pub(crate) fn lock(&self) -> OrderedGuard<'_, T> {
        #[cfg(debug_assertions)]
        let _locked = watch::Locked::new(self.order);
        OrderedGuard {
            value: self.value.lock().unwrap_or_else(PoisonError::into_inner),
            #[cfg(debug_assertions)]
            _locked,
        }
    }
}

impl<T> Deref for OrderedGuard<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for OrderedGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

#[cfg(debug_assertions)]
mod watch {
    use std::cell::Cell;
    use std::marker::PhantomData;

    use super::MutexOrder;

    const ALL: [MutexOrder; 5] =
        [MutexOrder::Holds, MutexOrder::Line, MutexOrder::Sleepers, MutexOrder::Obstacle, MutexOrder::UnneededPlaces];

    thread_local! {
        /// A bit for each order that this thread has locked. Needs neither memory nor a destructor: a thread may lock something
        /// while its other thread-local values are destroyed.
        static LOCKED: Cell<u8> = const { Cell::new(0) };
    }

    /// A bit of `LOCKED`, on the thread that set it.
    pub(super) struct Locked(MutexOrder, PhantomData<*const ()>);

    impl Locked {
        pub(super) fn new(order: MutexOrder) -> Locked {
            LOCKED.with(|locked| {
                let highest = ALL.into_iter().rfind(|other| locked.get() & bit(*other) != 0);
                assert!(highest < Some(order), "{order:?} is locked after {highest:?}: see the head of contended");
                locked.set(locked.get() | bit(order));
            });
            Locked(order, PhantomData)
        }
    }

    impl Drop for Locked {
        fn drop(&mut self) {
            LOCKED.with(|locked| locked.set(locked.get() & !bit(self.0)));
        }
    }

    fn bit(order: MutexOrder) -> u8 {
        1 << order as u8
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn mutexes_are_locked_in_their_order() {
        let (line, obstacle) = (Ordered::<u8>::new(MutexOrder::Line), Ordered::<u8>::new(MutexOrder::Obstacle));
        drop((line.lock(), obstacle.lock()));
        // Once more: nothing of it is left.
        drop((line.lock(), obstacle.lock()));
    }

    #[test]
    #[should_panic(expected = "Line is locked after Some(Obstacle)")]
    fn a_mutex_that_is_locked_too_late_panics() {
        let (line, obstacle) = (Ordered::<u8>::new(MutexOrder::Line), Ordered::<u8>::new(MutexOrder::Obstacle));
        let _first = obstacle.lock();
        let _second = line.lock();
    }
}
