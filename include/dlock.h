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

#ifndef DLOCK_H
#define DLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * Bytes of a message, its NUL included.
 */
#define DLOCK_MESSAGE_SIZE 512

/**
 * Bytes of an operation's name, its NUL included.
 */
#define DLOCK_OP_SIZE 32

/**
 * Bytes of what an error says is allowed, the NUL included.
 */
#define DLOCK_ALLOWED_SIZE 256

/**
 * The version of the binary interface that this header describes: the number in the SONAME. It changes when a program
 * has to be compiled anew.
 */
#define DLOCK_ABI_VERSION 0

/**
 * Bytes of an owner, its NUL included; a foreign owner that is longer is cut.
 */
#define DLOCK_OWNER_SIZE 128

/**
 * Bytes of a detached hold, its NUL included.
 */
#define DLOCK_DETACHED_SIZE 2048

/**
 * Bytes of a name, its NUL included.
 */
#define DLOCK_NAME_SIZE 513

/**
 * How many buckets a histogram has.
 */
#define DLOCK_HISTOGRAM_BUCKETS 40

/**
 * How many ids a block has if nobody says otherwise.
 */
#define DLOCK_ID_BLOCK_DEFAULT 5000

/**
 * A filter that stays until it is cleared.
 */
#define DLOCK_BLOOM_NO_END -1

/**
 * How often a job is delivered if nobody says otherwise; then it is dead.
 */
#define DLOCK_QUEUE_ATTEMPTS_DEFAULT 16

/**
 * The largest payload, in bytes, if nobody says otherwise.
 */
#define DLOCK_QUEUE_PAYLOAD_DEFAULT 1048576

/**
 * How many jobs dlock_queue_take_many() takes at most.
 */
#define DLOCK_QUEUE_TAKE_MAX 100

/**
 * Bytes of a job's id, its NUL included.
 */
#define DLOCK_JOB_ID_SIZE 513

/**
 * How many jobs dlock_queue_peek() and dlock_queue_dead() list at most.
 */
#define DLOCK_QUEUE_LIST_MAX 1000

/**
 * Bytes of the reason why a job is dead, its NUL included.
 */
#define DLOCK_JOB_REASON_SIZE 1025

/**
 * Bytes of an id as text in any base, its NUL included.
 */
#define DLOCK_ID_TEXT_SIZE 20

/**
 * The most ids of one call.
 */
#define DLOCK_BATCH_MAX 1000000

/**
 * How many bits the numbers of a pool have as a rule: 1,024 numbers.
 */
#define DLOCK_WORKER_BITS_DEFAULT 10

/**
 * A Bloom filter, by name.
 */
typedef struct dlock_bloom_filter_t dlock_bloom_filter_t;

/**
 * Ends blocking calls from another thread.
 */
typedef struct dlock_cancel_t dlock_cancel_t;

/**
 * A client: its connections and options.
 */
typedef struct dlock_client_t dlock_client_t;

/**
 * A counting semaphore, by name: permits without owner or lease, as Redisson's RSemaphore has them. Permits of a process that
 * died never come back by themselves; who shares none with Redisson uses dlock_semaphore_t.
 */
typedef struct dlock_counting_semaphore_t dlock_counting_semaphore_t;

/**
 * A hold of a lock, of several as one, of a side of one, or of permits, or a delivery of a queue: its fencing token, whether it is still valid, whether
 * it was lost.
 */
typedef struct dlock_held_t dlock_held_t;

/**
 * A generator of ids in blocks, by name.
 */
typedef struct dlock_id_generator_t dlock_id_generator_t;

/**
 * A list of jobs, as the server had them.
 */
typedef struct dlock_jobs_t dlock_jobs_t;

/**
 * A count-down latch, by name.
 */
typedef struct dlock_latch_t dlock_latch_t;

/**
 * Several locks that are acquired and released as one.
 */
typedef struct dlock_lock_all_t dlock_lock_all_t;

/**
 * A lock, by name.
 */
typedef struct dlock_lock_t dlock_lock_t;

/**
 * An operation submitted to a port.
 */
typedef struct dlock_op_t dlock_op_t;

/**
 * A completion port: where submitted operations and log events queue up.
 */
typedef struct dlock_port_t dlock_port_t;

/**
 * A delayed queue, by name.
 */
typedef struct dlock_queue_t dlock_queue_t;

/**
 * A rate limiter, by name and rate.
 */
typedef struct dlock_rate_limiter_t dlock_rate_limiter_t;

/**
 * One side of a read-write lock, by name. Open a handle for each side that is used.
 */
typedef struct dlock_rw_lock_t dlock_rw_lock_t;

/**
 * A semaphore, by name.
 */
typedef struct dlock_semaphore_t dlock_semaphore_t;

/**
 * A generator of ids.
 */
typedef struct dlock_snowflake_t dlock_snowflake_t;

/**
 * What came of a call: 0 is success, a positive number an ordinary outcome, a negative one an error. The numbers are
 * frozen.
 */
typedef int32_t dlock_status_t;

/**
 * One option of a client. Texts are UTF-8 with their length and need no NUL.
 */
typedef struct dlock_option_t {
  /**
   * A name of the table of options, such as "lease".
   */
  const char *name;
  /**
   * Bytes of `name`.
   */
  size_t name_len;
  /**
   * The value, such as "30s", "250ms", "true".
   */
  const char *value;
  /**
   * Bytes of `value`.
   */
  size_t value_len;
} dlock_option_t;

/**
 * How to open a client. Begin with DLOCK_CLIENT_OPTIONS_INIT.
 */
typedef struct dlock_client_options_t {
  /**
   * `sizeof(dlock_client_options_t)`.
   */
  size_t struct_size;
  /**
   * Options on top of those in the URL; may be NULL when `options_len` is 0.
   */
  const struct dlock_option_t *options;
  /**
   * How many options; at most 256.
   */
  size_t options_len;
  /**
   * Where the client's log events go; NULL for nowhere.
   */
  const struct dlock_port_t *log_port;
  /**
   * Ends the call when fired; may be NULL.
   */
  const struct dlock_cancel_t *cancel;
} dlock_client_options_t;

/**
 * What went wrong, in memory of the caller. Begin with DLOCK_ERROR_INIT. A call that returns DLOCK_OK does not touch it;
 * every other call fills it in. Each text is NUL-terminated UTF-8, cut where it does not fit.
 */
typedef struct dlock_error_t {
  /**
   * `sizeof(dlock_error_t)`.
   */
  size_t struct_size;
  /**
   * The status that the call returned.
   */
  dlock_status_t code;
  /**
   * What was being done, such as "acquire".
   */
  char op[DLOCK_OP_SIZE];
  /**
   * The object it was done to; empty when there is none.
   */
  char name[DLOCK_NAME_SIZE];
  /**
   * What happened and what to do about it; never a password.
   */
  char message[DLOCK_MESSAGE_SIZE];
  /**
   * The owner in the way, as it stands on the server; of a busy error, where the server named one; empty when
   * there is none.
   */
  char holder[DLOCK_OWNER_SIZE];
  /**
   * How much of that holder's lease was left when it was seen; the holder may renew it; -1 when it is not known.
   */
  int64_t remaining_ms;
  /**
   * After how long asking again can succeed, at the soonest: of a limiter's refusal, and of a clock error, until
   * the clock is no longer behind; -1 when it is not known.
   */
  int64_t retry_after_us;
  /**
   * What is allowed in place of the value that was refused, such as `100 ms to 24 h`; empty when there is none.
   */
  char allowed[DLOCK_ALLOWED_SIZE];
  /**
   * Whether the same call, made again later, can succeed although the program changes nothing: of a connection
   * error, where the server cannot be reached, but not with a wrong password; after an unknown outcome it may find
   * that the first call was carried out.
   */
  bool retryable;
} dlock_error_t;

/**
 * What a client has counted since it was opened that is its own; its kinds of objects have structs of their own. Begin with
 * DLOCK_STATS_INIT.
 */
typedef struct dlock_stats_t {
  /**
   * `sizeof(dlock_stats_t)`.
   */
  size_t struct_size;
  /**
   * Requests sent again because no answer came.
   */
  uint64_t retries;
} dlock_stats_t;

/**
 * How often something took how long, in microseconds.
 */
typedef struct dlock_histogram_t {
  /**
   * How many there were.
   */
  uint64_t count;
  /**
   * All together.
   */
  uint64_t sum_us;
  /**
   * On average.
   */
  uint64_t mean_us;
  /**
   * What half of them did not exceed: never too small, less than twice too large.
   */
  uint64_t p50_us;
  /**
   * What 99 of 100 did not exceed, as precise.
   */
  uint64_t p99_us;
  /**
   * The longest.
   */
  uint64_t max_us;
  /**
   * How many took less than 1 us, 1 to 2 us, 2 to 4 us, and so on; the last one counts everything longer too.
   */
  uint64_t buckets[DLOCK_HISTOGRAM_BUCKETS];
} dlock_histogram_t;

/**
 * What the locks of a client have counted. Begin with DLOCK_LOCK_STATS_INIT.
 */
typedef struct dlock_lock_stats_t {
  /**
   * `sizeof(dlock_lock_stats_t)`.
   */
  size_t struct_size;
  /**
   * Holds granted to a caller; taking over a detached hold counts, a re-entry does not.
   */
  uint64_t acquired;
  /**
   * Acquires that had to wait, and were granted.
   */
  uint64_t contended;
  /**
   * Of those that waited, the ones that a holder of this process handed over.
   */
  uint64_t handed_over_local;
  /**
   * Of those that waited, the ones whose turn came in the queue between processes.
   */
  uint64_t handed_over_remote;
  /**
   * Acquires that were not granted within their wait.
   */
  uint64_t wait_timeouts;
  /**
   * Acquires whose caller gave up while it waited.
   */
  uint64_t cancelled;
  /**
   * Leases prolonged by the watchdog, one for each lock and time.
   */
  uint64_t renewals;
  /**
   * Renewals that got no answer or a passing error, and were tried again while the lease lasted.
   */
  uint64_t renewal_failures;
  /**
   * Holds that were lost, abandoned ones included.
   */
  uint64_t lost;
  /**
   * Holds that ended by a release; detaching is one.
   */
  uint64_t released;
  /**
   * Callers that wait now.
   */
  uint64_t waiting;
  /**
   * Holds that are looked after now.
   */
  uint64_t held;
  /**
   * From the call of an acquire to its grant, waited or not: as many as `acquired`.
   */
  struct dlock_histogram_t wait_time;
  /**
   * From a grant to the beginning of its release: as many as `released`.
   */
  struct dlock_histogram_t hold_time;
} dlock_lock_stats_t;

/**
 * What the rate limiters of a client have counted; a peek is not counted. Begin with DLOCK_LIMITER_STATS_INIT.
 */
typedef struct dlock_limiter_stats_t {
  /**
   * `sizeof(dlock_limiter_stats_t)`.
   */
  size_t struct_size;
  /**
   * Calls that got their tokens.
   */
  uint64_t granted;
  /**
   * Calls that were refused.
   */
  uint64_t refused;
  /**
   * Tokens that were granted.
   */
  uint64_t tokens;
  /**
   * Of all these calls, the ones that a policy decided while the server was away.
   */
  uint64_t by_policy;
  /**
   * Callers that wait now.
   */
  uint64_t waiting;
  /**
   * From a call to its grant, waited or not: as many as `granted`.
   */
  struct dlock_histogram_t wait_time;
} dlock_limiter_stats_t;

/**
 * What the semaphores of a client have counted. Begin with DLOCK_SEMAPHORE_STATS_INIT.
 */
typedef struct dlock_semaphore_stats_t {
  /**
   * `sizeof(dlock_semaphore_stats_t)`.
   */
  size_t struct_size;
  /**
   * Holds granted to a caller, of however many permits each.
   */
  uint64_t acquired;
  /**
   * Acquires that had to wait, and were granted.
   */
  uint64_t contended;
  /**
   * Of those that waited, the ones that a holder of this process handed over.
   */
  uint64_t handed_over_local;
  /**
   * Of those that waited, the ones whose turn came in the queue between processes.
   */
  uint64_t handed_over_remote;
  /**
   * Acquires that were not granted within their wait.
   */
  uint64_t wait_timeouts;
  /**
   * Acquires whose caller gave up while it waited.
   */
  uint64_t cancelled;
  /**
   * Leases prolonged by the watchdog, one for each hold and time.
   */
  uint64_t renewals;
  /**
   * Renewals that got no answer or a passing error, and were tried again while the lease lasted.
   */
  uint64_t renewal_failures;
  /**
   * Holds that were lost, abandoned ones included.
   */
  uint64_t lost;
  /**
   * Holds that ended by a release.
   */
  uint64_t released;
  /**
   * Callers that wait now.
   */
  uint64_t waiting;
  /**
   * Holds that are looked after now.
   */
  uint64_t held;
  /**
   * From the call of an acquire to its grant, waited or not: as many as `acquired`.
   */
  struct dlock_histogram_t wait_time;
  /**
   * From a grant to the beginning of its release: as many as `released`.
   */
  struct dlock_histogram_t hold_time;
} dlock_semaphore_stats_t;

/**
 * What the read-write locks of a client have counted; readers that share a hold of the server are counted one by one, unless
 * the field says otherwise. Begin with DLOCK_RW_LOCK_STATS_INIT.
 */
typedef struct dlock_rw_lock_stats_t {
  /**
   * `sizeof(dlock_rw_lock_stats_t)`.
   */
  size_t struct_size;
  /**
   * Holds granted to a caller, of either side; a re-entry does not count.
   */
  uint64_t acquired;
  /**
   * Acquires that had to wait, and were granted.
   */
  uint64_t contended;
  /**
   * Of those that waited, the readers that share the hold of another one of this process.
   */
  uint64_t handed_over_local;
  /**
   * Of those that waited, the ones whose turn came in the queue between processes.
   */
  uint64_t handed_over_remote;
  /**
   * Acquires that were not granted within their wait.
   */
  uint64_t wait_timeouts;
  /**
   * Acquires whose caller gave up while it waited.
   */
  uint64_t cancelled;
  /**
   * Leases prolonged by the watchdog, one for each hold of the server and time.
   */
  uint64_t renewals;
  /**
   * Renewals that got no answer or a passing error, and were tried again while the lease lasted.
   */
  uint64_t renewal_failures;
  /**
   * Holds of the server that were lost, abandoned ones included.
   */
  uint64_t lost;
  /**
   * Holds that ended by a release.
   */
  uint64_t released;
  /**
   * Callers that wait now.
   */
  uint64_t waiting;
  /**
   * Holds of the server that are looked after now.
   */
  uint64_t held;
  /**
   * From the call of an acquire to its grant, waited or not: as many as `acquired`.
   */
  struct dlock_histogram_t wait_time;
  /**
   * From a grant to the beginning of its release: as many as `released`.
   */
  struct dlock_histogram_t hold_time;
} dlock_rw_lock_stats_t;

/**
 * What the counting semaphores of a client have counted; `released` may exceed `acquired`: anybody may release. Begin
 * with DLOCK_COUNTING_SEMAPHORE_STATS_INIT.
 */
typedef struct dlock_counting_semaphore_stats_t {
  /**
   * `sizeof(dlock_counting_semaphore_stats_t)`.
   */
  size_t struct_size;
  /**
   * Acquires that were granted, of however many permits each.
   */
  uint64_t acquired;
  /**
   * Acquires that had to wait, and were granted.
   */
  uint64_t contended;
  /**
   * Acquires that were not granted within their wait.
   */
  uint64_t wait_timeouts;
  /**
   * Acquires whose caller gave up while it waited.
   */
  uint64_t cancelled;
  /**
   * Releases that the server has confirmed, of however many permits each.
   */
  uint64_t released;
  /**
   * Callers that wait now.
   */
  uint64_t waiting;
  /**
   * From the call of an acquire to its grant, waited or not: as many as `acquired`.
   */
  struct dlock_histogram_t wait_time;
} dlock_counting_semaphore_stats_t;

/**
 * What the latches of a client have counted. Begin with DLOCK_LATCH_STATS_INIT.
 */
typedef struct dlock_latch_stats_t {
  /**
   * `sizeof(dlock_latch_stats_t)`.
   */
  size_t struct_size;
  /**
   * Calls that counted down, by however many each.
   */
  uint64_t counted_down;
  /**
   * Waits that found the latch open.
   */
  uint64_t opened;
  /**
   * Waits whose time was over first.
   */
  uint64_t wait_timeouts;
  /**
   * Waits whose caller gave up.
   */
  uint64_t cancelled;
  /**
   * Callers that wait now.
   */
  uint64_t waiting;
  /**
   * From the call of a wait until it found the latch open: as many as `opened`.
   */
  struct dlock_histogram_t wait_time;
} dlock_latch_stats_t;

/**
 * What the worker numbers of a client have counted. Begin with DLOCK_WORKER_STATS_INIT.
 */
typedef struct dlock_worker_stats_t {
  /**
   * `sizeof(dlock_worker_stats_t)`.
   */
  size_t struct_size;
  /**
   * Numbers leased.
   */
  uint64_t acquired;
  /**
   * Leases that were refused because all numbers were taken.
   */
  uint64_t refused;
  /**
   * Leases prolonged by the watchdog, one for each number and time.
   */
  uint64_t renewals;
  /**
   * Renewals that got no answer or a passing error, and were tried again while the lease lasted.
   */
  uint64_t renewal_failures;
  /**
   * Numbers that were lost.
   */
  uint64_t lost;
  /**
   * Numbers that were given back.
   */
  uint64_t released;
  /**
   * Numbers that are looked after now.
   */
  uint64_t held;
  /**
   * From the call to the number: as many as `acquired`.
   */
  struct dlock_histogram_t wait_time;
  /**
   * From the lease of a number to the beginning of its release: as many as `released`.
   */
  struct dlock_histogram_t hold_time;
} dlock_worker_stats_t;

/**
 * What the queues of a client have counted. Begin with DLOCK_QUEUE_STATS_INIT.
 */
typedef struct dlock_queue_stats_t {
  /**
   * `sizeof(dlock_queue_stats_t)`.
   */
  size_t struct_size;
  /**
   * Jobs put.
   */
  uint64_t put;
  /**
   * Jobs that were not put because a job of their id was there.
   */
  uint64_t duplicates;
  /**
   * Requests to put jobs that were refused because the queue was full.
   */
  uint64_t full;
  /**
   * Jobs delivered to a caller.
   */
  uint64_t taken;
  /**
   * Of these, the ones that the caller had to wait for.
   */
  uint64_t contended;
  /**
   * Takes that brought no job within their wait.
   */
  uint64_t wait_timeouts;
  /**
   * Takes whose caller gave up while it waited.
   */
  uint64_t cancelled;
  /**
   * Deliveries that were acknowledged.
   */
  uint64_t acked;
  /**
   * Deliveries that were put back, the ones that were let go included.
   */
  uint64_t nacked;
  /**
   * Of these, the ones whose job was delivered as often as it may be, and is dead.
   */
  uint64_t dead;
  /**
   * Jobs that were cancelled, purged, or removed from the dead ones.
   */
  uint64_t removed;
  /**
   * Leases prolonged by the watchdog, one for each delivery and time.
   */
  uint64_t renewals;
  /**
   * Renewals that got no answer or a passing error, and were tried again while the lease lasted.
   */
  uint64_t renewal_failures;
  /**
   * Deliveries that were lost, and come again.
   */
  uint64_t lost;
  /**
   * Callers that wait now.
   */
  uint64_t waiting;
  /**
   * Deliveries that are looked after now.
   */
  uint64_t held;
  /**
   * From the call of a take to its delivery, waited or not: as many as `taken`.
   */
  struct dlock_histogram_t wait_time;
  /**
   * From a delivery to the beginning of its end by its worker.
   */
  struct dlock_histogram_t hold_time;
} dlock_queue_stats_t;

/**
 * How to open a lock. Begin with DLOCK_LOCK_OPTIONS_INIT.
 */
typedef struct dlock_lock_options_t {
  /**
   * `sizeof(dlock_lock_options_t)`.
   */
  size_t struct_size;
  /**
   * 0: a lease that is renewed for as long as the lock is held, see `watchdog_lease_ms`. Otherwise a lease of 100 to
   * 86400000 ms that is not renewed.
   */
  int64_t lease_ms;
  /**
   * 1: the holder may acquire again. 0: that fails with DLOCK_DEADLOCK. -1: as the client's option says.
   */
  int32_t reentrant;
  /**
   * With `lease_ms` 0: the lease that is renewed, 100 to 86400000 ms, every third of it; 0 is the client's. With another
   * `lease_ms` it has to be 0.
   */
  int64_t watchdog_lease_ms;
} dlock_lock_options_t;

/**
 * How to acquire. Begin with DLOCK_ACQUIRE_OPTIONS_INIT.
 */
typedef struct dlock_acquire_options_t {
  /**
   * `sizeof(dlock_acquire_options_t)`.
   */
  size_t struct_size;
  /**
   * How long to wait: -1 for ever, 0 not at all.
   */
  int64_t wait_ms;
  /**
   * 0: that of the object that is acquired. Otherwise a lease of 100 to 86400000 ms that is not renewed.
   */
  int64_t lease_ms;
  /**
   * Ends the wait when fired; may be NULL.
   */
  const struct dlock_cancel_t *cancel;
} dlock_acquire_options_t;

/**
 * Who holds a lock, as the server sees it. Begin with DLOCK_INSPECTION_INIT.
 */
typedef struct dlock_inspection_t {
  /**
   * `sizeof(dlock_inspection_t)`.
   */
  size_t struct_size;
  /**
   * Whether anybody holds it.
   */
  bool held;
  /**
   * Whether this client does.
   */
  bool ours;
  /**
   * What is left of the lease in ms; -1 when there is none (not held, or a foreign key without a time to live).
   */
  int64_t ttl_ms;
  /**
   * The last token reserved under this name; 0 when the server remembers none. A process of which several callers wait
   * reserves a few at once, so the holder's may be lower.
   */
  uint64_t token;
  /**
   * Its owner, NUL-terminated; empty when nobody holds it.
   */
  char holder[DLOCK_OWNER_SIZE];
  /**
   * How many processes stand in the queue.
   */
  uint64_t queued;
} dlock_inspection_t;

/**
 * A hold on its way to another thread or process. Begin with DLOCK_DETACHED_INIT.
 */
typedef struct dlock_detached_t {
  /**
   * `sizeof(dlock_detached_t)`.
   */
  size_t struct_size;
  /**
   * Bytes of `text`.
   */
  size_t text_len;
  /**
   * What dlock_lock_attach() takes, NUL-terminated.
   */
  char text[DLOCK_DETACHED_SIZE];
} dlock_detached_t;

/**
 * An id of a permit, as Redisson has them: 32 hexadecimal digits and a NUL.
 */
typedef struct dlock_permit_id_t {
  /**
   * NUL-terminated.
   */
  char text[33];
} dlock_permit_id_t;

/**
 * Why a hold was lost.
 */
typedef int32_t dlock_loss_t;

/**
 * What a rate limiter answers while the server cannot be reached.
 */
typedef int32_t dlock_absent_t;

/**
 * How a rate counts.
 */
typedef int32_t dlock_algorithm_t;

/**
 * A rate of a limiter that has several. All zero but for the first two is a rate with a burst of its tokens, by
 * DLOCK_ALGORITHM_GCRA.
 */
typedef struct dlock_rate_t {
  /**
   * The tokens of one period, 0 to 10^12; 0 refuses everything.
   */
  int64_t tokens;
  /**
   * The period in microseconds, 1 to 100 years.
   */
  int64_t per_us;
  /**
   * The most tokens that can be had at once, under DLOCK_ALGORITHM_GCRA; 0 is the tokens of one period.
   */
  int64_t burst;
  /**
   * How it counts.
   */
  dlock_algorithm_t algorithm;
} dlock_rate_t;

/**
 * How to make a rate limiter. Begin with DLOCK_RATE_LIMITER_OPTIONS_INIT.
 */
typedef struct dlock_rate_limiter_options_t {
  /**
   * `sizeof(dlock_rate_limiter_options_t)`.
   */
  size_t struct_size;
  /**
   * Whether `burst` is given; otherwise it is the tokens of one period.
   */
  bool has_burst;
  /**
   * The most tokens that can be had at once, the whole bucket.
   */
  int64_t burst;
  /**
   * What it answers while the server cannot be reached.
   */
  dlock_absent_t absent;
  /**
   * With DLOCK_ABSENT_LOCAL_SHARE: among how many clients the rate is shared then, 1 to 1000000.
   */
  int64_t share_of;
  /**
   * How the rate counts.
   */
  dlock_algorithm_t algorithm;
  /**
   * Further rates, each of which has to grant a request too for any of them to be charged; of two rates, the one with the longer
   * period has more tokens. May be NULL.
   */
  const struct dlock_rate_t *more_rates;
  /**
   * How many further rates: 0 to 7.
   */
  size_t more_rates_count;
  /**
   * The largest part of the burst that this client may fetch ahead, more than 0 and at most 1; 0 fetches nothing ahead. A
   * client that has tokens decides in less than a microsecond, and asks the server some 25 times a second, up to 45 when
   * there is less than is wanted. The rate is kept as without it. The price: a client that has fetched its share goes on
   * for 80 ms or so while another is refused, and what a process has that dies, never more than the rate brings in 0.9 s,
   * is lost. A key of the limiter fetches nothing ahead.
   */
  double prefetch;
} dlock_rate_limiter_options_t;

/**
 * What a rate limiter answers. Begin with DLOCK_DECISION_INIT.
 */
typedef struct dlock_decision_t {
  /**
   * `sizeof(dlock_decision_t)`.
   */
  size_t struct_size;
  /**
   * Whether the tokens were granted; of a `peek`, whether one could be had.
   */
  bool allowed;
  /**
   * How many were: the cost, or 0.
   */
  int64_t granted;
  /**
   * How many could be had at once now; zero while a block refuses all.
   */
  int64_t remaining;
  /**
   * How long until the same cost can be granted, at the soonest: zero when it was granted, -1 for never.
   */
  int64_t retry_after_us;
  /**
   * How long until the bucket is full again, and a block over.
   */
  int64_t reset_after_us;
  /**
   * The most that can be had at once: the burst, or this client's share of it when a policy granted that.
   */
  int64_t limit;
  /**
   * Which of the limiter's rates is the last to have the tokens of a request that was refused, counted from 0; -1
   * when it was granted, and when a block or a policy refused it.
   */
  int64_t refused_by;
  /**
   * How long until the tokens that were granted may be used: zero except after `reserve`.
   */
  int64_t usable_after_us;
  /**
   * When it was decided, or from when on the tokens that were waited for may be used, on the server's clock, in
   * microseconds since 1970; -1 when a policy decided without the server.
   */
  int64_t server_time_us;
} dlock_decision_t;

/**
 * An item of a batch: a key, and how many tokens are asked for.
 */
typedef struct dlock_keyed_cost_t {
  /**
   * Not NUL-terminated, or a NUL that does not count.
   */
  const char *key;
  /**
   * Bytes of the key.
   */
  size_t key_len;
  /**
   * How many tokens.
   */
  int64_t cost;
} dlock_keyed_cost_t;

/**
 * How to open a semaphore. Begin with DLOCK_SEMAPHORE_OPTIONS_INIT.
 */
typedef struct dlock_semaphore_options_t {
  /**
   * `sizeof(dlock_semaphore_options_t)`.
   */
  size_t struct_size;
  /**
   * 0: a lease that is renewed for as long as permits are held, see `watchdog_lease_ms`. Otherwise a lease of 100 to
   * 86400000 ms that is not renewed.
   */
  int64_t lease_ms;
  /**
   * With `lease_ms` 0: the lease that is renewed, 100 to 86400000 ms, every third of it; 0 is the client's. With another
   * `lease_ms` it has to be 0.
   */
  int64_t watchdog_lease_ms;
} dlock_semaphore_options_t;

/**
 * How many permits a semaphore has, as the server sees it. Begin with DLOCK_SEMAPHORE_INSPECTION_INIT.
 */
typedef struct dlock_semaphore_inspection_t {
  /**
   * `sizeof(dlock_semaphore_inspection_t)`.
   */
  size_t struct_size;
  /**
   * Whether the semaphore is there; the first acquire makes it.
   */
  bool exists;
  /**
   * How many permits there are in all; 0 when it is not there.
   */
  uint64_t permits;
  /**
   * How many can be acquired now, those whose lease has run out among them; negative after the number was lowered below
   * what is taken.
   */
  int64_t available;
  /**
   * How many processes stand in the queue.
   */
  uint64_t queued;
} dlock_semaphore_inspection_t;

/**
 * A side of a read-write lock.
 */
typedef int32_t dlock_side_t;

/**
 * How to open a side of a read-write lock. Begin with DLOCK_RW_LOCK_OPTIONS_INIT.
 */
typedef struct dlock_rw_lock_options_t {
  /**
   * `sizeof(dlock_rw_lock_options_t)`.
   */
  size_t struct_size;
  /**
   * 0: a lease that is renewed for as long as the side is held, see `watchdog_lease_ms`. Otherwise a lease of 100 to
   * 86400000 ms that is not renewed.
   */
  int64_t lease_ms;
  /**
   * 1: the holder of a side may acquire it again. 0: that fails with DLOCK_DEADLOCK. -1: as the client's option says.
   */
  int32_t reentrant;
  /**
   * With `lease_ms` 0: the lease that is renewed, 100 to 86400000 ms, every third of it; 0 is the client's. With another
   * `lease_ms` it has to be 0.
   */
  int64_t watchdog_lease_ms;
  /**
   * How long after the server's grant a reader of this process joins it without a round trip: 0 to 10000 ms, -1 is 10 ms.
   * Readers that come later ask the server, where a writer that waits is in front of them.
   */
  int64_t shared_age_ms;
} dlock_rw_lock_options_t;

/**
 * Who holds a read-write lock, as the server sees it. Begin with DLOCK_RW_LOCK_INSPECTION_INIT.
 */
typedef struct dlock_rw_lock_inspection_t {
  /**
   * `sizeof(dlock_rw_lock_inspection_t)`.
   */
  size_t struct_size;
  /**
   * Whether anybody holds the write side.
   */
  bool writing;
  /**
   * Whether this client does.
   */
  bool ours;
  /**
   * How many holds of the read side there are; readers of one process that share one count as one.
   */
  uint64_t readers;
  /**
   * What is left of the longest lease in ms; -1 when there is none (not held, or a foreign key without a time to live).
   */
  int64_t ttl_ms;
  /**
   * The last token reserved under this name; 0 when the server remembers none. The holder's may be lower.
   */
  uint64_t token;
  /**
   * The owner of the write side, NUL-terminated; empty when nobody holds it.
   */
  char writer[DLOCK_OWNER_SIZE];
  /**
   * How many processes stand in the queue.
   */
  uint64_t queued;
} dlock_rw_lock_inspection_t;

/**
 * How many permits a counting semaphore has, as the server sees it. Begin with DLOCK_COUNTING_SEMAPHORE_INSPECTION_INIT.
 */
typedef struct dlock_counting_semaphore_inspection_t {
  /**
   * `sizeof(dlock_counting_semaphore_inspection_t)`.
   */
  size_t struct_size;
  /**
   * Whether the semaphore is there; the first release makes one that is not.
   */
  bool exists;
  /**
   * How many permits are available: negative after more were taken away than there were, 0 when the semaphore is not there.
   */
  int64_t available;
  /**
   * How many processes stand in the queue.
   */
  uint64_t queued;
} dlock_counting_semaphore_inspection_t;

/**
 * How to open a queue. Begin with DLOCK_QUEUE_OPTIONS_INIT. These are options of the handle and not of the queue on the server.
 */
typedef struct dlock_queue_options_t {
  /**
   * `sizeof(dlock_queue_options_t)`.
   */
  size_t struct_size;
  /**
   * 0: a delivery has a lease that is renewed until it ends, see `watchdog_lease_ms`. Otherwise a lease of 100 to 86400000 ms
   * that is not renewed: the job of a worker that takes longer comes again.
   */
  int64_t lease_ms;
  /**
   * With `lease_ms` 0: the lease that is renewed, 100 to 86400000 ms, every third of it; 0 is the client's. With another
   * `lease_ms` it has to be 0.
   */
  int64_t watchdog_lease_ms;
  /**
   * How often a job that is put through this handle is delivered, 1 to 1000000; then it is dead.
   */
  int64_t max_attempts;
  /**
   * The largest payload, 0 to 2097152 bytes.
   */
  int64_t max_payload;
  /**
   * How many jobs the queue may hold when one is put, dead ones among them; 0 is any number.
   */
  int64_t max_length;
} dlock_queue_options_t;

/**
 * A job to put. Begin with DLOCK_JOB_INIT.
 */
typedef struct dlock_job_t {
  /**
   * `sizeof(dlock_job_t)`.
   */
  size_t struct_size;
  /**
   * What is put: bytes, which are copied. May be NULL when there are none.
   */
  const void *payload;
  /**
   * How many.
   */
  size_t payload_len;
  /**
   * The id, 1 to 512 bytes of UTF-8 without a NUL; NULL for a new one.
   */
  const char *id;
  /**
   * Bytes of `id`.
   */
  size_t id_len;
  /**
   * After how long it is due, 0 to 100 years; 0 is at once.
   */
  int64_t delay_ms;
  /**
   * When it is due, in milliseconds since 1970 by the server's clock; -1 is after `delay_ms`, which otherwise has to be 0.
   */
  int64_t at_ms;
  /**
   * Jobs that are due come by priority, -32768 to 32767, the higher first.
   */
  int64_t priority;
} dlock_job_t;

/**
 * What a put has done. Begin with DLOCK_PUT_INIT.
 */
typedef struct dlock_put_t {
  /**
   * `sizeof(dlock_put_t)`.
   */
  size_t struct_size;
  /**
   * False when a job with this id was there: nothing was put.
   */
  bool is_new;
  /**
   * Bytes of `id`.
   */
  size_t id_len;
  /**
   * The id of the job, NUL-terminated.
   */
  char id[DLOCK_JOB_ID_SIZE];
} dlock_put_t;

/**
 * A job that was delivered. Begin with DLOCK_DELIVERY_INIT.
 */
typedef struct dlock_delivery_t {
  /**
   * `sizeof(dlock_delivery_t)`.
   */
  size_t struct_size;
  /**
   * What was put: valid until the hold's handle is freed, also after the end of the delivery. Not to be written to.
   */
  const void *payload;
  /**
   * Bytes of `payload`.
   */
  size_t payload_len;
  /**
   * Bytes of `id`.
   */
  size_t id_len;
  /**
   * The id of the job, NUL-terminated.
   */
  char id[DLOCK_JOB_ID_SIZE];
  /**
   * Which delivery of the job this is, from 1 on.
   */
  int64_t attempt;
  /**
   * When the job was due, in milliseconds since 1970 by the server's clock.
   */
  int64_t due_ms;
  /**
   * The priority with which it was put.
   */
  int64_t priority;
} dlock_delivery_t;

/**
 * How many jobs a queue has. Begin with DLOCK_QUEUE_COUNTS_INIT.
 */
typedef struct dlock_queue_counts_t {
  /**
   * `sizeof(dlock_queue_counts_t)`.
   */
  size_t struct_size;
  /**
   * Jobs that are due.
   */
  uint64_t ready;
  /**
   * Jobs that are not due yet.
   */
  uint64_t delayed;
  /**
   * Jobs that were delivered and not ended.
   */
  uint64_t in_flight;
  /**
   * Jobs that were delivered as often as they may be.
   */
  uint64_t dead;
  /**
   * Processes that wait for jobs.
   */
  uint64_t waiters;
} dlock_queue_counts_t;

/**
 * A job of a list. Begin with DLOCK_LISTED_JOB_INIT.
 */
typedef struct dlock_listed_job_t {
  /**
   * `sizeof(dlock_listed_job_t)`.
   */
  size_t struct_size;
  /**
   * What was put: valid until the list is freed. Not to be written to.
   */
  const void *payload;
  /**
   * Bytes of `payload`.
   */
  size_t payload_len;
  /**
   * Bytes of `id`.
   */
  size_t id_len;
  /**
   * The id of the job, NUL-terminated.
   */
  char id[DLOCK_JOB_ID_SIZE];
  /**
   * How often it was delivered.
   */
  uint64_t attempts;
  /**
   * When it is due, or was, in milliseconds since 1970 by the server's clock.
   */
  int64_t due_ms;
  /**
   * Whether it is dead.
   */
  bool dead;
  /**
   * Since when, in milliseconds since 1970; 0 for a job that waits.
   */
  int64_t dead_since_ms;
  /**
   * Bytes of `reason`.
   */
  size_t reason_len;
  /**
   * Why, NUL-terminated.
   */
  char reason[DLOCK_JOB_REASON_SIZE];
} dlock_listed_job_t;

/**
 * Which bits of an id hold what: zeros, time, datacenter, worker, sequence, from the high end. Begin with
 * DLOCK_LAYOUT_INIT, or get one by dlock_layout_named(). It is checked where it is used.
 */
typedef struct dlock_layout_t {
  /**
   * `sizeof(dlock_layout_t)`.
   */
  size_t struct_size;
  /**
   * When time begins, in ms since 1970: 0 to 253402300799999.
   */
  int64_t epoch_ms;
  /**
   * Bits of the milliseconds since then: 1 to 48. All bits together are at most 63.
   */
  uint32_t time_bits;
  /**
   * Bits of the datacenter's number: 0 to 31.
   */
  uint32_t datacenter_bits;
  /**
   * Bits of the worker's number: 0 to 31.
   */
  uint32_t worker_bits;
  /**
   * Bits of the count within a millisecond: 0 to 31.
   */
  uint32_t sequence_bits;
} dlock_layout_t;

/**
 * What an id says. Begin with DLOCK_ID_PARTS_INIT.
 */
typedef struct dlock_id_parts_t {
  /**
   * `sizeof(dlock_id_parts_t)`.
   */
  size_t struct_size;
  /**
   * When it was made, in ms since 1970.
   */
  int64_t time_ms;
  /**
   * The datacenter's number.
   */
  uint32_t datacenter;
  /**
   * The worker's number.
   */
  uint32_t worker;
  /**
   * Sequence number within the millisecond, from 0.
   */
  uint32_t sequence;
} dlock_id_parts_t;

/**
 * How to make a generator. Begin with DLOCK_SNOWFLAKE_OPTIONS_INIT.
 */
typedef struct dlock_snowflake_options_t {
  /**
   * `sizeof(dlock_snowflake_options_t)`.
   */
  size_t struct_size;
  /**
   * NULL: the layout "default".
   */
  const struct dlock_layout_t *layout;
  /**
   * How far ids may run ahead of the clock instead of waiting for the next millisecond: 0 to 10.
   */
  int64_t borrow_ahead_ms;
  /**
   * How long the start may wait for a clock that was set back since the last id of this datacenter and worker: 0 to
   * 60000; -1 is 1000.
   */
  int64_t start_wait_ms;
} dlock_snowflake_options_t;

/**
 * How to lease a worker number. Begin with DLOCK_WORKER_OPTIONS_INIT.
 */
typedef struct dlock_worker_options_t {
  /**
   * `sizeof(dlock_worker_options_t)`.
   */
  size_t struct_size;
  /**
   * How many bits the numbers of the pool have, 1 to 22, the same for all who use it; at most as many as the datacenter and
   * the worker of the layout have together.
   */
  int64_t bits;
  /**
   * For how long the number stays taken when this process dies: 100 to 86400000 ms, renewed every third of it; 0 is the
   * client's.
   */
  int64_t lease_ms;
  /**
   * Ends the call when fired; may be NULL.
   */
  const struct dlock_cancel_t *cancel;
} dlock_worker_options_t;

/**
 * What a completion brings, and so which of its fields are filled in.
 */
typedef int32_t dlock_completion_kind_t;

/**
 * How much a log event matters.
 */
typedef int32_t dlock_log_level_t;

/**
 * One thing that a port has for its host. Fields that `kind` does not name are zero.
 */
typedef struct dlock_completion_t {
  /**
   * What it brings.
   */
  dlock_completion_kind_t kind;
  /**
   * DLOCK_OK, DLOCK_LIMITED for a limiter's refusal, or why the operation failed.
   */
  dlock_status_t status;
  /**
   * The operation; NULL for a log event. It is over: there is nothing to free.
   */
  struct dlock_op_t *op;
  /**
   * What was given with the operation.
   */
  void *user_data;
  /**
   * See DLOCK_COMPLETION_HELD.
   */
  struct dlock_held_t *held;
  /**
   * See DLOCK_COMPLETION_HELD.
   */
  uint64_t token;
  /**
   * See DLOCK_COMPLETION_CLIENT.
   */
  struct dlock_client_t *client;
  /**
   * See DLOCK_COMPLETION_LOSS.
   */
  dlock_loss_t loss;
  /**
   * See DLOCK_COMPLETION_LOG.
   */
  dlock_log_level_t log_level;
  /**
   * See DLOCK_COMPLETION_FLAG and DLOCK_COMPLETION_PUT.
   */
  bool flag;
  /**
   * Bytes of `text`.
   */
  size_t text_len;
  /**
   * See DLOCK_COMPLETION_TEXT, DLOCK_COMPLETION_PUT and DLOCK_COMPLETION_LOG; NUL-terminated.
   */
  char text[DLOCK_DETACHED_SIZE];
  /**
   * See DLOCK_COMPLETION_INSPECTION.
   */
  struct dlock_inspection_t inspection;
  /**
   * See DLOCK_COMPLETION_ERROR and DLOCK_COMPLETION_DECISION.
   */
  struct dlock_error_t error;
  /**
   * See DLOCK_COMPLETION_DECISION.
   */
  struct dlock_decision_t decision;
  /**
   * See DLOCK_COMPLETION_SEMAPHORE_INSPECTION.
   */
  struct dlock_semaphore_inspection_t semaphore_inspection;
  /**
   * See DLOCK_COMPLETION_RW_LOCK_INSPECTION.
   */
  struct dlock_rw_lock_inspection_t rw_lock_inspection;
  /**
   * See DLOCK_COMPLETION_NUMBER.
   */
  int64_t number;
  /**
   * See DLOCK_COMPLETION_COUNTING_SEMAPHORE_INSPECTION.
   */
  struct dlock_counting_semaphore_inspection_t counting_semaphore_inspection;
  /**
   * See DLOCK_COMPLETION_QUEUE_COUNTS.
   */
  struct dlock_queue_counts_t queue_counts;
  /**
   * See DLOCK_COMPLETION_JOBS.
   */
  struct dlock_jobs_t *jobs;
} dlock_completion_t;

/**
 * Done.
 */
#define DLOCK_OK 0

/**
 * Not acquired within the wait; for a wait for a loss, not lost within it.
 */
#define DLOCK_BUSY 1

/**
 * A rate limiter refused for now.
 */
#define DLOCK_LIMITED 2

/**
 * A value was refused before any I/O; the message says which, and what is allowed.
 */
#define DLOCK_INVALID_ARGUMENT -1

/**
 * A name was refused before any I/O: empty, longer than 512 bytes, not UTF-8, with a NUL, with braces that are
 * no cluster's hash tag, or the name of a companion key such as `dlock_seen:{a}`.
 */
#define DLOCK_INVALID_NAME -2

/**
 * Release or extend by a caller that does not hold it, or not any more.
 */
#define DLOCK_NOT_HELD -3

/**
 * What was held was lost: its lease ran out, or it was taken away.
 */
#define DLOCK_LOST -4

/**
 * The holder would wait for itself: it acquires again what is not re-entrant, or it reads and wants to write.
 */
#define DLOCK_DEADLOCK -5

/**
 * The server cannot be reached or did not answer in time, or refuses the connection or the password; what was
 * asked for was not done there, or is undone.
 */
#define DLOCK_CONNECTION -6

/**
 * The request was sent and no reply came: it may or may not have been carried out.
 */
#define DLOCK_OUTCOME_UNKNOWN -7

/**
 * The server answered with an error that has no kind of its own.
 */
#define DLOCK_SERVER -8

/**
 * The key holds something else; it was left untouched.
 */
#define DLOCK_WRONG_TYPE -9

/**
 * The server is at its memory limit and refused to write.
 */
#define DLOCK_OUT_OF_MEMORY -10

/**
 * The server's access list forbids the command, key or channel; the message names the missing rule.
 */
#define DLOCK_NO_PERMISSION -11

/**
 * The caller cancelled the operation.
 */
#define DLOCK_CANCELLED -12

/**
 * The object was closed or freed.
 */
#define DLOCK_CLOSED -13

/**
 * An object from before a fork was used in the child; connect again there.
 */
#define DLOCK_FORKED -14

/**
 * A clock is behind or jumps by more than the call waits for, or is past the end of a layout's time.
 */
#define DLOCK_CLOCK -15

/**
 * A defect in libdlock; panics end here too.
 */
#define DLOCK_INTERNAL -16

/**
 * This server, or this version of libdlock, cannot do it; the message says what can.
 */
#define DLOCK_UNSUPPORTED -17

/**
 * The queue holds as many jobs as it may; nothing was put.
 */
#define DLOCK_FULL -18

/**
 * Not lost.
 */
#define DLOCK_LOSS_NONE 0

/**
 * The lease ran out: it was given and is over, or the server could not be reached to renew it.
 */
#define DLOCK_LOSS_EXPIRED 1

/**
 * Another holder has it now.
 */
#define DLOCK_LOSS_TAKEN 2

/**
 * The key is gone: deleted, flushed or force-released.
 */
#define DLOCK_LOSS_DELETED 3

/**
 * The key is gone, and so is the server that had it: a restart or a failover.
 */
#define DLOCK_LOSS_SERVER_CHANGED 4

/**
 * The client was closed, or the holder went away without a release; what it held was released, or its lease runs
 * out.
 */
#define DLOCK_LOSS_CLOSED 5

/**
 * A defect in libdlock ended the renewals.
 */
#define DLOCK_LOSS_INTERNAL 6

/**
 * A bucket that fills evenly: never more than the burst and what the rate brings in any interval.
 */
#define DLOCK_ALGORITHM_GCRA 0

/**
 * At most the tokens in each window, which begins with the first request after the last one is over.
 */
#define DLOCK_ALGORITHM_FIXED_WINDOW 1

/**
 * As DLOCK_ALGORITHM_FIXED_WINDOW, with windows at full minutes, hours, days of the server's clock, in UTC.
 */
#define DLOCK_ALGORITHM_ALIGNED_WINDOW 2

/**
 * At most the tokens in any interval of a period, exactly; 100000 tokens at most.
 */
#define DLOCK_ALGORITHM_SLIDING_LOG 3

/**
 * As DLOCK_ALGORITHM_SLIDING_LOG in about, in four numbers.
 */
#define DLOCK_ALGORITHM_SLIDING_COUNTER 4

/**
 * That of Redisson's `RRateLimiter`, on its keys, for all clients together. The rate on the server counts.
 */
#define DLOCK_ALGORITHM_REDISSON 5

/**
 * As DLOCK_ALGORITHM_REDISSON, for each client by itself.
 */
#define DLOCK_ALGORITHM_REDISSON_PER_CLIENT 6

/**
 * Returns the error: DLOCK_CONNECTION, DLOCK_OUTCOME_UNKNOWN.
 */
#define DLOCK_ABSENT_FAIL 0

/**
 * No to everything.
 */
#define DLOCK_ABSENT_DENY 1

/**
 * Yes to everything.
 */
#define DLOCK_ABSENT_ALLOW 2

/**
 * What this client's share of the rate allows; see `share_of`.
 */
#define DLOCK_ABSENT_LOCAL_SHARE 3

/**
 * Any number may hold it at a time, while nobody else writes.
 */
#define DLOCK_SIDE_READ 0

/**
 * One may hold it at a time, while nobody else reads.
 */
#define DLOCK_SIDE_WRITE 1

/**
 * The operation failed: `status` and `error`.
 */
#define DLOCK_COMPLETION_ERROR 0

/**
 * The operation is done and has no answer.
 */
#define DLOCK_COMPLETION_DONE 1

/**
 * A client was opened: `client`. Free it.
 */
#define DLOCK_COMPLETION_CLIENT 2

/**
 * Something was acquired or attached: `held`, and `token`, 0 for permits. Release it through `held`, then free
 * that.
 */
#define DLOCK_COMPLETION_HELD 3

/**
 * Yes or no: `flag`. Of a forced release whether anybody held it; of a latch and of a counting semaphore as the
 * function says.
 */
#define DLOCK_COMPLETION_FLAG 4

/**
 * A hold was detached: `text`.
 */
#define DLOCK_COMPLETION_TEXT 5

/**
 * An inspection: `inspection`.
 */
#define DLOCK_COMPLETION_INSPECTION 6

/**
 * A hold is over: `loss` says why it was lost, DLOCK_LOSS_NONE that it was released.
 */
#define DLOCK_COMPLETION_LOSS 7

/**
 * A client's log event, of no operation: `log_level`, the message in `text`, the object, if any, in
 * `error.name`.
 */
#define DLOCK_COMPLETION_LOG 8

/**
 * A rate limiter's answer: `decision`, and when it refused, `status` DLOCK_LIMITED and `error`.
 */
#define DLOCK_COMPLETION_DECISION 9

/**
 * An inspection of a semaphore: `semaphore_inspection`.
 */
#define DLOCK_COMPLETION_SEMAPHORE_INSPECTION 10

/**
 * An inspection of a read-write lock: `rw_lock_inspection`.
 */
#define DLOCK_COMPLETION_RW_LOCK_INSPECTION 11

/**
 * A number: `number`. The count of a latch, or how many permits were drained.
 */
#define DLOCK_COMPLETION_NUMBER 12

/**
 * An inspection of a counting semaphore: `counting_semaphore_inspection`.
 */
#define DLOCK_COMPLETION_COUNTING_SEMAPHORE_INSPECTION 13

/**
 * A job was put into a queue, or was there: its id in `text`, and in `flag` whether it is new.
 */
#define DLOCK_COMPLETION_PUT 14

/**
 * How many jobs a queue has: `queue_counts`.
 */
#define DLOCK_COMPLETION_QUEUE_COUNTS 15

/**
 * A list of jobs of a queue: `jobs`. Free it.
 */
#define DLOCK_COMPLETION_JOBS 16

/**
 * For those who look for a fault in libdlock itself.
 */
#define DLOCK_LOG_DEBUG 0

/**
 * Worth a line in a log.
 */
#define DLOCK_LOG_INFO 1

/**
 * Something an operator should look at.
 */
#define DLOCK_LOG_WARN 2

/**
 * A defect, or a promise that could not be kept.
 */
#define DLOCK_LOG_ERROR 3

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The name of a status, such as "BUSY"; "UNKNOWN" for a number that is none. Static, NUL-terminated.
 */
const char *dlock_status_name(dlock_status_t status);

/**
 * The version of the binary interface of the library that is loaded; equals DLOCK_ABI_VERSION when the two fit.
 */
uint32_t dlock_abi_version(void);

/**
 * The version of the library, such as "0.1.0". Static, NUL-terminated.
 */
const char *dlock_version(void);

/**
 * Connects to `url` (`redis://[user:password@]host:port/db`, `rediss://` with TLS, `unix:///path`, `memory://`) and makes
 * a client.
 * `options` may be NULL. DLOCK_CONNECTION when the server cannot be reached within connect_timeout, or within connect_wait if
 * that option is longer. After dlock_shutdown() it starts the library again.
 */
dlock_status_t dlock_client_open(const char *url,
                                 size_t url_len,
                                 const struct dlock_client_options_t *options,
                                 struct dlock_client_t **out_client,
                                 struct dlock_error_t *error);

/**
 * Closes the client: its waiters return with DLOCK_CLOSED, renewal stops, its locks cannot be used any more. With
 * `release`, what it holds is released first; without, leases run out. Closing twice is no error.
 */
dlock_status_t dlock_client_close(const struct dlock_client_t *client, bool release, struct dlock_error_t *error);

/**
 * Whether the client was closed, or is being closed.
 */
dlock_status_t dlock_client_is_closed(const struct dlock_client_t *client,
                                      bool *out_closed,
                                      struct dlock_error_t *error);

/**
 * Gives the handle up. The client itself ends with the last of its locks and holds; to end it now, close it first.
 */
dlock_status_t dlock_client_free(struct dlock_client_t *client);

/**
 * What the client has counted since it was opened, but for what its kinds of objects count. No I/O; also of a client
 * that was closed. Begin the answer with DLOCK_STATS_INIT.
 */
dlock_status_t dlock_client_stats(const struct dlock_client_t *client,
                                  struct dlock_stats_t *out_stats,
                                  struct dlock_error_t *error);

/**
 * What the locks of the client have counted since it was opened. No I/O; also of a client that was closed. Begin the
 * answer with DLOCK_LOCK_STATS_INIT.
 */
dlock_status_t dlock_client_lock_stats(const struct dlock_client_t *client,
                                       struct dlock_lock_stats_t *out_stats,
                                       struct dlock_error_t *error);

/**
 * What the rate limiters of the client have counted since it was opened. No I/O; also of a client that was closed. Begin
 * the answer with DLOCK_LIMITER_STATS_INIT.
 */
dlock_status_t dlock_client_limiter_stats(const struct dlock_client_t *client,
                                          struct dlock_limiter_stats_t *out_stats,
                                          struct dlock_error_t *error);

/**
 * What the semaphores of the client have counted since it was opened. No I/O; also of a client that was closed. Begin
 * the answer with DLOCK_SEMAPHORE_STATS_INIT.
 */
dlock_status_t dlock_client_semaphore_stats(const struct dlock_client_t *client,
                                            struct dlock_semaphore_stats_t *out_stats,
                                            struct dlock_error_t *error);

/**
 * What the read-write locks of the client have counted since it was opened. No I/O; also of a client that was closed. Begin
 * the answer with DLOCK_RW_LOCK_STATS_INIT.
 */
dlock_status_t dlock_client_rw_lock_stats(const struct dlock_client_t *client,
                                          struct dlock_rw_lock_stats_t *out_stats,
                                          struct dlock_error_t *error);

/**
 * What the counting semaphores of the client have counted since it was opened. No I/O; also of a client that was closed. Begin the
 * answer with DLOCK_COUNTING_SEMAPHORE_STATS_INIT.
 */
dlock_status_t dlock_client_counting_semaphore_stats(const struct dlock_client_t *client,
                                                     struct dlock_counting_semaphore_stats_t *out_stats,
                                                     struct dlock_error_t *error);

/**
 * What the latches of the client have counted since it was opened. No I/O; also of a client that was closed. Begin the
 * answer with DLOCK_LATCH_STATS_INIT.
 */
dlock_status_t dlock_client_latch_stats(const struct dlock_client_t *client,
                                        struct dlock_latch_stats_t *out_stats,
                                        struct dlock_error_t *error);

/**
 * What the worker numbers of the client have counted since it was opened. No I/O; also of a client that was closed. Begin the
 * answer with DLOCK_WORKER_STATS_INIT.
 */
dlock_status_t dlock_client_worker_stats(const struct dlock_client_t *client,
                                         struct dlock_worker_stats_t *out_stats,
                                         struct dlock_error_t *error);

/**
 * What the queues of the client have counted since it was opened. No I/O; also of a client that was closed. Begin the
 * answer with DLOCK_QUEUE_STATS_INIT.
 */
dlock_status_t dlock_client_queue_stats(const struct dlock_client_t *client,
                                        struct dlock_queue_stats_t *out_stats,
                                        struct dlock_error_t *error);

/**
 * Makes a lock with a name of 1 to 512 bytes of UTF-8. No I/O. `options` may be NULL. DLOCK_INVALID_NAME for a name that
 * is refused.
 */
dlock_status_t dlock_lock_open(const struct dlock_client_t *client,
                               const char *name,
                               size_t name_len,
                               const struct dlock_lock_options_t *options,
                               struct dlock_lock_t **out_lock,
                               struct dlock_error_t *error);

/**
 * Gives the handle up. Holds of the lock stay; other handles of the same name do too.
 */
dlock_status_t dlock_lock_free(struct dlock_lock_t *lock);

/**
 * Writes the lock's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE
 * is always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
 */
dlock_status_t dlock_lock_name(const struct dlock_lock_t *lock,
                               char *buffer,
                               size_t buffer_size,
                               size_t *out_len,
                               struct dlock_error_t *error);

/**
 * Acquires the lock for the calling thread, which may hold it already (see `reentrant`). `options` may be NULL: waits for
 * ever. DLOCK_BUSY if it was not acquired within the wait. `out_held` may be NULL when neither token nor loss matter;
 * otherwise free what it gets with dlock_held_free(), before or after the release. The hold ends with
 * dlock_lock_release() by the same thread.
 */
dlock_status_t dlock_lock_acquire(const struct dlock_lock_t *lock,
                                  const struct dlock_acquire_options_t *options,
                                  struct dlock_held_t **out_held,
                                  struct dlock_error_t *error);

/**
 * Acquires the lock if it is free, without waiting; DLOCK_BUSY if not. May jump the queue, at most twice per queue head:
 * after that it is DLOCK_BUSY also when the lock is free. On a server that is gone it tries for operation_timeout, 10 s by
 * default. Otherwise as dlock_lock_acquire().
 */
dlock_status_t dlock_lock_try_acquire(const struct dlock_lock_t *lock,
                                      struct dlock_held_t **out_held,
                                      struct dlock_error_t *error);

/**
 * Acquires the lock for the hold itself and for no thread: any thread may release it, with dlock_held_release(), and a second
 * acquire, by this thread too, waits for the first. Otherwise as dlock_lock_acquire(). `out_held` gets the hold: free it with
 * dlock_held_free() after the release, for without one the lease has to run out.
 */
dlock_status_t dlock_lock_take(const struct dlock_lock_t *lock,
                               const struct dlock_acquire_options_t *options,
                               struct dlock_held_t **out_held,
                               struct dlock_error_t *error);

/**
 * Undoes one acquire of the calling thread; the last one frees the lock. DLOCK_NOT_HELD when the thread does not hold it
 * (any more: a lease that ran out is told here too).
 */
dlock_status_t dlock_lock_release(const struct dlock_lock_t *lock,
                                  struct dlock_error_t *error);

/**
 * Makes the calling thread's hold last `lease_ms` (100 to 86400000) from now, or as long as it did if that is longer. Asks
 * the server in any case. DLOCK_NOT_HELD when the thread does not hold the lock or has lost it.
 */
dlock_status_t dlock_lock_extend(const struct dlock_lock_t *lock,
                                 int64_t lease_ms,
                                 struct dlock_error_t *error);

/**
 * Frees the lock whoever holds it. A hold of this client is lost when this returns; another client is sent a message and
 * looks at once; until then only its fencing token protects the resource. `out_was_held` may be NULL.
 */
dlock_status_t dlock_lock_force_release(const struct dlock_lock_t *lock,
                                        bool *out_was_held,
                                        struct dlock_error_t *error);

/**
 * Asks the server who holds the lock. Begin the answer with DLOCK_INSPECTION_INIT.
 */
dlock_status_t dlock_lock_inspect(const struct dlock_lock_t *lock,
                                  struct dlock_inspection_t *out_inspection,
                                  struct dlock_error_t *error);

/**
 * How many times the calling thread holds the lock; 0 when it does not, or has lost it. No I/O. An answer of 0 tells the
 * thread of a loss: its next acquire begins anew, as after any error that told it.
 */
dlock_status_t dlock_lock_hold_count(const struct dlock_lock_t *lock,
                                     uint32_t *out_count,
                                     struct dlock_error_t *error);

/**
 * A handle of the hold that the calling thread has, lost or not, to ask for its token or loss. DLOCK_NOT_HELD when it has
 * none. No I/O.
 */
dlock_status_t dlock_lock_held(const struct dlock_lock_t *lock,
                               struct dlock_held_t **out_held,
                               struct dlock_error_t *error);

/**
 * Ends the calling thread's hold without releasing the lock, and writes a text with which a thread of this or another
 * process takes it over (dlock_lock_attach()) while the lease lasts. Begin the answer with DLOCK_DETACHED_INIT.
 */
dlock_status_t dlock_lock_detach(const struct dlock_lock_t *lock,
                                 struct dlock_detached_t *out_detached,
                                 struct dlock_error_t *error);

/**
 * Takes a detached hold over for the calling thread, as if it had acquired the lock. DLOCK_NOT_HELD when that hold is
 * over. `out_held` may be NULL.
 */
dlock_status_t dlock_lock_attach(const struct dlock_lock_t *lock,
                                 const char *detached,
                                 size_t detached_len,
                                 struct dlock_held_t **out_held,
                                 struct dlock_error_t *error);

/**
 * The fencing token: larger than any granted before it under this name. Send it along with what the lock protects, and
 * let the receiver refuse a lower one than it has seen. 0, lower than the token of any lock, for permits of a semaphore,
 * which have none, and for several locks, which have one each: dlock_held_token_of().
 */
dlock_status_t dlock_held_token(const struct dlock_held_t *held,
                                uint64_t *out_token,
                                struct dlock_error_t *error);

/**
 * How many permits of a semaphore the hold has, and their ids, which are written to `ids`. `ids_len` is the room there, as
 * many as were acquired or more; less is DLOCK_INVALID_ARGUMENT. `ids` may be NULL with a room of 0 to ask for the number
 * alone. No I/O. 0 for a hold of a lock.
 */
dlock_status_t dlock_held_permits(const struct dlock_held_t *held,
                                  struct dlock_permit_id_t *ids,
                                  size_t ids_len,
                                  size_t *out_count,
                                  struct dlock_error_t *error);

/**
 * Writes the owner as it stands on the server and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer
 * of DLOCK_OWNER_SIZE is always large enough; one that is not is DLOCK_INVALID_ARGUMENT. Empty for several locks, which have
 * one each.
 */
dlock_status_t dlock_held_owner(const struct dlock_held_t *held,
                                char *buffer,
                                size_t buffer_size,
                                size_t *out_len,
                                struct dlock_error_t *error);

/**
 * Whether the holder may still act. No I/O: a clock is read. False from the end of the lease on, exactly.
 */
dlock_status_t dlock_held_is_valid(const struct dlock_held_t *held, bool *out_valid, struct dlock_error_t *error);

/**
 * How long the hold stays valid if no renewal succeeds from now on; 0 when it is not valid.
 */
dlock_status_t dlock_held_remaining_ms(const struct dlock_held_t *held, int64_t *out_ms, struct dlock_error_t *error);

/**
 * Whether and why the hold was lost: DLOCK_LOSS_NONE while it was not. No I/O. A release is no loss.
 */
dlock_status_t dlock_held_lost(const struct dlock_held_t *held, dlock_loss_t *out_loss, struct dlock_error_t *error);

/**
 * Waits until the hold is over: at most `wait_ms`, -1 for ever. The answer is why it was lost, or DLOCK_LOSS_NONE when it
 * was released. DLOCK_BUSY when it was not over within that. DLOCK_CANCELLED when `cancel`, which may be NULL, was fired.
 */
dlock_status_t dlock_held_wait_lost(const struct dlock_held_t *held,
                                    int64_t wait_ms,
                                    const struct dlock_cancel_t *cancel,
                                    dlock_loss_t *out_loss,
                                    struct dlock_error_t *error);

/**
 * Takes a hold that is the handle's own (taken, or acquired through a port) once more, without I/O; it is to be released as
 * often. DLOCK_DEADLOCK when its lock is not re-entrant, DLOCK_LOST when the hold is, DLOCK_INVALID_ARGUMENT for permits:
 * each acquire of a semaphore is a hold of its own.
 */
dlock_status_t dlock_held_reenter(const struct dlock_held_t *held,
                                  struct dlock_error_t *error);

/**
 * How often a hold that is the handle's own is held; 0 when it is over.
 */
dlock_status_t dlock_held_hold_count(const struct dlock_held_t *held, uint32_t *out_count, struct dlock_error_t *error);

/**
 * Undoes one acquire or re-entry of a hold that is the handle's own (taken, or acquired through a port), from any thread; the
 * last one frees the lock. Permits end with the first, all of the hold together. DLOCK_NOT_HELD when the hold is over or was
 * lost. DLOCK_INVALID_ARGUMENT for a thread's hold: that thread releases it with the release of its
 * object, such as dlock_lock_release(); and for a delivery, which ends with dlock_delivery_ack() or dlock_delivery_nack().
 */
dlock_status_t dlock_held_release(const struct dlock_held_t *held,
                                  struct dlock_error_t *error);

/**
 * As the extend of its object, such as dlock_lock_extend(), for a hold that is the handle's own.
 */
dlock_status_t dlock_held_extend(const struct dlock_held_t *held, int64_t lease_ms, struct dlock_error_t *error);

/**
 * As dlock_lock_detach(), for a hold that is the handle's own. DLOCK_INVALID_ARGUMENT for a hold of anything but one lock, which
 * stays where it is.
 */
dlock_status_t dlock_held_detach(const struct dlock_held_t *held,
                                 struct dlock_detached_t *out_detached,
                                 struct dlock_error_t *error);

/**
 * Turns a hold of the write side of a read-write lock that is the handle's own into one of the read side, with nobody else's
 * write in between, and wakes the readers that wait. `out_held` gets a handle of that; `held` is over then, and is to be freed
 * too. DLOCK_NOT_HELD when the hold is over or was lost; DLOCK_INVALID_ARGUMENT for a hold of anything else, and for a thread's:
 * see dlock_rw_lock_downgrade().
 */
dlock_status_t dlock_held_downgrade(const struct dlock_held_t *held,
                                    struct dlock_held_t **out_held,
                                    struct dlock_error_t *error);

/**
 * Gives the handle up. A thread's hold goes on; a hold that is the handle's own and was not released ends without a word
 * to the server: renewal stops, and the lease runs out. The job of a delivery that was not ended goes back.
 */
dlock_status_t dlock_held_free(struct dlock_held_t *held);

/**
 * Makes a handle of the locks of these names, 1 to 100 different ones; a name that is given twice counts once. `names` has
 * `names_len` texts and `name_lens` their bytes; with NULL for `name_lens` each ends with a NUL. No I/O. `options`, of each
 * lock, may be NULL. DLOCK_INVALID_NAME for a name that is refused, DLOCK_INVALID_ARGUMENT for too many names and for none.
 *
 * A dlock_lock_t of one of the names excludes the set, and the set excludes it: they are the same locks. All of them are held
 * or none, and sets that overlap never block each other for ever, in whatever order their names are given.
 */
dlock_status_t dlock_lock_all_open(const struct dlock_client_t *client,
                                   const char *const *names,
                                   const size_t *name_lens,
                                   size_t names_len,
                                   const struct dlock_lock_options_t *options,
                                   struct dlock_lock_all_t **out_set,
                                   struct dlock_error_t *error);

/**
 * Gives the handle up. Holds stay; other handles of the same names do too.
 */
dlock_status_t dlock_lock_all_free(struct dlock_lock_all_t *set);

/**
 * How many locks they are, of different names.
 */
dlock_status_t dlock_lock_all_len(const struct dlock_lock_all_t *set, size_t *out_len, struct dlock_error_t *error);

/**
 * Writes the name of the lock at place `at`, from 0 on, and a NUL to `buffer`, and its bytes without the NUL to `out_len`. The
 * places are in the order of the names' bytes, which is that in which the locks are waited for. A buffer of DLOCK_NAME_SIZE is
 * always large enough; one that is not is DLOCK_INVALID_ARGUMENT, as is a place from dlock_lock_all_len() on.
 */
dlock_status_t dlock_lock_all_name(const struct dlock_lock_all_t *set,
                                   size_t at,
                                   char *buffer,
                                   size_t buffer_size,
                                   size_t *out_len,
                                   struct dlock_error_t *error);

/**
 * Acquires all of them for the calling thread, which may hold some or all of them already (see `reentrant`), or none. If all
 * are free that is one request. Otherwise it waits for them one after the other, in the order of their keys; what it has by
 * then is renewed, and given back if the wait ends without the rest.
 *
 * `options` may be NULL: waits for ever. The wait is that for all of them together. DLOCK_BUSY if not all were acquired within
 * it; the error names the lock that was in the way. DLOCK_DEADLOCK, at once, when the thread holds one of them and would have
 * to wait for one whose key comes before: two threads could wait for each other. DLOCK_LOST, once, when the thread has lost
 * one of them and was not told yet. `out_held` may be NULL when neither tokens nor loss matter; otherwise free what it gets
 * with dlock_held_free(), before or after the release. The hold ends with dlock_lock_all_release() by the same thread.
 *
 * The hold is lost when one of them is lost: dlock_held_lost_name() says which. Each has a fencing token of its own, which
 * dlock_held_token_of() gives; dlock_held_token() is 0, and dlock_held_owner() empty.
 */
dlock_status_t dlock_lock_all_acquire(const struct dlock_lock_all_t *set,
                                      const struct dlock_acquire_options_t *options,
                                      struct dlock_held_t **out_held,
                                      struct dlock_error_t *error);

/**
 * Acquires all of them if all are to be had, without waiting; DLOCK_BUSY if not. May jump each queue, at most twice per queue
 * head: after that it is DLOCK_BUSY also when they are free. Otherwise as dlock_lock_all_acquire().
 */
dlock_status_t dlock_lock_all_try_acquire(const struct dlock_lock_all_t *set,
                                          struct dlock_held_t **out_held,
                                          struct dlock_error_t *error);

/**
 * Acquires all of them for the hold itself and for no thread: any thread may release it, with dlock_held_release(). Otherwise
 * as dlock_lock_all_acquire(); a second acquire waits for the first, whichever thread asks. `out_held` gets the hold: free it
 * with dlock_held_free() after the release, for without one the leases have to run out.
 */
dlock_status_t dlock_lock_all_take(const struct dlock_lock_all_t *set,
                                   const struct dlock_acquire_options_t *options,
                                   struct dlock_held_t **out_held,
                                   struct dlock_error_t *error);

/**
 * Undoes one acquire of each by the calling thread; those that it had acquired once are freed, by one request. DLOCK_NOT_HELD
 * when the thread does not hold one of them (any more: a lease that ran out is told here too), which the error names; the
 * others are released all the same.
 */
dlock_status_t dlock_lock_all_release(const struct dlock_lock_all_t *set,
                                      struct dlock_error_t *error);

/**
 * Makes what the calling thread holds of each last `lease_ms` (100 to 86400000) from now, or as long as it did if that is
 * longer, by one request. DLOCK_NOT_HELD when the thread does not hold one of them or has lost it; others may be prolonged
 * then.
 */
dlock_status_t dlock_lock_all_extend(const struct dlock_lock_all_t *set,
                                     int64_t lease_ms,
                                     struct dlock_error_t *error);

/**
 * How many times the calling thread holds all of them; 0 when it does not hold one of them, or has lost it. No I/O. An answer
 * of 0 tells the thread of a loss: its next acquire begins anew, as after any error that told it.
 */
dlock_status_t dlock_lock_all_hold_count(const struct dlock_lock_all_t *set,
                                         uint32_t *out_count,
                                         struct dlock_error_t *error);

/**
 * A handle of what the calling thread has of all of them, lost or not, to ask for tokens or loss. DLOCK_NOT_HELD when it has
 * not acquired one of them. No I/O.
 */
dlock_status_t dlock_lock_all_held(const struct dlock_lock_all_t *set,
                                   struct dlock_held_t **out_held,
                                   struct dlock_error_t *error);

/**
 * The fencing token of one of the locks of a hold of several: send it along with what the lock of that name protects.
 * DLOCK_INVALID_ARGUMENT for a name that is none of theirs, and for a hold of anything else. No I/O.
 */
dlock_status_t dlock_held_token_of(const struct dlock_held_t *held,
                                   const char *name,
                                   size_t name_len,
                                   uint64_t *out_token,
                                   struct dlock_error_t *error);

/**
 * How many locks a hold of several has, and the fencing token of each, which are written to `tokens` in the order of
 * dlock_lock_all_name(). `tokens_len` is the room there, as many as there are locks or more; less is DLOCK_INVALID_ARGUMENT.
 * `tokens` may be NULL with a room of 0 to ask for the number alone. No I/O. 0 for a hold of anything else.
 */
dlock_status_t dlock_held_tokens(const struct dlock_held_t *held,
                                 uint64_t *tokens,
                                 size_t tokens_len,
                                 size_t *out_count,
                                 struct dlock_error_t *error);

/**
 * Which of several locks that are held as one was lost: writes its name and a NUL to `buffer`, and its bytes without the NUL to
 * `out_len`; the first of them if it is more than one. 0 bytes while none is lost, and for a hold of anything else. `out_loss`
 * may be NULL; otherwise it gets why. A buffer of DLOCK_NAME_SIZE is always large enough. No I/O.
 */
dlock_status_t dlock_held_lost_name(const struct dlock_held_t *held,
                                    char *buffer,
                                    size_t buffer_size,
                                    size_t *out_len,
                                    dlock_loss_t *out_loss,
                                    struct dlock_error_t *error);

/**
 * Makes a limiter of `tokens` (0 to 10^12; 0 refuses everything) in each `per_us` microseconds (1 to 100 years), shared by
 * all that use the name; they should give the same rate. No I/O. `options` may be NULL.
 */
dlock_status_t dlock_rate_limiter_open(const struct dlock_client_t *client,
                                       const char *name,
                                       size_t name_len,
                                       int64_t tokens,
                                       int64_t per_us,
                                       const struct dlock_rate_limiter_options_t *options,
                                       struct dlock_rate_limiter_t **out_limiter,
                                       struct dlock_error_t *error);

/**
 * Gives the handle up; the bucket stays.
 */
dlock_status_t dlock_rate_limiter_free(struct dlock_rate_limiter_t *limiter);

/**
 * Writes the limiter's name and a NUL to `buffer`, and its bytes without the NUL to
 * `out_len`. A buffer of DLOCK_NAME_SIZE is always large enough.
 */
dlock_status_t dlock_rate_limiter_name(const struct dlock_rate_limiter_t *limiter,
                                       char *buffer,
                                       size_t buffer_size,
                                       size_t *out_len,
                                       struct dlock_error_t *error);

/**
 * Takes `cost` tokens, waiting for them at most `wait_ms`: -1 for ever, 0 not at all. All that wait, in all
 * processes, are served in the order in which their requests reach the server. DLOCK_LIMITED, at once, when they are not to be
 * had within the wait. A cost of 0 asks how things stand for one token, and never waits. The decision is written with DLOCK_OK
 * and DLOCK_LIMITED alike; `out_decision` may be NULL. More than the burst can never be granted: `retry_after_us` is -1. After
 * DLOCK_OUTCOME_UNKNOWN count the tokens as spent; DLOCK_CANCELLED gives them back, unless the decision was under way.
 * `cancel` may be NULL.
 */
dlock_status_t dlock_rate_limiter_acquire(const struct dlock_rate_limiter_t *limiter,
                                          int64_t cost,
                                          int64_t wait_ms,
                                          const struct dlock_cancel_t *cancel,
                                          struct dlock_decision_t *out_decision,
                                          struct dlock_error_t *error);

/**
 * Takes `cost` tokens if they are there now. Otherwise as dlock_rate_limiter_acquire(). Does not ask the server for what a
 * limiter with `prefetch` can decide by itself.
 */
dlock_status_t dlock_rate_limiter_try_acquire(const struct dlock_rate_limiter_t *limiter,
                                              int64_t cost,
                                              struct dlock_decision_t *out_decision,
                                              struct dlock_error_t *error);

/**
 * How things stand for one token; spends nothing. DLOCK_OK when it could be had now, DLOCK_LIMITED when not.
 */
dlock_status_t dlock_rate_limiter_peek(const struct dlock_rate_limiter_t *limiter,
                                       struct dlock_decision_t *out_decision,
                                       struct dlock_error_t *error);

/**
 * Forgets what was taken, and a block, for everybody.
 */
dlock_status_t dlock_rate_limiter_reset(const struct dlock_rate_limiter_t *limiter, struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_acquire(), of one key of many, such as a user's id: each has a bucket of its own, that of the limiter
 * `NAME:KEY`. Nothing is kept of a key that nobody waits for, so there may be millions of them. DLOCK_INVALID_NAME for a key
 * that is empty, or with which that is no name: too long, not UTF-8, with a NUL or odd braces.
 */
dlock_status_t dlock_rate_limiter_acquire_keyed(const struct dlock_rate_limiter_t *limiter,
                                                const char *key,
                                                size_t key_len,
                                                int64_t cost,
                                                int64_t wait_ms,
                                                const struct dlock_cancel_t *cancel,
                                                struct dlock_decision_t *out_decision,
                                                struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_try_acquire(), of one key; see dlock_rate_limiter_acquire_keyed().
 */
dlock_status_t dlock_rate_limiter_try_acquire_keyed(const struct dlock_rate_limiter_t *limiter,
                                                    const char *key,
                                                    size_t key_len,
                                                    int64_t cost,
                                                    struct dlock_decision_t *out_decision,
                                                    struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_peek(), of one key; see dlock_rate_limiter_acquire_keyed().
 */
dlock_status_t dlock_rate_limiter_peek_keyed(const struct dlock_rate_limiter_t *limiter,
                                             const char *key,
                                             size_t key_len,
                                             struct dlock_decision_t *out_decision,
                                             struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_reset(), of one key; see dlock_rate_limiter_acquire_keyed().
 */
dlock_status_t dlock_rate_limiter_reset_keyed(const struct dlock_rate_limiter_t *limiter,
                                              const char *key,
                                              size_t key_len,
                                              struct dlock_error_t *error);

/**
 * Takes `cost` tokens now, for use when they are there, within `wait_ms` (-1: whenever that is): `usable_after_us` of the
 * decision says how long that is. The caller keeps to that time; nothing waits here. DLOCK_LIMITED when it would be longer. The
 * decision is written with DLOCK_OK and DLOCK_LIMITED alike; `out_decision` may be NULL. What is not wanted after all goes back
 * with dlock_rate_limiter_reward(). DLOCK_INVALID_ARGUMENT under DLOCK_ALGORITHM_REDISSON.
 */
dlock_status_t dlock_rate_limiter_reserve(const struct dlock_rate_limiter_t *limiter,
                                          int64_t cost,
                                          int64_t wait_ms,
                                          struct dlock_decision_t *out_decision,
                                          struct dlock_error_t *error);

/**
 * Takes `tokens`, 1 to the burst, whether or not they are there: who comes next waits the longer for it. For a request that turned
 * out to cost more than it was let in for. DLOCK_OUTCOME_UNKNOWN when no reply came. DLOCK_INVALID_ARGUMENT under
 * DLOCK_ALGORITHM_REDISSON.
 */
dlock_status_t dlock_rate_limiter_penalty(const struct dlock_rate_limiter_t *limiter,
                                          int64_t tokens,
                                          struct dlock_error_t *error);

/**
 * Gives `tokens`, 1 to the burst, back, as if they had not been taken: never more than were. What waits already keeps its time.
 * Errors as of dlock_rate_limiter_penalty().
 */
dlock_status_t dlock_rate_limiter_reward(const struct dlock_rate_limiter_t *limiter,
                                         int64_t tokens,
                                         struct dlock_error_t *error);

/**
 * Grants nothing to anybody for `length_ms` from now on, whatever the rates would allow; 0 ends it. The last call counts. Those
 * that wait, or come to wait, get their tokens after it; what was reserved keeps its time, and what other clients have fetched
 * ahead can be used for another second. 0 to 100 years.
 * DLOCK_INVALID_ARGUMENT under DLOCK_ALGORITHM_REDISSON.
 */
dlock_status_t dlock_rate_limiter_block(const struct dlock_rate_limiter_t *limiter,
                                        int64_t length_ms,
                                        struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_reserve(), of one key; see dlock_rate_limiter_acquire_keyed().
 */
dlock_status_t dlock_rate_limiter_reserve_keyed(const struct dlock_rate_limiter_t *limiter,
                                                const char *key,
                                                size_t key_len,
                                                int64_t cost,
                                                int64_t wait_ms,
                                                struct dlock_decision_t *out_decision,
                                                struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_penalty(), of one key; see dlock_rate_limiter_acquire_keyed().
 */
dlock_status_t dlock_rate_limiter_penalty_keyed(const struct dlock_rate_limiter_t *limiter,
                                                const char *key,
                                                size_t key_len,
                                                int64_t tokens,
                                                struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_reward(), of one key; see dlock_rate_limiter_acquire_keyed().
 */
dlock_status_t dlock_rate_limiter_reward_keyed(const struct dlock_rate_limiter_t *limiter,
                                               const char *key,
                                               size_t key_len,
                                               int64_t tokens,
                                               struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_block(), of one key; see dlock_rate_limiter_acquire_keyed().
 */
dlock_status_t dlock_rate_limiter_block_keyed(const struct dlock_rate_limiter_t *limiter,
                                              const char *key,
                                              size_t key_len,
                                              int64_t length_ms,
                                              struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_try_acquire_keyed() of each of `count` items, in one round trip for every 256 of them. 1 to 10000 items;
 * a key may occur several times. DLOCK_OK says that each item was answered: `out_statuses`, an array of `count`, has for each what
 * a single call would have returned, and so have `out_decisions` and `out_errors`, arrays of as many that may be NULL. Their
 * first elements begin with DLOCK_DECISION_INIT and DLOCK_ERROR_INIT. What is wrong with one item is its own status, and no
 * matter of the others. When a reply was lost, each item of that write has DLOCK_OUTCOME_UNKNOWN: count its tokens as spent.
 */
dlock_status_t dlock_rate_limiter_try_acquire_many(const struct dlock_rate_limiter_t *limiter,
                                                   const struct dlock_keyed_cost_t *items,
                                                   size_t count,
                                                   dlock_status_t *out_statuses,
                                                   struct dlock_decision_t *out_decisions,
                                                   struct dlock_error_t *out_errors,
                                                   struct dlock_error_t *error);

/**
 * Makes a semaphore with a name of 1 to 512 bytes of UTF-8. No I/O. `permits`, 1 to 2147483647, is how many there are in all if
 * the first acquire makes it on the server; one that is there keeps its own number, see dlock_semaphore_set_permits(), and a
 * client that was given another one warns in its log events. `options` may be NULL. DLOCK_INVALID_NAME for a name that is
 * refused.
 */
dlock_status_t dlock_semaphore_open(const struct dlock_client_t *client,
                                    const char *name,
                                    size_t name_len,
                                    int64_t permits,
                                    const struct dlock_semaphore_options_t *options,
                                    struct dlock_semaphore_t **out_semaphore,
                                    struct dlock_error_t *error);

/**
 * Gives the handle up. Holds of permits stay; other handles of the same name do too.
 */
dlock_status_t dlock_semaphore_free(struct dlock_semaphore_t *semaphore);

/**
 * Writes the semaphore's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE
 * is always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
 */
dlock_status_t dlock_semaphore_name(const struct dlock_semaphore_t *semaphore,
                                    char *buffer,
                                    size_t buffer_size,
                                    size_t *out_len,
                                    struct dlock_error_t *error);

/**
 * Acquires `permits`, 1 to 10000, all at once, for the calling thread. Each acquire is a hold of its own: a thread that has
 * permits waits for more like any other caller. Waiters are served in the order of arrival, few permits not before many.
 * `options` may be NULL: waits for ever. DLOCK_BUSY if they were not available within the wait. DLOCK_INVALID_ARGUMENT, at
 * once, for more than there are in all. `out_held` may be NULL when neither ids nor loss matter; otherwise free what it gets
 * with dlock_held_free(), before or after the release. The hold ends with dlock_semaphore_release() by the same thread.
 */
dlock_status_t dlock_semaphore_acquire(const struct dlock_semaphore_t *semaphore,
                                       int64_t permits,
                                       const struct dlock_acquire_options_t *options,
                                       struct dlock_held_t **out_held,
                                       struct dlock_error_t *error);

/**
 * Acquires `permits` if so many are available, without waiting; DLOCK_BUSY if not. May jump the queue, at most twice per queue
 * head: after that it is DLOCK_BUSY also when so many are available. On a server that is gone it tries for operation_timeout,
 * 10 s by default. Otherwise as dlock_semaphore_acquire().
 */
dlock_status_t dlock_semaphore_try_acquire(const struct dlock_semaphore_t *semaphore,
                                           int64_t permits,
                                           struct dlock_held_t **out_held,
                                           struct dlock_error_t *error);

/**
 * Acquires `permits` for the hold itself and for no thread: any thread may release it, with dlock_held_release(). Otherwise as
 * dlock_semaphore_acquire(). `out_held` gets the hold: free it with dlock_held_free() after the release, for without one the
 * lease has to run out.
 */
dlock_status_t dlock_semaphore_take(const struct dlock_semaphore_t *semaphore,
                                    int64_t permits,
                                    const struct dlock_acquire_options_t *options,
                                    struct dlock_held_t **out_held,
                                    struct dlock_error_t *error);

/**
 * Ends one hold of the calling thread, with all its permits: the one that `held` shows, as dlock_semaphore_acquire() gave it;
 * with NULL the latest. DLOCK_NOT_HELD when the thread has no such hold (any more: a lease that ran out is told here too);
 * then nothing of anybody else's was released. DLOCK_INVALID_ARGUMENT for a hold of another object, and for one that is its
 * handle's own.
 */
dlock_status_t dlock_semaphore_release(const struct dlock_semaphore_t *semaphore,
                                       const struct dlock_held_t *held,
                                       struct dlock_error_t *error);

/**
 * Makes one hold of the calling thread last `lease_ms` (100 to 86400000) from now, or as long as it did if that is longer: the
 * one that `held` shows; with NULL the latest. Asks the server in any case. DLOCK_NOT_HELD when the thread has no such hold or
 * has lost it; DLOCK_INVALID_ARGUMENT as dlock_semaphore_release().
 */
dlock_status_t dlock_semaphore_extend(const struct dlock_semaphore_t *semaphore,
                                      const struct dlock_held_t *held,
                                      int64_t lease_ms,
                                      struct dlock_error_t *error);

/**
 * How many holds the calling thread has, of however many permits each; lost ones do not count. No I/O.
 */
dlock_status_t dlock_semaphore_hold_count(const struct dlock_semaphore_t *semaphore,
                                          uint32_t *out_count,
                                          struct dlock_error_t *error);

/**
 * A handle of the latest hold that the calling thread has, lost or not, to ask for its permits or loss. DLOCK_NOT_HELD when it
 * has none. No I/O.
 */
dlock_status_t dlock_semaphore_held(const struct dlock_semaphore_t *semaphore,
                                    struct dlock_held_t **out_held,
                                    struct dlock_error_t *error);

/**
 * Sets how many permits there are in all, 1 to 2147483647, for everybody; makes the semaphore if it is not there. Lowered, what
 * is taken stays taken, and nothing is granted until enough was given back. Raised, it wakes those whose turn it is.
 * DLOCK_WRONG_TYPE when the key is no semaphore.
 */
dlock_status_t dlock_semaphore_set_permits(const struct dlock_semaphore_t *semaphore,
                                           int64_t permits,
                                           struct dlock_error_t *error);

/**
 * Asks the server how many permits there are. Begin the answer with DLOCK_SEMAPHORE_INSPECTION_INIT. DLOCK_WRONG_TYPE when the
 * key is no semaphore.
 */
dlock_status_t dlock_semaphore_inspect(const struct dlock_semaphore_t *semaphore,
                                       struct dlock_semaphore_inspection_t *out_inspection,
                                       struct dlock_error_t *error);

/**
 * Makes a handle of one side, DLOCK_SIDE_READ or DLOCK_SIDE_WRITE, of the read-write lock with a name of 1 to 512 bytes of
 * UTF-8. No I/O. `options` may be NULL. DLOCK_INVALID_NAME for a name that is refused.
 */
dlock_status_t dlock_rw_lock_open(const struct dlock_client_t *client,
                                  const char *name,
                                  size_t name_len,
                                  dlock_side_t which,
                                  const struct dlock_rw_lock_options_t *options,
                                  struct dlock_rw_lock_t **out_side,
                                  struct dlock_error_t *error);

/**
 * Gives the handle up. Holds stay; other handles of the same name do too.
 */
dlock_status_t dlock_rw_lock_free(struct dlock_rw_lock_t *side);

/**
 * Writes the lock's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE
 * is always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
 */
dlock_status_t dlock_rw_lock_name(const struct dlock_rw_lock_t *side,
                                  char *buffer,
                                  size_t buffer_size,
                                  size_t *out_len,
                                  struct dlock_error_t *error);

/**
 * Acquires the side for the calling thread, which may hold it already (see `reentrant`). Served in the order of arrival: a
 * reader that comes while a writer waits stands behind it, and readers that stand next to one another are admitted together.
 *
 * A thread that writes may read as well: it acquires the read side at once, and when it releases the write side it goes on as
 * a reader, and the readers that wait are woken. A thread that reads cannot write too, since it would wait for itself:
 * DLOCK_DEADLOCK, at once. DLOCK_LOST, once, when the thread has lost what it held of this lock and was not told yet.
 *
 * `options` may be NULL: waits for ever. DLOCK_BUSY if it was not acquired within the wait. `out_held` may be NULL when neither
 * token nor loss matter; otherwise free what it gets with dlock_held_free(), before or after the release. The hold ends with
 * dlock_rw_lock_release() by the same thread.
 */
dlock_status_t dlock_rw_lock_acquire(const struct dlock_rw_lock_t *side,
                                     const struct dlock_acquire_options_t *options,
                                     struct dlock_held_t **out_held,
                                     struct dlock_error_t *error);

/**
 * Acquires the side if it is to be had, without waiting; DLOCK_BUSY if not. May jump the queue, at most twice per queue head:
 * after that it is DLOCK_BUSY also when it is to be had. On a server that is gone it tries for operation_timeout, 10 s by
 * default. Otherwise as dlock_rw_lock_acquire().
 */
dlock_status_t dlock_rw_lock_try_acquire(const struct dlock_rw_lock_t *side,
                                         struct dlock_held_t **out_held,
                                         struct dlock_error_t *error);

/**
 * Acquires the side for the hold itself and for no thread: any thread may release it, with dlock_held_release(). Otherwise as
 * dlock_rw_lock_acquire(); a second acquire waits for the first where the two exclude each other, whichever thread asks.
 * `out_held` gets the hold: free it with dlock_held_free() after the release, for without one the lease has to run out.
 */
dlock_status_t dlock_rw_lock_take(const struct dlock_rw_lock_t *side,
                                  const struct dlock_acquire_options_t *options,
                                  struct dlock_held_t **out_held,
                                  struct dlock_error_t *error);

/**
 * Undoes one acquire of the side by the calling thread; the last one ends its hold. DLOCK_NOT_HELD when the thread does not
 * hold the side (any more: a lease that ran out is told here too).
 */
dlock_status_t dlock_rw_lock_release(const struct dlock_rw_lock_t *side,
                                     struct dlock_error_t *error);

/**
 * The calling thread goes on as a reader, and nobody else has written in between: turns one acquire of the write side, of which
 * the handle has to be, into one of the read side, and wakes the readers that wait. `out_held` may be NULL; otherwise it gets the
 * hold of the read side, to be freed as that of an acquire; the thread ends it with dlock_rw_lock_release() of the read side.
 * DLOCK_NOT_HELD when the thread does not write, or lost the write side; DLOCK_INVALID_ARGUMENT for a handle of the read side.
 */
dlock_status_t dlock_rw_lock_downgrade(const struct dlock_rw_lock_t *side,
                                       struct dlock_held_t **out_held,
                                       struct dlock_error_t *error);

/**
 * Makes the calling thread's hold of the side last `lease_ms` (100 to 86400000) from now, or as long as it did if that is
 * longer; for readers that share the hold as well. Asks the server in any case. DLOCK_NOT_HELD when the thread does not hold
 * the side or has lost it.
 */
dlock_status_t dlock_rw_lock_extend(const struct dlock_rw_lock_t *side,
                                    int64_t lease_ms,
                                    struct dlock_error_t *error);

/**
 * How many times the calling thread holds the side; 0 when it does not, or has lost it. No I/O. An answer of 0 tells the
 * thread of a loss: its next acquire begins anew, as after any error that told it.
 */
dlock_status_t dlock_rw_lock_hold_count(const struct dlock_rw_lock_t *side,
                                        uint32_t *out_count,
                                        struct dlock_error_t *error);

/**
 * A handle of the hold that the calling thread has of the side, lost or not, to ask for its token or loss. DLOCK_NOT_HELD when
 * it has none. No I/O.
 */
dlock_status_t dlock_rw_lock_held(const struct dlock_rw_lock_t *side,
                                  struct dlock_held_t **out_held,
                                  struct dlock_error_t *error);

/**
 * Frees both sides whoever holds them, whichever side the handle is of. A hold of this client is lost when this returns;
 * another client is sent a message and looks at once; until then only its fencing token protects the resource. `out_was_held`
 * may be NULL.
 */
dlock_status_t dlock_rw_lock_force_release(const struct dlock_rw_lock_t *side,
                                           bool *out_was_held,
                                           struct dlock_error_t *error);

/**
 * Asks the server who writes or how many read, whichever side the handle is of. Begin the answer with
 * DLOCK_RW_LOCK_INSPECTION_INIT. DLOCK_WRONG_TYPE when the key is no read-write lock.
 */
dlock_status_t dlock_rw_lock_inspect(const struct dlock_rw_lock_t *side,
                                     struct dlock_rw_lock_inspection_t *out_inspection,
                                     struct dlock_error_t *error);

/**
 * Makes a latch with a name of 1 to 512 bytes of UTF-8. No I/O. A latch that is not on the server is open: give it a count with
 * dlock_latch_try_set_count() before anybody waits. DLOCK_INVALID_NAME for a name that is refused.
 */
dlock_status_t dlock_latch_open(const struct dlock_client_t *client,
                                const char *name,
                                size_t name_len,
                                struct dlock_latch_t **out_latch,
                                struct dlock_error_t *error);

/**
 * Gives the handle up; the latch stays. Calls that wait go on.
 */
dlock_status_t dlock_latch_free(struct dlock_latch_t *latch);

/**
 * Writes the latch's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE is
 * always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
 */
dlock_status_t dlock_latch_name(const struct dlock_latch_t *latch,
                                char *buffer,
                                size_t buffer_size,
                                size_t *out_len,
                                struct dlock_error_t *error);

/**
 * Gives the latch this count, 1 to 9007199254740991, if it is open; `out_set` gets whether it was: false, and nothing changed,
 * when it has a count. The count has no time to live: it stays until it is counted down or deleted.
 */
dlock_status_t dlock_latch_try_set_count(const struct dlock_latch_t *latch,
                                         int64_t count,
                                         bool *out_set,
                                         struct dlock_error_t *error);

/**
 * Counts down by `by`, 1 to 9007199254740991, or by what is left if that is less. It counts once, also when the reply is lost and
 * the request is sent again; DLOCK_OUTCOME_UNKNOWN when no repeat could find out. `out_left`, which may be NULL, gets what is
 * left: 0 when the latch is open. One that is open stays so.
 */
dlock_status_t dlock_latch_count_down(const struct dlock_latch_t *latch,
                                      int64_t by,
                                      int64_t *out_left,
                                      struct dlock_error_t *error);

/**
 * Asks the server for the count, 0 when the latch is open.
 */
dlock_status_t dlock_latch_count(const struct dlock_latch_t *latch, int64_t *out_count, struct dlock_error_t *error);

/**
 * Waits until the latch is open, at most `wait_ms`: -1 for ever, 0 asks once. `out_open` gets whether it was open then; it is
 * required, because DLOCK_OK alone does not say so. A latch that was deleted, or is gone with the server's data, is open.
 * DLOCK_CONNECTION when the server did not answer for operation_timeout. `cancel` may be NULL.
 */
dlock_status_t dlock_latch_wait(const struct dlock_latch_t *latch,
                                int64_t wait_ms,
                                const struct dlock_cancel_t *cancel,
                                bool *out_open,
                                struct dlock_error_t *error);

/**
 * Removes the latch; `out_deleted`, which may be NULL, gets whether it was there. A latch that is not there is open: callers of
 * libdlock that wait find that out within their poll_interval. Redisson's go on waiting, since nobody tells them.
 */
dlock_status_t dlock_latch_delete(const struct dlock_latch_t *latch,
                                  bool *out_deleted,
                                  struct dlock_error_t *error);

/**
 * Makes a generator of ids with a name of 1 to 512 bytes of UTF-8. No I/O. `block`, 1 to 9007199254740991, is how many ids this
 * process takes from the server at a time, and `start` the first id of all: as a rule DLOCK_ID_BLOCK_DEFAULT and 1. Both count
 * only where the server knows none; dlock_id_generator_block_size() says what does. DLOCK_INVALID_NAME for a name that is
 * refused.
 */
dlock_status_t dlock_id_generator_open(const struct dlock_client_t *client,
                                       const char *name,
                                       size_t name_len,
                                       int64_t block,
                                       int64_t start,
                                       struct dlock_id_generator_t **out_generator,
                                       struct dlock_error_t *error);

/**
 * Gives the handle up. With the last of a name and client, what the process has of a block is lost: a gap.
 */
dlock_status_t dlock_id_generator_free(struct dlock_id_generator_t *generator);

/**
 * Writes the generator's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE is
 * always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
 */
dlock_status_t dlock_id_generator_name(const struct dlock_id_generator_t *generator,
                                       char *buffer,
                                       size_t buffer_size,
                                       size_t *out_len,
                                       struct dlock_error_t *error);

/**
 * How many ids a block has: what the server said with the last one that this client took, and `block` of
 * dlock_id_generator_open() before the first. No I/O.
 */
dlock_status_t dlock_id_generator_block_size(const struct dlock_id_generator_t *generator,
                                             int64_t *out_size,
                                             struct dlock_error_t *error);

/**
 * The next id. From the block of this process, without asking the server, as long as that has one; the next block is fetched when
 * a fifth is left. DLOCK_CONNECTION when there is none left and the server did not answer within operation_timeout: the call may
 * be repeated. DLOCK_UNSUPPORTED when the ids are used up, at 2^63 - 1. DLOCK_WRONG_TYPE when the key holds something else.
 */
dlock_status_t dlock_id_generator_next_id(const struct dlock_id_generator_t *generator,
                                          int64_t *out_id,
                                          struct dlock_error_t *error);

/**
 * The next `count` ids, 1 to DLOCK_BATCH_MAX, in increasing order, into `out_ids`, which stays as it was after an
 * error. Errors as dlock_id_generator_next_id().
 */
dlock_status_t dlock_id_generator_next_ids(const struct dlock_id_generator_t *generator,
                                           int64_t *out_ids,
                                           size_t count,
                                           struct dlock_error_t *error);

/**
 * Makes a Bloom filter with a name of 1 to 512 bytes of UTF-8: Redisson's RBloomFilter, bit for bit. No I/O. It is for `expected`
 * items, 1 to 9007199254740991; `false_positive_rate`, above 0 and below 1, is the share of items that were not added and are found all the same,
 * once so many were. `ttl_ms`, 1 to 100 years, is how long the filter lives from its first item on, or DLOCK_BLOOM_NO_END.
 *
 * It is made on the server when the first item is added. A filter whose size or hashes are not those on the server gets
 * DLOCK_WRONG_TYPE, with both in the message. DLOCK_INVALID_ARGUMENT for a filter of more than 4294967294 bits, DLOCK_INVALID_NAME for
 * a name that is refused.
 */
dlock_status_t dlock_bloom_filter_open(const struct dlock_client_t *client,
                                       const char *name,
                                       size_t name_len,
                                       int64_t expected,
                                       double false_positive_rate,
                                       int64_t ttl_ms,
                                       struct dlock_bloom_filter_t **out_filter,
                                       struct dlock_error_t *error);

/**
 * Gives the handle up. The filter stays on the server.
 */
dlock_status_t dlock_bloom_filter_free(struct dlock_bloom_filter_t *filter);

/**
 * Writes the filter's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE is
 * always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
 */
dlock_status_t dlock_bloom_filter_name(const struct dlock_bloom_filter_t *filter,
                                       char *buffer,
                                       size_t buffer_size,
                                       size_t *out_len,
                                       struct dlock_error_t *error);

/**
 * How many bits the filter has. No I/O.
 */
dlock_status_t dlock_bloom_filter_size(const struct dlock_bloom_filter_t *filter,
                                       int64_t *out_size,
                                       struct dlock_error_t *error);

/**
 * How many bits an item has. No I/O.
 */
dlock_status_t dlock_bloom_filter_hashes(const struct dlock_bloom_filter_t *filter,
                                         int64_t *out_hashes,
                                         struct dlock_error_t *error);

/**
 * Adds `count` items, 0 to DLOCK_BATCH_MAX: `items` has as many pointers, and `item_lens` their bytes, 0 to 1073741824. `out_new`, of as
 * many flags, gets of each whether it is new: false may be a false positive. It stays as it was after an error, and may be NULL.
 *
 * One script adds them all, or one for each 16384 bits; an error may leave a part of them added. DLOCK_OUTCOME_UNKNOWN when a
 * reply was lost and it is unknown which were new: adding them again adds what is missing. DLOCK_WRONG_TYPE when the filter on the
 * server has another configuration, and when the keys hold something else.
 */
dlock_status_t dlock_bloom_filter_add(const struct dlock_bloom_filter_t *filter,
                                      const void *const *items,
                                      const size_t *item_lens,
                                      size_t count,
                                      bool *out_new,
                                      struct dlock_error_t *error);

/**
 * Looks for `count` items, given as to dlock_bloom_filter_add(). `out_found` gets of each whether it was added: true may be a
 * false positive, false is certain. Errors as dlock_bloom_filter_add(), but for DLOCK_OUTCOME_UNKNOWN.
 */
dlock_status_t dlock_bloom_filter_contains(const struct dlock_bloom_filter_t *filter,
                                           const void *const *items,
                                           const size_t *item_lens,
                                           size_t count,
                                           bool *out_found,
                                           struct dlock_error_t *error);

/**
 * How many different items were added, as the bits that are set let expect; 9007199254740991 when all are set. The server
 * counts all bits: 50 ms for a filter of 512 MiB.
 */
dlock_status_t dlock_bloom_filter_count(const struct dlock_bloom_filter_t *filter,
                                        int64_t *out_count,
                                        struct dlock_error_t *error);

/**
 * The rate of false positives now, from 0 of an empty filter to 1 of a full one. The server counts all bits.
 */
dlock_status_t dlock_bloom_filter_false_positive_rate(const struct dlock_bloom_filter_t *filter,
                                                      double *out_rate,
                                                      struct dlock_error_t *error);

/**
 * Removes the filter, whatever configuration it has. `out_cleared`, which may be NULL, gets whether it was there.
 */
dlock_status_t dlock_bloom_filter_clear(const struct dlock_bloom_filter_t *filter,
                                        bool *out_cleared,
                                        struct dlock_error_t *error);

/**
 * Makes a counting semaphore with a name of 1 to 512 bytes of UTF-8. No I/O. One that is not on the server has no permits:
 * dlock_counting_semaphore_try_set_permits() makes it. DLOCK_INVALID_NAME for a name that is refused.
 */
dlock_status_t dlock_counting_semaphore_open(const struct dlock_client_t *client,
                                             const char *name,
                                             size_t name_len,
                                             struct dlock_counting_semaphore_t **out_semaphore,
                                             struct dlock_error_t *error);

/**
 * Gives the handle up. Permits that were acquired through it stay acquired.
 */
dlock_status_t dlock_counting_semaphore_free(struct dlock_counting_semaphore_t *semaphore);

/**
 * Writes the semaphore's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE
 * is always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
 */
dlock_status_t dlock_counting_semaphore_name(const struct dlock_counting_semaphore_t *semaphore,
                                             char *buffer,
                                             size_t buffer_size,
                                             size_t *out_len,
                                             struct dlock_error_t *error);

/**
 * Makes the semaphore with `permits`, 0 to 2147483647, if it is not there; `out_made` gets whether this call has. It stays until
 * somebody deletes its key. DLOCK_WRONG_TYPE when the key is something else, as for all calls that ask the server; a semaphore
 * of which permits are taken under leases (dlock_semaphore_t) is something else.
 */
dlock_status_t dlock_counting_semaphore_try_set_permits(const struct dlock_counting_semaphore_t *semaphore,
                                                        int64_t permits,
                                                        bool *out_made,
                                                        struct dlock_error_t *error);

/**
 * Acquires `permits`, 1 to 2147483647, all at once, waiting at most `wait_ms`: -1 for ever, 0 not at all. Waiters are served in
 * the order of arrival, few permits not before many. After DLOCK_OK they are the caller's until somebody releases them, and
 * stay taken if it dies. DLOCK_BUSY if they were not available within the wait. After every other status than DLOCK_OK,
 * DLOCK_CANCELLED and DLOCK_OUTCOME_UNKNOWN included, the caller has none: what the server granted all the same is given back
 * in the background. `cancel` may be NULL.
 */
dlock_status_t dlock_counting_semaphore_acquire(const struct dlock_counting_semaphore_t *semaphore,
                                                int64_t permits,
                                                int64_t wait_ms,
                                                const struct dlock_cancel_t *cancel,
                                                struct dlock_error_t *error);

/**
 * Acquires `permits` if so many are available, without waiting; DLOCK_BUSY if not. May jump the queue, at most twice per queue
 * head: after that it is DLOCK_BUSY also when so many are available. Otherwise as dlock_counting_semaphore_acquire().
 */
dlock_status_t dlock_counting_semaphore_try_acquire(const struct dlock_counting_semaphore_t *semaphore,
                                                    int64_t permits,
                                                    struct dlock_error_t *error);

/**
 * Brings back `permits`, 1 to 2147483647, whoever has acquired them, and wakes those whose turn it is. Nothing stops a release of
 * permits that nobody acquired. After DLOCK_OUTCOME_UNKNOWN they may have been released or not, and may yet be: a second call
 * would release others. DLOCK_INVALID_ARGUMENT when there would be more than 2147483647.
 */
dlock_status_t dlock_counting_semaphore_release(const struct dlock_counting_semaphore_t *semaphore,
                                                int64_t permits,
                                                struct dlock_error_t *error);

/**
 * Changes how many permits are available by `permits`, up to 2147483647 in either direction: negative takes away, without
 * waiting, and may leave fewer than none. Makes a semaphore that is not there. DLOCK_INVALID_ARGUMENT for 0; otherwise as
 * dlock_counting_semaphore_release().
 */
dlock_status_t dlock_counting_semaphore_add_permits(const struct dlock_counting_semaphore_t *semaphore,
                                                    int64_t permits,
                                                    struct dlock_error_t *error);

/**
 * Takes all permits that are available, past those that wait; `out_permits` gets how many there were. A negative number becomes
 * 0, and is what it gets. DLOCK_OUTCOME_UNKNOWN when the reply was lost: the number is lost with it.
 */
dlock_status_t dlock_counting_semaphore_drain(const struct dlock_counting_semaphore_t *semaphore,
                                              int64_t *out_permits,
                                              struct dlock_error_t *error);

/**
 * Asks the server how many permits are available. Begin the answer with DLOCK_COUNTING_SEMAPHORE_INSPECTION_INIT.
 */
dlock_status_t dlock_counting_semaphore_inspect(const struct dlock_counting_semaphore_t *semaphore,
                                                struct dlock_counting_semaphore_inspection_t *out_inspection,
                                                struct dlock_error_t *error);

/**
 * Makes a queue with a name of 1 to 512 bytes of UTF-8. No I/O. `options` may be NULL. DLOCK_INVALID_NAME for a name that is
 * refused, DLOCK_INVALID_ARGUMENT for an option out of range, DLOCK_UNSUPPORTED with several independent servers.
 *
 * A queue has jobs, which are bytes. A job waits until it is due and is delivered at least once: one whose worker dies comes
 * again. Jobs that are due come by priority, the higher first.
 */
dlock_status_t dlock_queue_open(const struct dlock_client_t *client,
                                const char *name,
                                size_t name_len,
                                const struct dlock_queue_options_t *options,
                                struct dlock_queue_t **out_queue,
                                struct dlock_error_t *error);

/**
 * Makes a handle of the same queue as `queue`, whose takes go on to `other` when no job of `queue` is due: so an urgent job is taken
 * before all usual ones. A take asks one queue after the other, and waits for all when none has a job that is due;
 * dlock_delivery_queue() says which one a job is of. Puts, counts and lists are of `queue` alone. Both
 * handles may be freed before it, and `other` may be of several queues itself. No I/O. DLOCK_INVALID_ARGUMENT for queues of two
 * clients.
 */
dlock_status_t dlock_queue_followed_by(const struct dlock_queue_t *queue,
                                       const struct dlock_queue_t *other,
                                       struct dlock_queue_t **out_queue,
                                       struct dlock_error_t *error);

/**
 * Gives the handle up. The queue stays on the server, and deliveries stay.
 */
dlock_status_t dlock_queue_free(struct dlock_queue_t *queue);

/**
 * Writes the queue's name and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE is
 * always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
 */
dlock_status_t dlock_queue_name(const struct dlock_queue_t *queue,
                                char *buffer,
                                size_t buffer_size,
                                size_t *out_len,
                                struct dlock_error_t *error);

/**
 * Puts a job. `out_put`, which may be NULL, gets its id and whether it is new.
 *
 * A job with an id is put once: while one with that id waits, is being done or is dead, another put does nothing, and says so.
 * A lost reply is no matter then: the request is repeated. DLOCK_OUTCOME_UNKNOWN without an id after one lost reply, with one
 * when no repeat was answered. DLOCK_FULL when the queue has `max_length` jobs. DLOCK_CONNECTION when the server was not reached,
 * and nothing was put. DLOCK_INVALID_ARGUMENT for a value out of range.
 */
dlock_status_t dlock_queue_put(const struct dlock_queue_t *queue,
                               const struct dlock_job_t *job,
                               struct dlock_put_t *out_put,
                               struct dlock_error_t *error);

/**
 * Puts `count` jobs, 0 to DLOCK_BATCH_MAX, in their order. `jobs` is an array of as many, and so is `out_puts`, which may be NULL:
 * the first element of each begins with its _INIT macro. Up to 100 jobs, and 1 MiB, go in one request. A request puts all of its
 * jobs or none; after an error what earlier requests put stays, and `out_puts` is as it was. Errors as dlock_queue_put(); for a
 * job with a value out of range nothing is put.
 */
dlock_status_t dlock_queue_put_many(const struct dlock_queue_t *queue,
                                    const struct dlock_job_t *jobs,
                                    size_t count,
                                    struct dlock_put_t *out_puts,
                                    struct dlock_error_t *error);

/**
 * Takes the first job that is due: waits at most `wait_ms`, -1 for ever, 0 not at all. DLOCK_BUSY when there was none in time.
 * Takers of all processes are served in the order of arrival. DLOCK_CANCELLED when `cancel`, which may be NULL, was fired; then no
 * job was taken. DLOCK_CONNECTION when the server cannot be asked for operation_timeout, DLOCK_OUTCOME_UNKNOWN when it did not
 * answer: what it delivered all the same goes back, and does not count.
 *
 * `out_held` gets the delivery: a hold that is its handle's own. dlock_delivery_job() has the job. dlock_held_token(),
 * dlock_held_is_valid(), dlock_held_remaining_ms(), dlock_held_lost(), dlock_held_wait_lost() and dlock_held_extend() are as of a
 * lock. It ends with dlock_delivery_ack(), dlock_delivery_nack() or dlock_delivery_give_back(), and is freed with
 * dlock_held_free(), which puts back a job that was not ended; then the delivery counts.
 */
dlock_status_t dlock_queue_take(const struct dlock_queue_t *queue,
                                int64_t wait_ms,
                                const struct dlock_cancel_t *cancel,
                                struct dlock_held_t **out_held,
                                struct dlock_error_t *error);

/**
 * Takes up to `most` jobs, 1 to DLOCK_QUEUE_TAKE_MAX: those that are due, or the first that is within `wait_ms`. `out_helds` is an
 * array of `most`, and `out_count` gets how many were taken, at least 1. Otherwise as dlock_queue_take().
 */
dlock_status_t dlock_queue_take_many(const struct dlock_queue_t *queue,
                                     size_t most,
                                     int64_t wait_ms,
                                     const struct dlock_cancel_t *cancel,
                                     struct dlock_held_t **out_helds,
                                     size_t *out_count,
                                     struct dlock_error_t *error);

/**
 * How long a job waits that failed at this attempt, from 1 on: at most `base_ms` after the first, each time twice as long, and
 * `longest_ms` at most; less up to a half at random. For dlock_delivery_nack(). No I/O. DLOCK_INVALID_ARGUMENT for a number below 0,
 * and for a base above the longest.
 */
dlock_status_t dlock_backoff_ms(int64_t attempt,
                                int64_t base_ms,
                                int64_t longest_ms,
                                int64_t *out_ms,
                                struct dlock_error_t *error);

/**
 * The job that the hold is a delivery of, also when it is over. No I/O. DLOCK_INVALID_ARGUMENT for a hold of anything else, as for
 * all calls about a delivery.
 */
dlock_status_t dlock_delivery_job(const struct dlock_held_t *held,
                                  struct dlock_delivery_t *out_job,
                                  struct dlock_error_t *error);

/**
 * Writes the name of the queue that the hold is a delivery of and a NUL to `buffer`, as dlock_queue_name(): of a take from several
 * queues, see dlock_queue_followed_by(), it tells them apart. No I/O.
 */
dlock_status_t dlock_delivery_queue(const struct dlock_held_t *held,
                                    char *buffer,
                                    size_t buffer_size,
                                    size_t *out_len,
                                    struct dlock_error_t *error);

/**
 * The job is done: removes it from the queue. DLOCK_NOT_HELD when the delivery is over or was lost: then the job comes again, or
 * has come to another worker, of which nothing was touched. DLOCK_OUTCOME_UNKNOWN and DLOCK_CONNECTION when no reply came: the
 * delivery is over all the same, and the job may come again. Works on a server that is out of memory.
 */
dlock_status_t dlock_delivery_ack(const struct dlock_held_t *held,
                                  struct dlock_error_t *error);

/**
 * The jobs of `count` deliveries of the queue are done, 0 to DLOCK_BATCH_MAX: removes them from it, by one request for each 100.
 * `helds` is an array of as many. `out_acked`, of as many flags, gets of each whether it is done; false when it was ended before or was
 * lost: then the job comes again, or has come to another worker, of which nothing was touched. It stays as it was after an error, and
 * may be NULL. DLOCK_INVALID_ARGUMENT when one is no delivery of this queue and client, and then all are held as before. Other errors as
 * dlock_delivery_ack(): the deliveries are over all the same, and the jobs may come again. Each hold is freed as before.
 */
dlock_status_t dlock_queue_ack_many(const struct dlock_queue_t *queue,
                                    const struct dlock_held_t *const *helds,
                                    size_t count,
                                    bool *out_acked,
                                    struct dlock_error_t *error);

/**
 * The job is not done: puts it back, due again after `delay_ms`, 0 to 100 years, or with -1 at once at the place that it had. When
 * it was delivered as often as it may be, it is dead. `reason` is text of `reason_len` bytes, of which 1024 are kept for the dead
 * list; it may be NULL when there is none. Errors as dlock_delivery_ack(); with DLOCK_INVALID_ARGUMENT, for the delay and for a
 * reason that is no UTF-8, it is held as before.
 */
dlock_status_t dlock_delivery_nack(const struct dlock_held_t *held,
                                   int64_t delay_ms,
                                   const char *reason,
                                   size_t reason_len,
                                   struct dlock_error_t *error);

/**
 * Puts a job back that was not begun, at its place: the delivery does not count. For workers that stop. Errors as
 * dlock_delivery_ack().
 */
dlock_status_t dlock_delivery_give_back(const struct dlock_held_t *held, struct dlock_error_t *error);

/**
 * How many jobs there are. Costs the same however many that is.
 */
dlock_status_t dlock_queue_counts(const struct dlock_queue_t *queue,
                                  struct dlock_queue_counts_t *out_counts,
                                  struct dlock_error_t *error);

/**
 * The first `most` jobs that wait, 1 to DLOCK_QUEUE_LIST_MAX, due or not, in their order; fewer where they are 1 MiB together.
 * `out_jobs` gets a list: read it with dlock_jobs_len() and dlock_jobs_get(), and free it.
 */
dlock_status_t dlock_queue_peek(const struct dlock_queue_t *queue,
                                size_t most,
                                struct dlock_jobs_t **out_jobs,
                                struct dlock_error_t *error);

/**
 * The first `most` dead jobs, 1 to DLOCK_QUEUE_LIST_MAX, in the order in which they died. Otherwise as dlock_queue_peek().
 */
dlock_status_t dlock_queue_dead(const struct dlock_queue_t *queue,
                                size_t most,
                                struct dlock_jobs_t **out_jobs,
                                struct dlock_error_t *error);

/**
 * How many jobs a list has. No I/O.
 */
dlock_status_t dlock_jobs_len(const struct dlock_jobs_t *jobs, size_t *out_len, struct dlock_error_t *error);

/**
 * The job at place `at` of a list, from 0 on. No I/O. DLOCK_INVALID_ARGUMENT for a place from dlock_jobs_len() on.
 */
dlock_status_t dlock_jobs_get(const struct dlock_jobs_t *jobs,
                              size_t at,
                              struct dlock_listed_job_t *out_job,
                              struct dlock_error_t *error);

/**
 * Frees a list, and with it the payloads of its jobs.
 */
dlock_status_t dlock_jobs_free(struct dlock_jobs_t *jobs);

/**
 * Removes a job that waits. `out_cancelled`, which may be NULL, gets false when no job with this id does. DLOCK_NOT_HELD when it was
 * delivered: its worker is doing it.
 */
dlock_status_t dlock_queue_cancel(const struct dlock_queue_t *queue,
                                  const char *job_id,
                                  size_t job_id_len,
                                  bool *out_cancelled,
                                  struct dlock_error_t *error);

/**
 * Removes all jobs that wait, due or not. `out_count`, which may be NULL, gets how many. Deliveries go on, and the dead list stays.
 */
dlock_status_t dlock_queue_purge(const struct dlock_queue_t *queue,
                                 int64_t *out_count,
                                 struct dlock_error_t *error);

/**
 * Removes a dead job. `out_removed`, which may be NULL, gets false when none has this id.
 */
dlock_status_t dlock_queue_remove_dead(const struct dlock_queue_t *queue,
                                       const char *job_id,
                                       size_t job_id_len,
                                       bool *out_removed,
                                       struct dlock_error_t *error);

/**
 * Removes all dead jobs. `out_count`, which may be NULL, gets how many.
 */
dlock_status_t dlock_queue_purge_dead(const struct dlock_queue_t *queue,
                                      int64_t *out_count,
                                      struct dlock_error_t *error);

/**
 * Has a dead job wait again, due now, as if it had never been delivered. `out_requeued`, which may be NULL, gets false when none has
 * this id.
 */
dlock_status_t dlock_queue_requeue_dead(const struct dlock_queue_t *queue,
                                        const char *job_id,
                                        size_t job_id_len,
                                        bool *out_requeued,
                                        struct dlock_error_t *error);

/**
 * Has all jobs that are dead now wait again. `out_count`, which may be NULL, gets how many.
 */
dlock_status_t dlock_queue_requeue_all_dead(const struct dlock_queue_t *queue,
                                            int64_t *out_count,
                                            struct dlock_error_t *error);

/**
 * The layout of that name: "default" (41 bits of time since 2015, 5 datacenter, 5 worker, 12 sequence), "twitter" (the same
 * since 2010-11-04), "js53" (53 bits: 41, 0, 5, 7 since 2015).
 */
dlock_status_t dlock_layout_named(const char *name,
                                  size_t name_len,
                                  struct dlock_layout_t *out_layout,
                                  struct dlock_error_t *error);

/**
 * Takes an id apart without a generator. `layout` may be NULL for "default".
 */
dlock_status_t dlock_layout_decode(const struct dlock_layout_t *layout,
                                   int64_t id,
                                   struct dlock_id_parts_t *out_parts,
                                   struct dlock_error_t *error);

/**
 * Makes a generator. No server is asked: `datacenter` and `worker` have to be this process's alone. Generators of one
 * layout, datacenter and worker in one process share their state. `options` may be NULL. DLOCK_CLOCK when the clock is
 * outside of the layout's time, or was set back by more than the start may wait.
 */
dlock_status_t dlock_snowflake_open(int64_t datacenter,
                                    int64_t worker,
                                    const struct dlock_snowflake_options_t *options,
                                    struct dlock_snowflake_t **out_snowflake,
                                    struct dlock_error_t *error);

/**
 * The next id: larger than every one before it of this datacenter and worker. Takes no lock. Sleeps, for less than a
 * millisecond, when the ids of this millisecond are used up.
 */
dlock_status_t dlock_snowflake_next_id(const struct dlock_snowflake_t *snowflake,
                                       int64_t *out_id,
                                       struct dlock_error_t *error);

/**
 * The next `count` ids in increasing order, 1 to DLOCK_BATCH_MAX, to the array at `out_ids`. Takes as long as the layout makes
 * it: 244 ms for a million of "default".
 */
dlock_status_t dlock_snowflake_next_ids(const struct dlock_snowflake_t *snowflake,
                                        int64_t *out_ids,
                                        size_t count,
                                        struct dlock_error_t *error);

/**
 * Takes an id of the generator's layout apart.
 */
dlock_status_t dlock_snowflake_decode(const struct dlock_snowflake_t *snowflake,
                                      int64_t id,
                                      struct dlock_id_parts_t *out_parts,
                                      struct dlock_error_t *error);

/**
 * Gives the handle up. What was made stays unique: the next generator of this datacenter and worker goes on after it.
 */
dlock_status_t dlock_snowflake_free(struct dlock_snowflake_t *snowflake);

/**
 * Writes an id and a NUL to `buffer` in base 10, 32 (Crockford's digits), 36, 58 (Bitcoin's) or 62 (0-9A-Za-z), and its
 * bytes without the NUL to `out_len`. A buffer of DLOCK_ID_TEXT_SIZE is always large enough.
 */
dlock_status_t dlock_id_encode(int64_t id,
                               int32_t base,
                               char *buffer,
                               size_t buffer_size,
                               size_t *out_len,
                               struct dlock_error_t *error);

/**
 * The id that a text in `base` says. Base 32 and 36 take either case.
 */
dlock_status_t dlock_id_parse(const char *text,
                              size_t text_len,
                              int32_t base,
                              int64_t *out_id,
                              struct dlock_error_t *error);

/**
 * Leases the lowest free number of the pool with a name of 1 to 512 bytes of UTF-8. All processes whose ids have to differ use
 * one pool. `options` may be NULL. The client renews the lease. DLOCK_BUSY, without a wait, when all numbers are taken: the
 * error's `retry_after_us` says when the next may be free. DLOCK_INVALID_NAME for a name that is refused.
 *
 * `out_held` gets the hold, which is its handle's own: dlock_held_is_valid(), dlock_held_remaining_ms(), dlock_held_lost() and
 * dlock_held_wait_lost() say how it stands, and dlock_held_release() gives the number back; its generators make no ids from
 * then on. It has no fencing token, cannot be extended and cannot be detached. dlock_held_free() without a release gives the
 * number back in the background, once the last generator under it is freed too.
 */
dlock_status_t dlock_worker_lease(const struct dlock_client_t *client,
                                  const char *pool,
                                  size_t pool_len,
                                  const struct dlock_worker_options_t *options,
                                  struct dlock_held_t **out_held,
                                  struct dlock_error_t *error);

/**
 * The number that is held, from 0. No I/O. DLOCK_INVALID_ARGUMENT for a hold of anything else, as for all calls about a
 * worker number that is held.
 */
dlock_status_t dlock_worker_number(const struct dlock_held_t *held, int64_t *out_number, struct dlock_error_t *error);

/**
 * How many bits the numbers of its pool have. No I/O.
 */
dlock_status_t dlock_worker_bits(const struct dlock_held_t *held, int64_t *out_bits, struct dlock_error_t *error);

/**
 * Writes the name of its pool and a NUL to `buffer`, and its bytes without the NUL to `out_len`. A buffer of DLOCK_NAME_SIZE is
 * always large enough; one that is not is DLOCK_INVALID_ARGUMENT.
 */
dlock_status_t dlock_worker_pool(const struct dlock_held_t *held,
                                 char *buffer,
                                 size_t buffer_size,
                                 size_t *out_len,
                                 struct dlock_error_t *error);

/**
 * Makes a generator of ids under the number: its low bits are the layout's worker, those above them the datacenter. `layout`
 * may be NULL for "default". Generators of one layout share their state. Each keeps the number until it is freed. No I/O.
 *
 * Its ids are unique whatever the clocks of the machines do: its time begins at the server's, or after the last id of the
 * number's holders before, and goes on by a monotonic clock. DLOCK_LOST when the lease is over, from the generator too, also in
 * the middle of a batch, of which nothing is given out; DLOCK_NOT_HELD after a release. DLOCK_INVALID_ARGUMENT when the numbers
 * of the pool have more bits than the layout's datacenter and worker together.
 */
dlock_status_t dlock_worker_snowflake(const struct dlock_held_t *held,
                                      const struct dlock_layout_t *layout,
                                      struct dlock_snowflake_t **out_snowflake,
                                      struct dlock_error_t *error);

/**
 * Makes a cancel token, to be given to calls that may block and fired from another thread.
 */
dlock_status_t dlock_cancel_new(struct dlock_cancel_t **out_cancel, struct dlock_error_t *error);

/**
 * Ends every call that was given the token with DLOCK_CANCELLED, now and from now on. Callable from any thread.
 */
dlock_status_t dlock_cancel_fire(const struct dlock_cancel_t *cancel, struct dlock_error_t *error);

/**
 * Frees a cancel token. Calls that were given it go on.
 */
dlock_status_t dlock_cancel_free(struct dlock_cancel_t *cancel);

/**
 * Makes a completion port.
 */
dlock_status_t dlock_port_new(struct dlock_port_t **out_port, struct dlock_error_t *error);

/**
 * The port's descriptor, for poll(), epoll or an event loop: readable while there is something to drain. Never read from
 * it, never close it; it ends with the port.
 */
dlock_status_t dlock_port_fd(const struct dlock_port_t *port,
                             int *out_fd,
                             struct dlock_error_t *error);

/**
 * Takes up to `capacity` completions, oldest first, into the array at `completions`, and their number into `out_count`;
 * does not wait, and none is no error. `completion_size` is `sizeof(dlock_completion_t)`. What a completion carries (a held
 * lock, a client) is the caller's from here on.
 */
dlock_status_t dlock_port_drain(const struct dlock_port_t *port,
                                struct dlock_completion_t *completions,
                                size_t completion_size,
                                size_t capacity,
                                size_t *out_count,
                                struct dlock_error_t *error);

/**
 * Cancels an operation: it completes at once with DLOCK_CANCELLED. What it would still get, a hold or a client, is given
 * back; what becomes of an operation that gets nothing stands at its dlock_submit_ function.
 * `out_cancelled`, which may be NULL, becomes false when its one completion was already queued.
 */
dlock_status_t dlock_op_cancel(const struct dlock_op_t *op,
                               bool *out_cancelled,
                               struct dlock_error_t *error);

/**
 * Frees a port. Operations under way end without a completion, and completions that were not drained are undone: locks
 * are released, clients closed.
 */
dlock_status_t dlock_port_free(struct dlock_port_t *port);

/**
 * Opens a client (see dlock_client_open()); completes with DLOCK_COMPLETION_CLIENT. In all functions of this kind
 * `out_op` may be NULL, and when the call does not return DLOCK_OK no completion comes.
 */
dlock_status_t dlock_submit_client_open(const struct dlock_port_t *port,
                                        const char *url,
                                        size_t url_len,
                                        const struct dlock_client_options_t *options,
                                        void *user_data,
                                        struct dlock_op_t **out_op,
                                        struct dlock_error_t *error);

/**
 * Closes a client (see dlock_client_close()); completes with DLOCK_COMPLETION_DONE. Cancelled, it goes on.
 */
dlock_status_t dlock_submit_client_close(const struct dlock_port_t *port,
                                         const struct dlock_client_t *client,
                                         bool release,
                                         void *user_data,
                                         struct dlock_op_t **out_op,
                                         struct dlock_error_t *error);

/**
 * Acquires a lock; completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY if it was not acquired within the wait.
 * The hold is the handle's own: any thread may release it, dlock_held_reenter() takes it once more, and a second acquire
 * waits for the first. Cancelled, it leaves no hold behind.
 */
dlock_status_t dlock_submit_acquire(const struct dlock_port_t *port,
                                    const struct dlock_lock_t *lock,
                                    const struct dlock_acquire_options_t *options,
                                    void *user_data,
                                    struct dlock_op_t **out_op,
                                    struct dlock_error_t *error);

/**
 * Takes a detached hold over (see dlock_lock_attach()); completes with DLOCK_COMPLETION_HELD. Cancelled, it leaves no hold
 * behind, and the text may be used up.
 */
dlock_status_t dlock_submit_attach(const struct dlock_port_t *port,
                                   const struct dlock_lock_t *lock,
                                   const char *detached,
                                   size_t detached_len,
                                   void *user_data,
                                   struct dlock_op_t **out_op,
                                   struct dlock_error_t *error);

/**
 * Frees a lock whoever holds it (see dlock_lock_force_release()); completes with DLOCK_COMPLETION_FLAG. Cancelled, it may be
 * done or not.
 */
dlock_status_t dlock_submit_force_release(const struct dlock_port_t *port,
                                          const struct dlock_lock_t *lock,
                                          void *user_data,
                                          struct dlock_op_t **out_op,
                                          struct dlock_error_t *error);

/**
 * Asks who holds a lock (see dlock_lock_inspect()); completes with DLOCK_COMPLETION_INSPECTION.
 */
dlock_status_t dlock_submit_inspect(const struct dlock_port_t *port,
                                    const struct dlock_lock_t *lock,
                                    void *user_data,
                                    struct dlock_op_t **out_op,
                                    struct dlock_error_t *error);

/**
 * Releases a hold that is the handle's own; completes with DLOCK_COMPLETION_DONE. Cancelled, it goes on.
 */
dlock_status_t dlock_submit_release(const struct dlock_port_t *port,
                                    const struct dlock_held_t *held,
                                    void *user_data,
                                    struct dlock_op_t **out_op,
                                    struct dlock_error_t *error);

/**
 * Extends a hold that is the handle's own (see dlock_lock_extend()); completes with DLOCK_COMPLETION_DONE. Cancelled, it may
 * be done or not.
 */
dlock_status_t dlock_submit_extend(const struct dlock_port_t *port,
                                   const struct dlock_held_t *held,
                                   int64_t lease_ms,
                                   void *user_data,
                                   struct dlock_op_t **out_op,
                                   struct dlock_error_t *error);

/**
 * Detaches a hold that is the handle's own (see dlock_lock_detach()); completes with DLOCK_COMPLETION_TEXT. Cancelled, the
 * hold stays.
 */
dlock_status_t dlock_submit_detach(const struct dlock_port_t *port,
                                   const struct dlock_held_t *held,
                                   void *user_data,
                                   struct dlock_op_t **out_op,
                                   struct dlock_error_t *error);

/**
 * Turns a hold of a write side that is the handle's own into one of the read side (see dlock_held_downgrade()); completes with
 * DLOCK_COMPLETION_HELD. Cancelled, the hold still writes, or both sides are released.
 */
dlock_status_t dlock_submit_downgrade(const struct dlock_port_t *port,
                                      const struct dlock_held_t *held,
                                      void *user_data,
                                      struct dlock_op_t **out_op,
                                      struct dlock_error_t *error);

/**
 * Waits until a hold is over (see dlock_held_wait_lost()); completes with DLOCK_COMPLETION_LOSS, or with DLOCK_BUSY when
 * it was not over within `wait_ms`.
 */
dlock_status_t dlock_submit_wait_lost(const struct dlock_port_t *port,
                                      const struct dlock_held_t *held,
                                      int64_t wait_ms,
                                      void *user_data,
                                      struct dlock_op_t **out_op,
                                      struct dlock_error_t *error);

/**
 * Acquires `permits` of a semaphore (see dlock_semaphore_take()); completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY if
 * they were not available within the wait. The hold is the handle's own: dlock_submit_release(), dlock_submit_extend() and
 * dlock_submit_wait_lost() take it as they take a lock's. Cancelled, it leaves neither a hold nor a place in the queue.
 */
dlock_status_t dlock_submit_semaphore_acquire(const struct dlock_port_t *port,
                                              const struct dlock_semaphore_t *semaphore,
                                              int64_t permits,
                                              const struct dlock_acquire_options_t *options,
                                              void *user_data,
                                              struct dlock_op_t **out_op,
                                              struct dlock_error_t *error);

/**
 * Sets how many permits a semaphore has (see dlock_semaphore_set_permits()); completes with DLOCK_COMPLETION_DONE. Cancelled,
 * it may be done or not.
 */
dlock_status_t dlock_submit_semaphore_set_permits(const struct dlock_port_t *port,
                                                  const struct dlock_semaphore_t *semaphore,
                                                  int64_t permits,
                                                  void *user_data,
                                                  struct dlock_op_t **out_op,
                                                  struct dlock_error_t *error);

/**
 * Asks how many permits a semaphore has (see dlock_semaphore_inspect()); completes with
 * DLOCK_COMPLETION_SEMAPHORE_INSPECTION.
 */
dlock_status_t dlock_submit_semaphore_inspect(const struct dlock_port_t *port,
                                              const struct dlock_semaphore_t *semaphore,
                                              void *user_data,
                                              struct dlock_op_t **out_op,
                                              struct dlock_error_t *error);

/**
 * Acquires a side of a read-write lock (see dlock_rw_lock_take()); completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY if it
 * was not acquired within the wait. The hold is the handle's own: dlock_submit_release(), dlock_submit_extend() and
 * dlock_submit_wait_lost() take it as they take a lock's. Cancelled, it leaves neither a hold nor a place in the queue.
 */
dlock_status_t dlock_submit_rw_lock_acquire(const struct dlock_port_t *port,
                                            const struct dlock_rw_lock_t *side,
                                            const struct dlock_acquire_options_t *options,
                                            void *user_data,
                                            struct dlock_op_t **out_op,
                                            struct dlock_error_t *error);

/**
 * Frees both sides of a read-write lock whoever holds them (see dlock_rw_lock_force_release()); completes with
 * DLOCK_COMPLETION_FLAG. Cancelled, it may be done or not.
 */
dlock_status_t dlock_submit_rw_lock_force_release(const struct dlock_port_t *port,
                                                  const struct dlock_rw_lock_t *side,
                                                  void *user_data,
                                                  struct dlock_op_t **out_op,
                                                  struct dlock_error_t *error);

/**
 * Asks who holds a read-write lock (see dlock_rw_lock_inspect()); completes with DLOCK_COMPLETION_RW_LOCK_INSPECTION.
 */
dlock_status_t dlock_submit_rw_lock_inspect(const struct dlock_port_t *port,
                                            const struct dlock_rw_lock_t *side,
                                            void *user_data,
                                            struct dlock_op_t **out_op,
                                            struct dlock_error_t *error);

/**
 * Acquires several locks as one (see dlock_lock_all_take()); completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY if not all
 * were acquired within the wait. The hold is the handle's own: dlock_submit_release(), dlock_submit_extend() and
 * dlock_submit_wait_lost() take it as they take a lock's. Cancelled, it leaves neither a hold nor a place in a queue.
 */
dlock_status_t dlock_submit_lock_all_acquire(const struct dlock_port_t *port,
                                             const struct dlock_lock_all_t *set,
                                             const struct dlock_acquire_options_t *options,
                                             void *user_data,
                                             struct dlock_op_t **out_op,
                                             struct dlock_error_t *error);

/**
 * Takes `cost` tokens of a limiter, waiting for them at most `wait_ms` (see dlock_rate_limiter_acquire()); completes with
 * DLOCK_COMPLETION_DECISION, whose status is DLOCK_OK or DLOCK_LIMITED. A cancelled operation gives its tokens back, as a
 * cancelled wait does.
 */
dlock_status_t dlock_submit_rate_limit(const struct dlock_port_t *port,
                                       const struct dlock_rate_limiter_t *limiter,
                                       int64_t cost,
                                       int64_t wait_ms,
                                       void *user_data,
                                       struct dlock_op_t **out_op,
                                       struct dlock_error_t *error);

/**
 * Fills a limiter's bucket, for everybody; completes with DLOCK_COMPLETION_DONE.
 */
dlock_status_t dlock_submit_rate_limit_reset(const struct dlock_port_t *port,
                                             const struct dlock_rate_limiter_t *limiter,
                                             void *user_data,
                                             struct dlock_op_t **out_op,
                                             struct dlock_error_t *error);

/**
 * As dlock_submit_rate_limit(), of one key of many; see dlock_rate_limiter_acquire_keyed().
 */
dlock_status_t dlock_submit_rate_limit_keyed(const struct dlock_port_t *port,
                                             const struct dlock_rate_limiter_t *limiter,
                                             const char *key,
                                             size_t key_len,
                                             int64_t cost,
                                             int64_t wait_ms,
                                             void *user_data,
                                             struct dlock_op_t **out_op,
                                             struct dlock_error_t *error);

/**
 * As dlock_submit_rate_limit_reset(), of one key of many; see dlock_rate_limiter_acquire_keyed().
 */
dlock_status_t dlock_submit_rate_limit_reset_keyed(const struct dlock_port_t *port,
                                                   const struct dlock_rate_limiter_t *limiter,
                                                   const char *key,
                                                   size_t key_len,
                                                   void *user_data,
                                                   struct dlock_op_t **out_op,
                                                   struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_reserve(); completes with DLOCK_COMPLETION_DECISION, whose status is DLOCK_OK or DLOCK_LIMITED.
 */
dlock_status_t dlock_submit_rate_limit_reserve(const struct dlock_port_t *port,
                                               const struct dlock_rate_limiter_t *limiter,
                                               int64_t cost,
                                               int64_t wait_ms,
                                               void *user_data,
                                               struct dlock_op_t **out_op,
                                               struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_penalty(); completes with DLOCK_COMPLETION_DONE.
 */
dlock_status_t dlock_submit_rate_limit_penalty(const struct dlock_port_t *port,
                                               const struct dlock_rate_limiter_t *limiter,
                                               int64_t tokens,
                                               void *user_data,
                                               struct dlock_op_t **out_op,
                                               struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_reward(); completes with DLOCK_COMPLETION_DONE.
 */
dlock_status_t dlock_submit_rate_limit_reward(const struct dlock_port_t *port,
                                              const struct dlock_rate_limiter_t *limiter,
                                              int64_t tokens,
                                              void *user_data,
                                              struct dlock_op_t **out_op,
                                              struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_block(); completes with DLOCK_COMPLETION_DONE.
 */
dlock_status_t dlock_submit_rate_limit_block(const struct dlock_port_t *port,
                                             const struct dlock_rate_limiter_t *limiter,
                                             int64_t length_ms,
                                             void *user_data,
                                             struct dlock_op_t **out_op,
                                             struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_reserve_keyed(); completes with DLOCK_COMPLETION_DECISION, whose status is DLOCK_OK or DLOCK_LIMITED.
 */
dlock_status_t dlock_submit_rate_limit_reserve_keyed(const struct dlock_port_t *port,
                                                     const struct dlock_rate_limiter_t *limiter,
                                                     const char *key,
                                                     size_t key_len,
                                                     int64_t cost,
                                                     int64_t wait_ms,
                                                     void *user_data,
                                                     struct dlock_op_t **out_op,
                                                     struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_penalty_keyed(); completes with DLOCK_COMPLETION_DONE.
 */
dlock_status_t dlock_submit_rate_limit_penalty_keyed(const struct dlock_port_t *port,
                                                     const struct dlock_rate_limiter_t *limiter,
                                                     const char *key,
                                                     size_t key_len,
                                                     int64_t tokens,
                                                     void *user_data,
                                                     struct dlock_op_t **out_op,
                                                     struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_reward_keyed(); completes with DLOCK_COMPLETION_DONE.
 */
dlock_status_t dlock_submit_rate_limit_reward_keyed(const struct dlock_port_t *port,
                                                    const struct dlock_rate_limiter_t *limiter,
                                                    const char *key,
                                                    size_t key_len,
                                                    int64_t tokens,
                                                    void *user_data,
                                                    struct dlock_op_t **out_op,
                                                    struct dlock_error_t *error);

/**
 * As dlock_rate_limiter_block_keyed(); completes with DLOCK_COMPLETION_DONE.
 */
dlock_status_t dlock_submit_rate_limit_block_keyed(const struct dlock_port_t *port,
                                                   const struct dlock_rate_limiter_t *limiter,
                                                   const char *key,
                                                   size_t key_len,
                                                   int64_t length_ms,
                                                   void *user_data,
                                                   struct dlock_op_t **out_op,
                                                   struct dlock_error_t *error);

/**
 * Gives a latch a count (see dlock_latch_try_set_count()); completes with DLOCK_COMPLETION_FLAG: whether it was open.
 * Cancelled, it may be done or not.
 */
dlock_status_t dlock_submit_latch_try_set_count(const struct dlock_port_t *port,
                                                const struct dlock_latch_t *latch,
                                                int64_t count,
                                                void *user_data,
                                                struct dlock_op_t **out_op,
                                                struct dlock_error_t *error);

/**
 * Counts a latch down (see dlock_latch_count_down()); completes with DLOCK_COMPLETION_NUMBER: what is left. Cancelled, it may
 * have counted or not.
 */
dlock_status_t dlock_submit_latch_count_down(const struct dlock_port_t *port,
                                             const struct dlock_latch_t *latch,
                                             int64_t by,
                                             void *user_data,
                                             struct dlock_op_t **out_op,
                                             struct dlock_error_t *error);

/**
 * Asks for the count of a latch; completes with DLOCK_COMPLETION_NUMBER.
 */
dlock_status_t dlock_submit_latch_count(const struct dlock_port_t *port,
                                        const struct dlock_latch_t *latch,
                                        void *user_data,
                                        struct dlock_op_t **out_op,
                                        struct dlock_error_t *error);

/**
 * Waits until a latch is open, at most `wait_ms` (see dlock_latch_wait()); completes with DLOCK_COMPLETION_FLAG: whether it
 * was open then.
 */
dlock_status_t dlock_submit_latch_wait(const struct dlock_port_t *port,
                                       const struct dlock_latch_t *latch,
                                       int64_t wait_ms,
                                       void *user_data,
                                       struct dlock_op_t **out_op,
                                       struct dlock_error_t *error);

/**
 * Removes a latch (see dlock_latch_delete()); completes with DLOCK_COMPLETION_FLAG: whether it was there. Cancelled, it may be
 * done or not.
 */
dlock_status_t dlock_submit_latch_delete(const struct dlock_port_t *port,
                                         const struct dlock_latch_t *latch,
                                         void *user_data,
                                         struct dlock_op_t **out_op,
                                         struct dlock_error_t *error);

/**
 * Asks for the next id (see dlock_id_generator_next_id()); completes with DLOCK_COMPLETION_NUMBER, at once as long as the process
 * has one. Cancelled, it may leave a gap.
 */
dlock_status_t dlock_submit_id_generator_next_id(const struct dlock_port_t *port,
                                                 const struct dlock_id_generator_t *generator,
                                                 void *user_data,
                                                 struct dlock_op_t **out_op,
                                                 struct dlock_error_t *error);

/**
 * Adds one item (see dlock_bloom_filter_add()); completes with DLOCK_COMPLETION_FLAG: whether it is new.
 */
dlock_status_t dlock_submit_bloom_filter_add(const struct dlock_port_t *port,
                                             const struct dlock_bloom_filter_t *filter,
                                             const void *item,
                                             size_t item_len,
                                             void *user_data,
                                             struct dlock_op_t **out_op,
                                             struct dlock_error_t *error);

/**
 * Looks for one item (see dlock_bloom_filter_contains()); completes with DLOCK_COMPLETION_FLAG: whether it was added.
 */
dlock_status_t dlock_submit_bloom_filter_contains(const struct dlock_port_t *port,
                                                  const struct dlock_bloom_filter_t *filter,
                                                  const void *item,
                                                  size_t item_len,
                                                  void *user_data,
                                                  struct dlock_op_t **out_op,
                                                  struct dlock_error_t *error);

/**
 * Asks for the count (see dlock_bloom_filter_count()); completes with DLOCK_COMPLETION_NUMBER.
 */
dlock_status_t dlock_submit_bloom_filter_count(const struct dlock_port_t *port,
                                               const struct dlock_bloom_filter_t *filter,
                                               void *user_data,
                                               struct dlock_op_t **out_op,
                                               struct dlock_error_t *error);

/**
 * Removes the filter (see dlock_bloom_filter_clear()); completes with DLOCK_COMPLETION_FLAG: whether it was there.
 */
dlock_status_t dlock_submit_bloom_filter_clear(const struct dlock_port_t *port,
                                               const struct dlock_bloom_filter_t *filter,
                                               void *user_data,
                                               struct dlock_op_t **out_op,
                                               struct dlock_error_t *error);

/**
 * Makes a counting semaphore (see dlock_counting_semaphore_try_set_permits()); completes with DLOCK_COMPLETION_FLAG: whether
 * this has made it. Cancelled, it may be done or not.
 */
dlock_status_t dlock_submit_counting_semaphore_try_set_permits(const struct dlock_port_t *port,
                                                               const struct dlock_counting_semaphore_t *semaphore,
                                                               int64_t permits,
                                                               void *user_data,
                                                               struct dlock_op_t **out_op,
                                                               struct dlock_error_t *error);

/**
 * Acquires permits of a counting semaphore, waiting at most `wait_ms` (see dlock_counting_semaphore_acquire()); completes with
 * DLOCK_COMPLETION_DONE, or with DLOCK_BUSY if they were not available within the wait. Cancelled, it leaves neither permits
 * nor a place in the queue; but when dlock_op_cancel() says that it was too late, the permits are there to be released. A port
 * that is freed gives back those that no completion has told of.
 */
dlock_status_t dlock_submit_counting_semaphore_acquire(const struct dlock_port_t *port,
                                                       const struct dlock_counting_semaphore_t *semaphore,
                                                       int64_t permits,
                                                       int64_t wait_ms,
                                                       void *user_data,
                                                       struct dlock_op_t **out_op,
                                                       struct dlock_error_t *error);

/**
 * Brings back permits of a counting semaphore (see dlock_counting_semaphore_release()); completes with DLOCK_COMPLETION_DONE.
 * Cancelled, it goes on.
 */
dlock_status_t dlock_submit_counting_semaphore_release(const struct dlock_port_t *port,
                                                       const struct dlock_counting_semaphore_t *semaphore,
                                                       int64_t permits,
                                                       void *user_data,
                                                       struct dlock_op_t **out_op,
                                                       struct dlock_error_t *error);

/**
 * Changes how many permits of a counting semaphore are available (see dlock_counting_semaphore_add_permits()); completes with
 * DLOCK_COMPLETION_DONE. Cancelled, it goes on.
 */
dlock_status_t dlock_submit_counting_semaphore_add_permits(const struct dlock_port_t *port,
                                                           const struct dlock_counting_semaphore_t *semaphore,
                                                           int64_t permits,
                                                           void *user_data,
                                                           struct dlock_op_t **out_op,
                                                           struct dlock_error_t *error);

/**
 * Takes all permits of a counting semaphore that are available (see dlock_counting_semaphore_drain()); completes with
 * DLOCK_COMPLETION_NUMBER: how many there were. Cancelled, it may be done or not.
 */
dlock_status_t dlock_submit_counting_semaphore_drain(const struct dlock_port_t *port,
                                                     const struct dlock_counting_semaphore_t *semaphore,
                                                     void *user_data,
                                                     struct dlock_op_t **out_op,
                                                     struct dlock_error_t *error);

/**
 * Asks how many permits a counting semaphore has; completes with DLOCK_COMPLETION_COUNTING_SEMAPHORE_INSPECTION.
 */
dlock_status_t dlock_submit_counting_semaphore_inspect(const struct dlock_port_t *port,
                                                       const struct dlock_counting_semaphore_t *semaphore,
                                                       void *user_data,
                                                       struct dlock_op_t **out_op,
                                                       struct dlock_error_t *error);

/**
 * Puts a job (see dlock_queue_put()); completes with DLOCK_COMPLETION_PUT. Cancelled, it may be done or not.
 */
dlock_status_t dlock_submit_queue_put(const struct dlock_port_t *port,
                                      const struct dlock_queue_t *queue,
                                      const struct dlock_job_t *job,
                                      void *user_data,
                                      struct dlock_op_t **out_op,
                                      struct dlock_error_t *error);

/**
 * Takes the first job that is due (see dlock_queue_take()); completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY when there was
 * none within `wait_ms`. Cancelled, it takes no job: one that was delivered meanwhile goes back, and does not count.
 */
dlock_status_t dlock_submit_queue_take(const struct dlock_port_t *port,
                                       const struct dlock_queue_t *queue,
                                       int64_t wait_ms,
                                       void *user_data,
                                       struct dlock_op_t **out_op,
                                       struct dlock_error_t *error);

/**
 * Counts the jobs (see dlock_queue_counts()); completes with DLOCK_COMPLETION_QUEUE_COUNTS.
 */
dlock_status_t dlock_submit_queue_counts(const struct dlock_port_t *port,
                                         const struct dlock_queue_t *queue,
                                         void *user_data,
                                         struct dlock_op_t **out_op,
                                         struct dlock_error_t *error);

/**
 * Lists jobs that wait (see dlock_queue_peek()); completes with DLOCK_COMPLETION_JOBS.
 */
dlock_status_t dlock_submit_queue_peek(const struct dlock_port_t *port,
                                       const struct dlock_queue_t *queue,
                                       size_t most,
                                       void *user_data,
                                       struct dlock_op_t **out_op,
                                       struct dlock_error_t *error);

/**
 * Lists dead jobs (see dlock_queue_dead()); completes with DLOCK_COMPLETION_JOBS.
 */
dlock_status_t dlock_submit_queue_dead(const struct dlock_port_t *port,
                                       const struct dlock_queue_t *queue,
                                       size_t most,
                                       void *user_data,
                                       struct dlock_op_t **out_op,
                                       struct dlock_error_t *error);

/**
 * Removes a job that waits (see dlock_queue_cancel()); completes with DLOCK_COMPLETION_FLAG. Cancelled, it may be
 * done or not.
 */
dlock_status_t dlock_submit_queue_cancel(const struct dlock_port_t *port,
                                         const struct dlock_queue_t *queue,
                                         const char *job_id,
                                         size_t job_id_len,
                                         void *user_data,
                                         struct dlock_op_t **out_op,
                                         struct dlock_error_t *error);

/**
 * Removes a dead job (see dlock_queue_remove_dead()); completes with DLOCK_COMPLETION_FLAG. Cancelled, it may be
 * done or not.
 */
dlock_status_t dlock_submit_queue_remove_dead(const struct dlock_port_t *port,
                                              const struct dlock_queue_t *queue,
                                              const char *job_id,
                                              size_t job_id_len,
                                              void *user_data,
                                              struct dlock_op_t **out_op,
                                              struct dlock_error_t *error);

/**
 * Has a dead job wait again (see dlock_queue_requeue_dead()); completes with DLOCK_COMPLETION_FLAG. Cancelled, it may be
 * done or not.
 */
dlock_status_t dlock_submit_queue_requeue_dead(const struct dlock_port_t *port,
                                               const struct dlock_queue_t *queue,
                                               const char *job_id,
                                               size_t job_id_len,
                                               void *user_data,
                                               struct dlock_op_t **out_op,
                                               struct dlock_error_t *error);

/**
 * Removes all jobs that wait (see dlock_queue_purge()); completes with DLOCK_COMPLETION_NUMBER. Cancelled, it may
 * be done or not.
 */
dlock_status_t dlock_submit_queue_purge(const struct dlock_port_t *port,
                                        const struct dlock_queue_t *queue,
                                        void *user_data,
                                        struct dlock_op_t **out_op,
                                        struct dlock_error_t *error);

/**
 * Removes all dead jobs (see dlock_queue_purge_dead()); completes with DLOCK_COMPLETION_NUMBER. Cancelled, it may
 * be done or not.
 */
dlock_status_t dlock_submit_queue_purge_dead(const struct dlock_port_t *port,
                                             const struct dlock_queue_t *queue,
                                             void *user_data,
                                             struct dlock_op_t **out_op,
                                             struct dlock_error_t *error);

/**
 * Has all dead jobs wait again (see dlock_queue_requeue_all_dead()); completes with DLOCK_COMPLETION_NUMBER. Cancelled, it may
 * be done or not.
 */
dlock_status_t dlock_submit_queue_requeue_all_dead(const struct dlock_port_t *port,
                                                   const struct dlock_queue_t *queue,
                                                   void *user_data,
                                                   struct dlock_op_t **out_op,
                                                   struct dlock_error_t *error);

/**
 * Removes a job that is done (see dlock_delivery_ack()); completes with DLOCK_COMPLETION_DONE. Cancelled, it goes on.
 */
dlock_status_t dlock_submit_delivery_ack(const struct dlock_port_t *port,
                                         const struct dlock_held_t *held,
                                         void *user_data,
                                         struct dlock_op_t **out_op,
                                         struct dlock_error_t *error);

/**
 * Puts a job back (see dlock_delivery_nack()); completes with DLOCK_COMPLETION_DONE. Cancelled, it goes on.
 */
dlock_status_t dlock_submit_delivery_nack(const struct dlock_port_t *port,
                                          const struct dlock_held_t *held,
                                          int64_t delay_ms,
                                          const char *reason,
                                          size_t reason_len,
                                          void *user_data,
                                          struct dlock_op_t **out_op,
                                          struct dlock_error_t *error);

/**
 * Puts a job back that was not begun (see dlock_delivery_give_back()); completes with DLOCK_COMPLETION_DONE. Cancelled, it goes
 * on.
 */
dlock_status_t dlock_submit_delivery_give_back(const struct dlock_port_t *port,
                                               const struct dlock_held_t *held,
                                               void *user_data,
                                               struct dlock_op_t **out_op,
                                               struct dlock_error_t *error);

/**
 * Leases a worker number (see dlock_worker_lease()); completes with DLOCK_COMPLETION_HELD, or with DLOCK_BUSY when all are
 * taken. dlock_submit_release() and dlock_submit_wait_lost() take the hold as they take a lock's. Cancelled, it leaves nothing
 * leased.
 */
dlock_status_t dlock_submit_worker_lease(const struct dlock_port_t *port,
                                         const struct dlock_client_t *client,
                                         const char *pool,
                                         size_t pool_len,
                                         const struct dlock_worker_options_t *options,
                                         void *user_data,
                                         struct dlock_op_t **out_op,
                                         struct dlock_error_t *error);

/**
 * Ends libdlock in this process: every object, its thread, its connections. Of its memory a few hundred bytes are left, of a
 * size that does not grow: what tells later calls that it has ended, the last ids, the table of the `memory://` stores; see
 * share/dlock/valgrind.supp. Programs need not call it: it is for tools that report what is left at exit, and for plugins with
 * libdlock.a in them, before they are unloaded. Calls that wait in other threads return DLOCK_CLOSED, and so does every call
 * with an object from before, the `_free` functions included. The outcome of a call that was under way and returned
 * DLOCK_CLOSED is unknown: a lock that it acquired is free when its lease runs out. Descriptors of ports are closed. Clients
 * are closed without a release, since a thread may still be at work: release first what is to be free at once. May be called
 * from an atexit handler. DLOCK_BUSY when a call of another thread has not ended after 5 s: call it again.
 *
 * Once it has returned DLOCK_OK, the next dlock_client_open(), dlock_port_new(), dlock_cancel_new() or
 * dlock_snowflake_open() starts the library again, as in a plugin that is loaded once more; the memory that was left is not
 * freed. Until then every call but this one returns DLOCK_CLOSED.
 */
dlock_status_t dlock_shutdown(struct dlock_error_t *error);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* DLOCK_H */


/* NULL without a warning, whatever the language. */
#ifdef __cplusplus
#if __cplusplus >= 201103L
#define DLOCK_NULL nullptr
#endif
#endif
#ifndef DLOCK_NULL
#define DLOCK_NULL NULL
#endif

/* The struct with nothing said: start from it, then set what you need. */
#define DLOCK_ERROR_INIT \
  { \
    sizeof(dlock_error_t), DLOCK_OK, {0}, {0}, {0}, {0}, -1, -1, {0}, false \
  }
#define DLOCK_CLIENT_OPTIONS_INIT \
  { \
    sizeof(dlock_client_options_t), DLOCK_NULL, 0, DLOCK_NULL, DLOCK_NULL \
  }
#define DLOCK_LOCK_OPTIONS_INIT \
  { \
    sizeof(dlock_lock_options_t), 0, -1, 0 \
  }
#define DLOCK_ACQUIRE_OPTIONS_INIT \
  { \
    sizeof(dlock_acquire_options_t), -1, 0, DLOCK_NULL \
  }
#define DLOCK_INSPECTION_INIT \
  { \
    sizeof(dlock_inspection_t), false, false, -1, 0, {0}, 0 \
  }
#define DLOCK_SEMAPHORE_OPTIONS_INIT \
  { \
    sizeof(dlock_semaphore_options_t), 0, 0 \
  }
#define DLOCK_SEMAPHORE_INSPECTION_INIT \
  { \
    sizeof(dlock_semaphore_inspection_t), false, 0, 0, 0 \
  }
#define DLOCK_RW_LOCK_OPTIONS_INIT \
  { \
    sizeof(dlock_rw_lock_options_t), 0, -1, 0, -1 \
  }
#define DLOCK_RW_LOCK_INSPECTION_INIT \
  { \
    sizeof(dlock_rw_lock_inspection_t), false, false, 0, -1, 0, {0}, 0 \
  }
#define DLOCK_COUNTING_SEMAPHORE_INSPECTION_INIT \
  { \
    sizeof(dlock_counting_semaphore_inspection_t), false, 0, 0 \
  }
#define DLOCK_QUEUE_OPTIONS_INIT \
  { \
    sizeof(dlock_queue_options_t), 0, 0, DLOCK_QUEUE_ATTEMPTS_DEFAULT, DLOCK_QUEUE_PAYLOAD_DEFAULT, 0 \
  }
#define DLOCK_JOB_INIT \
  { \
    sizeof(dlock_job_t), DLOCK_NULL, 0, DLOCK_NULL, 0, 0, -1, 0 \
  }
#define DLOCK_PUT_INIT \
  { \
    sizeof(dlock_put_t), false, 0, {0} \
  }
#define DLOCK_DELIVERY_INIT \
  { \
    sizeof(dlock_delivery_t), DLOCK_NULL, 0, 0, {0}, 0, 0, 0 \
  }
#define DLOCK_QUEUE_COUNTS_INIT \
  { \
    sizeof(dlock_queue_counts_t), 0, 0, 0, 0, 0 \
  }
#define DLOCK_LISTED_JOB_INIT \
  { \
    sizeof(dlock_listed_job_t), DLOCK_NULL, 0, 0, {0}, 0, 0, false, 0, 0, {0} \
  }
#define DLOCK_WORKER_OPTIONS_INIT \
  { \
    sizeof(dlock_worker_options_t), DLOCK_WORKER_BITS_DEFAULT, 0, DLOCK_NULL \
  }
#define DLOCK_STATS_INIT \
  { \
    sizeof(dlock_stats_t), 0 \
  }
#define DLOCK_LOCK_STATS_INIT \
  { \
    sizeof(dlock_lock_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, {0}}, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_LIMITER_STATS_INIT \
  { \
    sizeof(dlock_limiter_stats_t), 0, 0, 0, 0, 0, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_SEMAPHORE_STATS_INIT \
  { \
    sizeof(dlock_semaphore_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, {0}}, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_RW_LOCK_STATS_INIT \
  { \
    sizeof(dlock_rw_lock_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, {0}}, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_COUNTING_SEMAPHORE_STATS_INIT \
  { \
    sizeof(dlock_counting_semaphore_stats_t), 0, 0, 0, 0, 0, 0, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_LATCH_STATS_INIT \
  { \
    sizeof(dlock_latch_stats_t), 0, 0, 0, 0, 0, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_WORKER_STATS_INIT \
  { \
    sizeof(dlock_worker_stats_t), 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, {0}}, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_QUEUE_STATS_INIT \
  { \
    sizeof(dlock_queue_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, {0}}, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_DETACHED_INIT \
  { \
    sizeof(dlock_detached_t), 0, { 0 } \
  }
#define DLOCK_DECISION_INIT \
  { \
    sizeof(dlock_decision_t), false, 0, 0, 0, 0, 0, -1, 0, -1 \
  }
#define DLOCK_RATE_LIMITER_OPTIONS_INIT \
  { \
    sizeof(dlock_rate_limiter_options_t), false, 0, DLOCK_ABSENT_FAIL, 0, DLOCK_ALGORITHM_GCRA, DLOCK_NULL, 0, 0 \
  }
#define DLOCK_LAYOUT_INIT \
  { \
    sizeof(dlock_layout_t), 0, 0, 0, 0, 0 \
  }
#define DLOCK_SNOWFLAKE_OPTIONS_INIT \
  { \
    sizeof(dlock_snowflake_options_t), DLOCK_NULL, 0, -1 \
  }
#define DLOCK_ID_PARTS_INIT \
  { \
    sizeof(dlock_id_parts_t), 0, 0, 0, 0 \
  }
