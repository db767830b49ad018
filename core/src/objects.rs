//! Everything that a client has opened by name: one registry for all kinds of objects.
//!
//! What concerns every object of a client, such as its closing, goes through this registry. [`Object`] has no default bodies,
//! so that each kind has to say what it does on each occasion: one that close would forget to release does not compile.

use std::any::Any;
use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::error::{Error, Result};
use crate::lease::HolderId;
use crate::name::ObjectName;

/// The release of one hold, under way as soon as it is polled.
pub(crate) type Releasing = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// What all users of one name share within a client, as the client sees it.
pub(crate) trait Object: Any + Send + Sync {
    fn name(&self) -> &ObjectName;

    /// Fails all waiters with `error`.
    fn refuse_waiters(&self, error: &Error);

    /// Messages may have been lost: has waiters ask the server again.
    fn look_again(&self);

    /// Ends all holds of `holder` without telling the server: their leases run out.
    fn abandon(&self, holder: HolderId);

    /// Lets holds no longer keep this object alive.
    fn let_go(&self);

    /// Takes out all holds that are valid: a release for each.
    fn release_all(self: Arc<Self>) -> Vec<Releasing>;
}

/// A kind of object. Objects of two kinds may have the same name.
pub(crate) trait ObjectKind: Object + Sized {
    /// Unique among the kinds, and in errors the call that opens one.
    const KIND: &'static str;
}

/// The objects in use, by kind and name. An object removes its entry when it is dropped; see [`Objects::forget`].
#[derive(Default)]
pub(crate) struct Objects {
    /// A few kinds: looking through them costs less than hashing.
    kinds: Mutex<Vec<(&'static str, Box<dyn Entries>)>>,
}

/// The objects of one kind. With its type, an entry is a thin pointer: there may be 100,000 of them.
type Typed<T> = HashMap<ObjectName, Weak<T>>;

trait Entries: Any + Send {
    /// All objects in use.
    fn all(&self) -> Vec<Arc<dyn Object>>;
}

impl<T: ObjectKind> Entries for Typed<T> {
    fn all(&self) -> Vec<Arc<dyn Object>> {
        self.values().filter_map(Weak::upgrade).map(|object| object as Arc<dyn Object>).collect()
    }
}

impl Objects {
    /// The object of this name, made if there is none.
    pub(crate) fn get_or_insert<T: ObjectKind>(&self, name: &ObjectName, make: impl FnOnce() -> T) -> Arc<T> {
        self.with(|entries| {
            entries.get(name).and_then(Weak::upgrade).unwrap_or_else(|| {
                let fresh = Arc::new(make());
                entries.insert(name.clone(), Arc::downgrade(&fresh));
                fresh
            })
        })
    }

    /// The object of this kind and key, if it is in use.
    pub(crate) fn get<T: ObjectKind>(&self, key: &str) -> Option<Arc<T>> {
        self.with(|entries: &mut Typed<T>| entries.get(key).and_then(Weak::upgrade))
    }

    /// Removes the entry of an object that is being dropped.
    pub(crate) fn forget<T: ObjectKind>(&self, name: &ObjectName) {
        self.with(|entries: &mut Typed<T>| {
            // A successor may have taken the place already.
            if entries.get(name).is_some_and(|entry| entry.strong_count() == 0) {
                entries.remove(name);
            }
        });
    }

    /// All objects in use.
    pub(crate) fn all(&self) -> Vec<Arc<dyn Object>> {
        self.lock().iter().flat_map(|(_, entries)| entries.all()).collect()
    }

    /// Runs this on the entries of one kind. Nothing in it may drop an object.
    fn with<T: ObjectKind, R>(&self, change: impl FnOnce(&mut Typed<T>) -> R) -> R {
        let mut kinds = self.lock();
        let at = kinds.iter().position(|(kind, _)| *kind == T::KIND).unwrap_or_else(|| {
            kinds.push((T::KIND, Box::new(Typed::<T>::new())));
            kinds.len() - 1
        });
        let entries: &mut dyn Any = &mut *kinds[at].1;
        change(entries.downcast_mut().expect("one type for each kind"))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(&'static str, Box<dyn Entries>)>> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Cat(#[expect(dead_code, reason = "tells one cat from another")] u32);
    struct Dog;

    macro_rules! inert {
        ($type:ty, $kind:literal) => {
            impl Object for $type {
                fn name(&self) -> &ObjectName {
                    unreachable!("nobody asks")
                }
                fn refuse_waiters(&self, _: &Error) {}
                fn look_again(&self) {}
                fn abandon(&self, _: HolderId) {}
                fn let_go(&self) {}
                fn release_all(self: Arc<Self>) -> Vec<Releasing> {
                    Vec::new()
                }
            }

            impl ObjectKind for $type {
                const KIND: &'static str = $kind;
            }
        };
    }

    inert!(Cat, "cat");
    inert!(Dog, "dog");

    #[test]
    fn kinds_share_no_names() {
        let (objects, name) = (Objects::default(), ObjectName::new("", "rex").unwrap());
        let dog = objects.get_or_insert(&name, || Dog);
        let cat = objects.get_or_insert(&name, || Cat(1));
        assert!(Arc::ptr_eq(&dog, &objects.get_or_insert(&name, || panic!("there is one"))));
        assert!(Arc::ptr_eq(&cat, &objects.get("rex").unwrap()));
        assert_eq!(objects.all().len(), 2);
    }

    #[test]
    fn an_object_that_is_dropped_does_not_take_its_successors_entry() {
        let (objects, name) = (Objects::default(), ObjectName::new("", "tom").unwrap());
        let first = objects.get_or_insert(&name, || Cat(1));
        drop(first);
        assert!(objects.get::<Cat>("tom").is_none());
        let second = objects.get_or_insert(&name, || Cat(2));
        objects.forget::<Cat>(&name);
        assert!(Arc::ptr_eq(&second, &objects.get("tom").unwrap()));
        drop(second);
        objects.forget::<Cat>(&name);
        assert!(objects.with(|cats: &mut Typed<Cat>| cats.is_empty()));
    }
}
