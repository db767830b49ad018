//! Noticing the end of a thread, after all that the thread itself still does.
//!
//! A destructor of Rust's or C++'s thread-local values comes too early: the destructors of `pthread_key_create`, in which a
//! host may still release what the thread holds, run after it; and when `exit` is called it runs before `atexit` handlers and
//! static destructors. A thread key is told last, and not at all when the process exits.

use std::cell::Cell;
use std::ffi::c_void;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The key, and one more so that 0 is none: made by the first call, and inherited by forked children.
static KEY: AtomicU64 = AtomicU64::new(0);
/// How many threads use the key just now in its destructor. A forked child may inherit threads that it does not have.
static INSIDE: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// How many rounds of key destructors this thread has had. Nothing to drop, so that it is there until the very end.
    static ROUNDS: Cell<i32> = const { Cell::new(0) };
}

/// Calls `hook` on the calling thread when it ends, after the destructors of its thread-local values and keys. It replaces what
/// an earlier call on this thread gave. The hook must not panic.
///
/// `ending` says that the thread's end has begun. A hook that is new then cannot know how many rounds are left, and takes the
/// next one.
///
/// # Errors
/// When the system has no thread key left, or no memory.
pub fn at_thread_end(hook: fn(), ending: bool) -> io::Result<()> {
    let key = key()?;
    // SAFETY: as below.
    if ending && unsafe { libc::pthread_getspecific(key) }.is_null() {
        ROUNDS.set(HOOK_ROUND - 1);
    }
    // SAFETY: `key` was made by `pthread_key_create`. Only `no_thread_ends` deletes it, which is not called meanwhile.
    check(unsafe { libc::pthread_setspecific(key, hook as *const c_void) })
}

/// No hook is called from here on, on any thread; [`at_thread_end`] begins anew. Not while another thread is in that.
pub fn no_thread_ends() {
    let key = KEY.swap(0, Ordering::SeqCst);
    let mut patience = if key == 0 { 0 } else { 1_000 };
    while INSIDE.load(Ordering::SeqCst) > 0 && patience > 0 {
        std::thread::sleep(Duration::from_millis(1));
        patience -= 1;
    }
    if patience > 0 {
        // SAFETY: made by `pthread_key_create`; nobody finds it in `KEY` any more, and those that had are done.
        unsafe { libc::pthread_key_delete((key - 1) as libc::pthread_key_t) };
    }
}

fn key() -> io::Result<libc::pthread_key_t> {
    let known = KEY.load(Ordering::Acquire);
    if known != 0 {
        return Ok((known - 1) as libc::pthread_key_t);
    }
    let mut key = 0;
    // SAFETY: `key` outlives the call. The destructor lives as long as the key: our shared libraries are linked with
    // `-z nodelete`, and a plugin with the static library in it is too, or calls `dlock_shutdown` before it is unloaded, which
    // deletes the key.
    check(unsafe { libc::pthread_key_create(&mut key, Some(round)) })?;
    match KEY.compare_exchange(0, u64::from(key) + 1, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Ok(key),
        Err(winner) => {
            // SAFETY: made just above, and no thread has a value under it.
            unsafe { libc::pthread_key_delete(key) };
            Ok((winner - 1) as libc::pthread_key_t)
        }
    }
}

/// The key's destructor. The C library calls the destructors of keys that have a value in rounds, up to a fixed number: setting
/// the value again asks for one more, so late rounds come after all that others do in theirs.
unsafe extern "C" fn round(hook: *mut c_void) {
    let round = ROUNDS.get() + 1;
    ROUNDS.set(round);
    if round < HOOK_ROUND && ask_again(hook) {
        return;
    }
    // A destructor that comes later may set the hook again: it then runs in the next round.
    ROUNDS.set(HOOK_ROUND - 1);
    // SAFETY: only `at_thread_end` sets a value, and it sets a `fn()`.
    let hook = unsafe { std::mem::transmute::<*mut c_void, fn()>(hook) };
    hook();
}

fn ask_again(hook: *mut c_void) -> bool {
    INSIDE.fetch_add(1, Ordering::SeqCst);
    let key = KEY.load(Ordering::SeqCst);
    // SAFETY: a key that is found is not deleted before `INSIDE` goes down.
    let again = key != 0 && unsafe { libc::pthread_setspecific((key - 1) as libc::pthread_key_t, hook) } == 0;
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    again
}

/// The call of our destructor that runs the hook. One less than `PTHREAD_DESTRUCTOR_ITERATIONS`, which is 4 at the least: a
/// thread whose first hook is set by the destructor of a key has had a round already, and nothing tells us so.
const HOOK_ROUND: i32 = 3;

fn check(code: i32) -> io::Result<()> {
    if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(code)) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Local, ORDER, the_hook_stays_away_and_comes_anew};
    use super::*;

    unsafe extern "C" fn of_a_host(_: *mut c_void) {
        ORDER.lock().unwrap().push("key");
    }

    #[test]
    fn the_hook_comes_last_and_not_once_the_key_is_deleted() {
        thread_local!(static LOCAL: Local = const { Local });
        let thread = std::thread::spawn(|| {
            at_thread_end(|| ORDER.lock().unwrap().push("hook"), false).unwrap();
            LOCAL.with(|_| {});
            let mut key = 0;
            // SAFETY: `key` outlives the call; the value is never followed.
            unsafe {
                assert_eq!(libc::pthread_key_create(&mut key, Some(of_a_host)), 0);
                assert_eq!(libc::pthread_setspecific(key, std::ptr::without_provenance(1)), 0);
            }
        });
        thread.join().unwrap();
        assert_eq!(*ORDER.lock().unwrap(), ["thread-local", "key", "hook"]);
        the_hook_stays_away_and_comes_anew();
    }
}
