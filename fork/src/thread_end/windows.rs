//! By a slot of fiber-local storage: its callback runs once, and **before** the destructors of thread-local values, as nothing
//! that Windows has runs after all of them. What such a destructor would still release was then released already. Run under
//! Wine; never on Windows.

use std::cell::Cell;
use std::ffi::c_void;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

use windows_sys::Win32::System::LibraryLoader::{
    GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, GET_MODULE_HANDLE_EX_FLAG_PIN, GetModuleHandleExW,
};
use windows_sys::Win32::System::Threading::{FLS_OUT_OF_INDEXES, FlsAlloc, FlsFree, FlsSetValue};

/// No slot.
const NONE: u32 = FLS_OUT_OF_INDEXES;

/// The slot, made by the first call.
static SLOT: AtomicU32 = AtomicU32::new(NONE);

thread_local! {
    /// The thread is in `no_thread_ends`, which makes the system call our callback for threads that have not ended. Nothing to
    /// drop, so that it is there until the very end.
    static FREEING: Cell<bool> = const { Cell::new(false) };
}

#[link(name = "ntdll")]
unsafe extern "system" {
    /// Whether the process exits: all other threads have been ended, and may have held any lock.
    safe fn RtlDllShutdownInProgress() -> u8;
}

/// Calls `hook` on the calling thread when it ends, before the destructors of its thread-local values. It replaces what an
/// earlier call on this thread gave. The hook must not panic.
///
/// Whether the thread's end has begun makes no difference here.
///
/// # Errors
/// When the system has no slot left, or no memory.
pub fn at_thread_end(hook: fn(), _ending: bool) -> io::Result<()> {
    let slot = slot()?;
    // SAFETY: `slot` was made by `FlsAlloc`. Only `no_thread_ends` frees it, which is not called meanwhile.
    check(unsafe { FlsSetValue(slot, hook as *const c_void) } != 0)
}

/// No hook is called from here on, on any thread; [`at_thread_end`] begins anew. Not while another thread is in that.
pub fn no_thread_ends() {
    let slot = SLOT.swap(NONE, Ordering::SeqCst);
    if slot == NONE {
        return;
    }
    FREEING.set(true);
    // SAFETY: made by `FlsAlloc`, and nobody finds it in `SLOT` any more. It waits for callbacks that run just now.
    unsafe { FlsFree(slot) };
    FREEING.set(false);
}

fn slot() -> io::Result<u32> {
    let known = SLOT.load(Ordering::Acquire);
    if known != NONE {
        return Ok(known);
    }
    stay_loaded()?;
    // SAFETY: the callback lives as long as the process, as the library is never unloaded.
    let fresh = unsafe { FlsAlloc(Some(ended)) };
    check(fresh != NONE)?;
    match SLOT.compare_exchange(NONE, fresh, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Ok(fresh),
        Err(winner) => {
            // SAFETY: made just above, and no thread has a value in it.
            unsafe { FlsFree(fresh) };
            Ok(winner)
        }
    }
}

/// FreeLibrary would pull the code away under the callback, and under the threads of libdlock. What `-z nodelete` is on Linux.
fn stay_loaded() -> io::Result<()> {
    let mut module = std::ptr::null_mut();
    let flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN;
    // SAFETY: with that flag the name is an address in the library, and the only one that is read; `module` outlives the call.
    check(unsafe { GetModuleHandleExW(flags, ended as *const u16, &mut module) } != 0)
}

/// The system calls it on a thread that ends and has a value, and for every value when the slot is freed.
unsafe extern "system" fn ended(hook: *const c_void) {
    if FREEING.get() || RtlDllShutdownInProgress() != 0 {
        return;
    }
    // SAFETY: only `at_thread_end` sets a value, and it sets a `fn()`.
    let hook = unsafe { std::mem::transmute::<*const c_void, fn()>(hook) };
    hook();
}

fn check(done: bool) -> io::Result<()> {
    if done { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Local, ORDER, the_hook_stays_away_and_comes_anew};
    use super::*;

    #[test]
    fn the_hook_comes_once_and_not_when_the_slot_is_freed() {
        thread_local!(static LOCAL: Local = const { Local });
        let thread = std::thread::spawn(|| {
            at_thread_end(|| ORDER.lock().unwrap().push("hook"), false).unwrap();
            LOCAL.with(|_| {});
        });
        thread.join().unwrap();
        assert_eq!(*ORDER.lock().unwrap(), ["hook", "thread-local"]);
        the_hook_stays_away_and_comes_anew();
    }
}
