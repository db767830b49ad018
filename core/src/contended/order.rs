//! A mutex that knows its place in the order in which mutexes are locked; see the head of `contended`.

use std::ops::{Deref, DerefMut};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// In the order in which they are locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rank {
    Holds,
    Line,
    Sleepers,
    Obstacle,
    Places,
}

/// A mutex of this rank. Survives a panic of a thread that had locked it.
pub(crate) struct Ordered<T> {
    #[cfg(debug_assertions)]
    rank: Rank,
    value: Mutex<T>,
}

pub(crate) struct OrderedGuard<'a, T> {
    value: MutexGuard<'a, T>,
    #[cfg(debug_assertions)]
    _locked: watch::Locked,
}

impl<T: Default> Ordered<T> {
    pub(crate) fn new(rank: Rank) -> Ordered<T> {
        let _ = rank;
        Ordered {
            #[cfg(debug_assertions)]
            rank,
            value: Mutex::default(),
        }
    }

    /// # Panics
    /// In a debug build, when this thread has locked one of the same rank or of one that comes later.
    pub(crate) fn lock(&self) -> OrderedGuard<'_, T> {
        #[cfg(debug_assertions)]
        let _locked = watch::Locked::new(self.rank);
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

    use super::Rank;

    const ALL: [Rank; 5] = [Rank::Holds, Rank::Line, Rank::Sleepers, Rank::Obstacle, Rank::Places];

    thread_local! {
        /// A bit for each rank that this thread has locked. Needs neither memory nor a destructor: a thread may lock something
        /// while its other thread-local values are destroyed.
        static LOCKED: Cell<u8> = const { Cell::new(0) };
    }

    /// A bit of `LOCKED`, on the thread that set it.
    pub(super) struct Locked(Rank, PhantomData<*const ()>);

    impl Locked {
        pub(super) fn new(rank: Rank) -> Locked {
            LOCKED.with(|locked| {
                let highest = ALL.into_iter().rfind(|other| locked.get() & bit(*other) != 0);
                assert!(highest < Some(rank), "{rank:?} is locked after {highest:?}: see the head of contended");
                locked.set(locked.get() | bit(rank));
            });
            Locked(rank, PhantomData)
        }
    }

    impl Drop for Locked {
        fn drop(&mut self) {
            LOCKED.with(|locked| locked.set(locked.get() & !bit(self.0)));
        }
    }

    fn bit(rank: Rank) -> u8 {
        1 << rank as u8
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;

    #[test]
    fn mutexes_are_locked_in_their_order() {
        let (line, obstacle) = (Ordered::<u8>::new(Rank::Line), Ordered::<u8>::new(Rank::Obstacle));
        drop((line.lock(), obstacle.lock()));
        // Once more: nothing of it is left.
        drop((line.lock(), obstacle.lock()));
    }

    #[test]
    #[should_panic(expected = "Line is locked after Some(Obstacle)")]
    fn a_mutex_that_is_locked_too_late_panics() {
        let (line, obstacle) = (Ordered::<u8>::new(Rank::Line), Ordered::<u8>::new(Rank::Obstacle));
        let _first = obstacle.lock();
        let _second = line.lock();
    }
}
