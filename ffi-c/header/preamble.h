/*
 * dlock.h: distributed locks, read-write locks, semaphores and rate limiters on Redis or Valkey, shared with Redisson; ids. Link with -ldlock.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 * Made by cbindgen from ffi-c/src: change it there, then UPDATE_HEADER=1 cargo test -p libdlock-ffi --test header.
 *
 * Conventions, for every function here:
 *
 * - Every call that can fail returns a dlock_status_t: DLOCK_OK is 0, ordinary outcomes are positive (DLOCK_BUSY), errors
 *   are negative. `error` may be NULL; otherwise it is yours, begins with DLOCK_ERROR_INIT, and is filled in whenever the
 *   status is not DLOCK_OK.
 * - Out parameters are written only on DLOCK_OK, a limiter's decision also on DLOCK_LIMITED. No partial successes.
 * - Handles (dlock_client_t * and the like) are numbers, not addresses: never follow one. A freed handle gives
 *   DLOCK_CLOSED, one of the process that forked this one DLOCK_FORKED, anything else that is none DLOCK_INVALID_ARGUMENT.
 *   Each is freed once, by its _free function, for which NULL is nothing to do. A call under way keeps its objects alive.
 * - Structs begin with their size: start from the _INIT macro of the same name.
 * - Texts are UTF-8 with a length in bytes beside them; texts that come back are also NUL-terminated. Pointers that you
 *   pass must be valid for the call, no longer; NULL and absurd lengths are refused.
 * - Times are int64_t milliseconds (_ms), those of limiters microseconds (_us): -1 waits for ever, 0 does not wait.
 * - Every function may be called from any thread at any time. What a synchronous call acquires, locks, a side of one
 *   or permits, is held by the calling *thread*, which releases it; what is taken, or acquired through a port, belongs to
 *   its dlock_held_t.
 * - Calls work to the very end: in destructors of thread-local values and thread keys, in atexit handlers, in static
 *   destructors. After dlock_shutdown() they return DLOCK_CLOSED, until a new client or port starts it again.
 * - No function calls back into your code, and libdlock's own threads never run any of it: they block signals, except
 *   those that a fault raises, so that your own threads get them, in a handler, sigwait() or a signalfd().
 * - In a signal handler call only dlock_abi_version(), dlock_version() and dlock_status_name(), which neither lock nor
 *   allocate. Every other function may wait for a mutex that the interrupted thread has locked, dlock_cancel_fire() and
 *   the _free functions included: let a thread of yours wait for the signal, or write to a pipe that it reads.
 *
 * docs/c/README.md explains them with examples; dlock.hpp is the same for C++17.
 */
/* clang-format off: cbindgen decides the layout. */
