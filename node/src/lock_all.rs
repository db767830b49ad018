//! Several locks as one: opened by their names, acquired for a hold that is its handle's own.

use libdlock_bridge::HandleKind;
use libdlock_bridge::ops::{self, Holding};
use napi_derive::napi;

use crate::answer::{Answer, Given, answer, give, handle};
use crate::environment::Environment;

/// The lock that was lost, of several.
#[napi(object, object_from_js = false)]
pub struct LostMember {
    pub name: String,
    pub reason: &'static str,
}

#[napi]
impl Environment {
    /// The set's handle. No I/O.
    #[napi(catch_unwind)]
    pub fn lock_all_open(
        &self,
        client: Given,
        names: Vec<String>,
        lease_ms: Option<i64>,
        watchdog_lease_ms: Option<i64>,
        reentrant: Option<bool>,
    ) -> Answer<Given> {
        answer("lockAllOpen", |state| {
            let set = ops::lock_all_open(state, handle(client), &names, lease_ms, watchdog_lease_ms, reentrant)?;
            self.inner.lend(HandleKind::LockAll, set);
            Ok(give(set))
        })
    }

    /// Each once, in the order in which they are waited for.
    #[napi(catch_unwind)]
    pub fn lock_all_names(&self, set: Given) -> Answer<Vec<String>> {
        answer("lockAllNames", |state| ops::lock_all_names(state, handle(set)))
    }

    #[napi(catch_unwind)]
    pub fn lock_all_acquire(&self, id: i64, set: Given, wait_ms: Option<i64>, lease_ms: Option<i64>) -> Answer<Given> {
        self.submit("lockAllAcquire", id, |state| {
            ops::lock_all_acquire(state, handle(set), Holding::ByHandle, wait_ms, lease_ms)
        })
    }

    /// The name and the token of each; of any other hold none.
    #[napi(catch_unwind)]
    pub fn held_tokens(&self, held: Given) -> Answer<Vec<(String, u64)>> {
        answer("heldTokens", |state| ops::held_tokens(state, handle(held)))
    }

    #[napi(catch_unwind)]
    pub fn held_token_of(&self, held: Given, name: String) -> Answer<u64> {
        answer("heldTokenOf", |state| ops::held_token_of(state, handle(held), name.as_bytes()))
    }

    /// Null while none is lost, and of any other hold.
    #[napi(catch_unwind)]
    pub fn held_lost_member(&self, held: Given) -> Answer<Option<LostMember>> {
        answer("heldLostMember", |state| {
            let lost = ops::held_lost_member(state, handle(held))?;
            Ok(lost.map(|(name, reason)| LostMember { name, reason: reason.as_str() }))
        })
    }
}
