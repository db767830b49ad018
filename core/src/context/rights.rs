//! Warns of rights that the client's user lacks before a call fails for it: for each kind of object, when the first of them is
//! opened, and again only when another server lacks others.

use std::fmt::Display;
use std::sync::{Mutex, PoisonError};

use super::Context;
use crate::event::Level;
use crate::name::ObjectName;
use crate::step::State;
use crate::text::part;

/// Kinds of objects, a handful, and what each needs: rate limiters of Redisson need other rights than ours.
#[derive(Default)]
pub(super) struct Asked(Mutex<Vec<(&'static str, &'static str)>>);

impl Asked {
    fn is_first(&self, kind: &'static str, access: &'static str) -> bool {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !asked.contains(&(kind, access));
        if first {
            asked.push((kind, access));
        }
        first
    }
}

impl Context {
    /// No call waits for it, or depends on it.
    pub(super) fn look_at_rights<S: State>(&self, kind: &'static str, name: &ObjectName) {
        if !self.asked.is_first(kind, S::ACCESS) {
            return;
        }
        let (backend, events, tasks) = (self.backend.clone(), self.events.clone(), self.tasks.clone());
        let (name, user) = (name.clone(), part(self.options.user.as_deref().unwrap_or("default")));
        self.tasks.spawn(async move {
            let tell = |server: &dyn Display, missing: &[String]| {
                let message = format!(
                    "{server} forbids the user {user} what objects of the kind {kind} need at some time; allow it by ACL SETUSER \
                     {user} {}",
                    missing.join(" ")
                );
                events.emit(Level::Warn, Some(name.as_str()), message);
            };
            tokio::select! {
                () = tasks.closed() => {}
                never = backend.watch_rights(S::ACCESS, &name, tell) => match never {},
            }
        });
    }
}
