//! The functions over holds, tried on a kind that is no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use libdlock::lease::{Grant, HolderId};
use libdlock::lock::AcquireOptions;
use libdlock::{Error, ErrorKind, Result, embed};

use crate::client::ClientEntry;
use crate::enter;
use crate::handle::Handle;
use crate::kinds::HandleKind;
use crate::leased::{Asking, Granting, Leased};
use crate::objects::LockEntry;
use crate::ops::{self, Holding};
use crate::state::State;

/// Counts what is asked of it. Only its grants are a lock's: nothing else grants yet.
struct Recorder {
    client: Arc<ClientEntry>,
    released: AtomicU32,
    extended: AtomicU32,
    abandoned: AtomicU32,
    undone: AtomicU32,
}

fn count(counter: &AtomicU32) {
    counter.fetch_add(1, Ordering::SeqCst);
}

impl Leased for Recorder {
    fn client(&self) -> &Arc<ClientEntry> {
        &self.client
    }

    fn key(&self) -> &str {
        "prefix:recorder"
    }

    fn hold_count(&self, _holder: HolderId) -> u32 {
        3
    }

    fn reenter(&self, _holder: HolderId) -> Result<()> {
        Err(Error::new(ErrorKind::Deadlock, "acquire", "a recorder is not re-entrant"))
    }

    fn release(&self, _holder: HolderId) -> Asking<'_, ()> {
        Box::pin(async {
            count(&self.released);
            Ok(())
        })
    }

    fn extend(&self, _holder: HolderId, _lease: Duration) -> Asking<'_, ()> {
        Box::pin(async {
            count(&self.extended);
            Ok(())
        })
    }

    fn detach(&self, _holder: HolderId) -> Asking<'_, String> {
        Box::pin(async { Ok("detached".to_owned()) })
    }

    fn abandon(&self, _holder: HolderId) {
        count(&self.abandoned);
    }
}

impl Granting for Recorder {
    fn token(&self, grant: &Grant) -> u64 {
        grant.token()
    }

    fn permits(&self, _grant: &Grant) -> Vec<String> {
        vec!["an id".to_owned()]
    }

    fn keep_while_held(&self, _grant: &Grant) {}

    fn release_in_background(&self, _holder: HolderId, _token: u64) {
        count(&self.undone);
    }
}

fn recorder(state: &'static State) -> (Arc<Recorder>, Handle) {
    let opened = state.wait(ops::client_open(state, "memory://".to_owned(), Vec::new(), None), None).unwrap();
    let lock = ops::lock_open(state, opened, b"grants", None, None, None).unwrap();
    let client = state.get::<ClientEntry>(opened, "test").unwrap();
    let new = AtomicU32::default;
    let recorder = Recorder { client, released: new(), extended: new(), abandoned: new(), undone: new() };
    (Arc::new(recorder), lock)
}

fn held(state: &'static State, recorder: &Arc<Recorder>, lock: Handle, holding: Holding) -> Handle {
    let lock = state.get::<LockEntry>(lock, "test").unwrap();
    let holder = HolderId::fresh();
    let grant = embed::into_grant(state.wait(lock.lock.acquire_as(holder, AcquireOptions::default()), None).unwrap());
    state.wait(lock.lock.release_as(holder), None).unwrap();
    ops::keep(state, recorder.clone(), holding, holder, grant).unwrap().handle
}

#[test]
fn a_hold_of_any_kind_is_used_through_the_same_functions() {
    let state = enter().unwrap();
    let (recorder, lock) = recorder(state);
    let held = held(state, &recorder, lock, Holding::ByHandle);

    assert_eq!(ops::held_hold_count(state, held).unwrap(), 3);
    assert_eq!(ops::held_reenter(state, held).unwrap_err().kind(), ErrorKind::Deadlock);
    state.wait(ops::held_extend(state, held, 500), None).unwrap();
    state.wait(ops::held_release(state, held), None).unwrap();
    assert_eq!(state.wait(ops::held_detach(state, held), None).unwrap(), "detached");
    state.free(HandleKind::Held, held).unwrap();

    let of = |counter: &AtomicU32| counter.load(Ordering::SeqCst);
    assert_eq!((of(&recorder.released), of(&recorder.extended), of(&recorder.abandoned)), (1, 1, 1));
}

#[test]
fn a_hold_that_reached_nobody_is_given_back_by_its_kind() {
    let state = enter().unwrap();
    let (recorder, lock) = recorder(state);
    let lost = held(state, &recorder, lock, Holding::ByHandle);
    state.undo(lost);
    assert_eq!(recorder.undone.load(Ordering::SeqCst), 1);
    assert_eq!(state.free(HandleKind::Held, lost).unwrap_err().kind(), ErrorKind::Closed);
}

#[test]
fn a_threads_hold_is_not_ended_through_its_view() {
    let state = enter().unwrap();
    let (recorder, lock) = recorder(state);
    let view = held(state, &recorder, lock, Holding::ByHolder(HolderId::fresh()));
    let error = state.wait(ops::held_release(state, view), None).unwrap_err();
    assert_eq!((error.kind(), error.name()), (ErrorKind::InvalidArgument, Some("prefix:recorder")));
    state.free_any(view).unwrap();
    assert_eq!(recorder.abandoned.load(Ordering::SeqCst), 0);
}
