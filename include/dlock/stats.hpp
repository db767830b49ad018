/*
 * dlock/stats.hpp: what a client has counted. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DLOCK_STATS_HPP
#define DLOCK_STATS_HPP

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "../dlock.h"

namespace dlock {

/// How often something took how long.
struct histogram {
    // <api:histogram> written by `python3 api/write.py` from api/records.json
    /// How many there were.
    std::uint64_t count = 0;
    /// All together.
    std::chrono::microseconds sum{};
    /// On average.
    std::chrono::microseconds mean{};
    /// What half of them did not exceed: never too small, less than twice too large.
    std::chrono::microseconds p50{};
    /// What 99 of 100 did not exceed, as precise.
    std::chrono::microseconds p99{};
    /// The longest.
    std::chrono::microseconds max{};
    /// How many took less than 1 us, 1 to 2 us, 2 to 4 us, and so on; the last one counts everything longer too.
    std::array<std::uint64_t, DLOCK_HISTOGRAM_BUCKETS> buckets{};
    // </api:histogram>

    histogram() = default;
    // <api:histogram-of> written by `python3 api/write.py` from api/records.json
    explicit histogram(const dlock_histogram_t& times)
        : count(times.count), sum(times.sum_us), mean(times.mean_us), p50(times.p50_us), p99(times.p99_us) {
        // </api:histogram-of>
        // Not in the list of initialisers, which would call a macro of windows.h.
        max = std::chrono::microseconds(times.max_us);
        for (std::size_t i = 0; i < buckets.size(); i++) buckets[i] = times.buckets[i];
    }
};

/// What the locks of a client have counted.
struct lock_stats {
    // <api:lock-stats> written by `python3 api/write.py` from api/records.json
    /// Holds granted to a caller; taking over a detached hold counts, a re-entry does not.
    std::uint64_t acquired = 0;
    /// Acquires that had to wait, and were granted.
    std::uint64_t contended = 0;
    /// Of those that waited, the ones that a holder of this process handed over.
    std::uint64_t handed_over_local = 0;
    /// Of those that waited, the ones whose turn came in the queue between processes.
    std::uint64_t handed_over_remote = 0;
    /// Acquires that were not granted within their wait.
    std::uint64_t wait_timeouts = 0;
    /// Acquires whose caller gave up while it waited.
    std::uint64_t cancelled = 0;
    /// Leases prolonged by the watchdog, one for each lock and time.
    std::uint64_t renewals = 0;
    /// Renewals that got no answer or a passing error, and were tried again while the lease lasted.
    std::uint64_t renewal_failures = 0;
    /// Holds that were lost, abandoned ones included.
    std::uint64_t lost = 0;
    /// Holds that ended by a release; detaching is one.
    std::uint64_t released = 0;
    /// Callers that wait now.
    std::uint64_t waiting = 0;
    /// Holds that are looked after now.
    std::uint64_t held = 0;
    /// From the call of an acquire to its grant, waited or not: as many as `acquired`.
    histogram wait_time;
    /// From a grant to the beginning of its release: as many as `released`.
    histogram hold_time;
    // </api:lock-stats>

    lock_stats() = default;
    // <api:lock-stats-of> written by `python3 api/write.py` from api/records.json
    explicit lock_stats(const dlock_lock_stats_t& seen)
        : acquired(seen.acquired), contended(seen.contended), handed_over_local(seen.handed_over_local),
          handed_over_remote(seen.handed_over_remote), wait_timeouts(seen.wait_timeouts), cancelled(seen.cancelled),
          renewals(seen.renewals), renewal_failures(seen.renewal_failures), lost(seen.lost), released(seen.released),
          waiting(seen.waiting), held(seen.held), wait_time(seen.wait_time), hold_time(seen.hold_time) {}
    // </api:lock-stats-of>
};

/// What the rate limiters of a client have counted; a peek is not counted.
struct limiter_stats {
    // <api:limiter-stats> written by `python3 api/write.py` from api/records.json
    /// Calls that got their tokens.
    std::uint64_t granted = 0;
    /// Calls that were refused.
    std::uint64_t refused = 0;
    /// Tokens that were granted.
    std::uint64_t tokens = 0;
    /// Of all these calls, the ones that a policy decided while the server was away.
    std::uint64_t by_policy = 0;
    /// Callers that wait now.
    std::uint64_t waiting = 0;
    /// From a call to its grant, waited or not: as many as `granted`.
    histogram wait_time;
    // </api:limiter-stats>

    limiter_stats() = default;
    // <api:limiter-stats-of> written by `python3 api/write.py` from api/records.json
    explicit limiter_stats(const dlock_limiter_stats_t& seen)
        : granted(seen.granted), refused(seen.refused), tokens(seen.tokens), by_policy(seen.by_policy),
          waiting(seen.waiting), wait_time(seen.wait_time) {}
    // </api:limiter-stats-of>
};

/// What the semaphores of a client have counted.
struct semaphore_stats {
    // <api:semaphore-stats> written by `python3 api/write.py` from api/records.json
    /// Holds granted to a caller, of however many permits each.
    std::uint64_t acquired = 0;
    /// Acquires that had to wait, and were granted.
    std::uint64_t contended = 0;
    /// Of those that waited, the ones that a holder of this process handed over.
    std::uint64_t handed_over_local = 0;
    /// Of those that waited, the ones whose turn came in the queue between processes.
    std::uint64_t handed_over_remote = 0;
    /// Acquires that were not granted within their wait.
    std::uint64_t wait_timeouts = 0;
    /// Acquires whose caller gave up while it waited.
    std::uint64_t cancelled = 0;
    /// Leases prolonged by the watchdog, one for each hold and time.
    std::uint64_t renewals = 0;
    /// Renewals that got no answer or a passing error, and were tried again while the lease lasted.
    std::uint64_t renewal_failures = 0;
    /// Holds that were lost, abandoned ones included.
    std::uint64_t lost = 0;
    /// Holds that ended by a release.
    std::uint64_t released = 0;
    /// Callers that wait now.
    std::uint64_t waiting = 0;
    /// Holds that are looked after now.
    std::uint64_t held = 0;
    /// From the call of an acquire to its grant, waited or not: as many as `acquired`.
    histogram wait_time;
    /// From a grant to the beginning of its release: as many as `released`.
    histogram hold_time;
    // </api:semaphore-stats>

    semaphore_stats() = default;
    // <api:semaphore-stats-of> written by `python3 api/write.py` from api/records.json
    explicit semaphore_stats(const dlock_semaphore_stats_t& seen)
        : acquired(seen.acquired), contended(seen.contended), handed_over_local(seen.handed_over_local),
          handed_over_remote(seen.handed_over_remote), wait_timeouts(seen.wait_timeouts), cancelled(seen.cancelled),
          renewals(seen.renewals), renewal_failures(seen.renewal_failures), lost(seen.lost), released(seen.released),
          waiting(seen.waiting), held(seen.held), wait_time(seen.wait_time), hold_time(seen.hold_time) {}
    // </api:semaphore-stats-of>
};

/// What the read-write locks of a client have counted; readers that share a hold of the server are counted one by one,
/// unless the field says otherwise.
struct rw_lock_stats {
    // <api:rw_lock-stats> written by `python3 api/write.py` from api/records.json
    /// Holds granted to a caller, of either side; a re-entry does not count.
    std::uint64_t acquired = 0;
    /// Acquires that had to wait, and were granted.
    std::uint64_t contended = 0;
    /// Of those that waited, the readers that share the hold of another one of this process.
    std::uint64_t handed_over_local = 0;
    /// Of those that waited, the ones whose turn came in the queue between processes.
    std::uint64_t handed_over_remote = 0;
    /// Acquires that were not granted within their wait.
    std::uint64_t wait_timeouts = 0;
    /// Acquires whose caller gave up while it waited.
    std::uint64_t cancelled = 0;
    /// Leases prolonged by the watchdog, one for each hold of the server and time.
    std::uint64_t renewals = 0;
    /// Renewals that got no answer or a passing error, and were tried again while the lease lasted.
    std::uint64_t renewal_failures = 0;
    /// Holds of the server that were lost, abandoned ones included.
    std::uint64_t lost = 0;
    /// Holds that ended by a release.
    std::uint64_t released = 0;
    /// Callers that wait now.
    std::uint64_t waiting = 0;
    /// Holds of the server that are looked after now.
    std::uint64_t held = 0;
    /// From the call of an acquire to its grant, waited or not: as many as `acquired`.
    histogram wait_time;
    /// From a grant to the beginning of its release: as many as `released`.
    histogram hold_time;
    // </api:rw_lock-stats>

    rw_lock_stats() = default;
    // <api:rw_lock-stats-of> written by `python3 api/write.py` from api/records.json
    explicit rw_lock_stats(const dlock_rw_lock_stats_t& seen)
        : acquired(seen.acquired), contended(seen.contended), handed_over_local(seen.handed_over_local),
          handed_over_remote(seen.handed_over_remote), wait_timeouts(seen.wait_timeouts), cancelled(seen.cancelled),
          renewals(seen.renewals), renewal_failures(seen.renewal_failures), lost(seen.lost), released(seen.released),
          waiting(seen.waiting), held(seen.held), wait_time(seen.wait_time), hold_time(seen.hold_time) {}
    // </api:rw_lock-stats-of>
};

/// What the counting semaphores of a client have counted; `released` may exceed `acquired`: anybody may release.
struct counting_semaphore_stats {
    // <api:counting_semaphore-stats> written by `python3 api/write.py` from api/records.json
    /// Acquires that were granted, of however many permits each.
    std::uint64_t acquired = 0;
    /// Acquires that had to wait, and were granted.
    std::uint64_t contended = 0;
    /// Acquires that were not granted within their wait.
    std::uint64_t wait_timeouts = 0;
    /// Acquires whose caller gave up while it waited.
    std::uint64_t cancelled = 0;
    /// Releases that the server has confirmed, of however many permits each.
    std::uint64_t released = 0;
    /// Callers that wait now.
    std::uint64_t waiting = 0;
    /// From the call of an acquire to its grant, waited or not: as many as `acquired`.
    histogram wait_time;
    // </api:counting_semaphore-stats>

    counting_semaphore_stats() = default;
    // <api:counting_semaphore-stats-of> written by `python3 api/write.py` from api/records.json
    explicit counting_semaphore_stats(const dlock_counting_semaphore_stats_t& seen)
        : acquired(seen.acquired), contended(seen.contended), wait_timeouts(seen.wait_timeouts),
          cancelled(seen.cancelled), released(seen.released), waiting(seen.waiting), wait_time(seen.wait_time) {}
    // </api:counting_semaphore-stats-of>
};

/// What the latches of a client have counted.
struct latch_stats {
    // <api:latch-stats> written by `python3 api/write.py` from api/records.json
    /// Calls that counted down, by however many each.
    std::uint64_t counted_down = 0;
    /// Waits that found the latch open.
    std::uint64_t opened = 0;
    /// Waits whose time was over first.
    std::uint64_t wait_timeouts = 0;
    /// Waits whose caller gave up.
    std::uint64_t cancelled = 0;
    /// Callers that wait now.
    std::uint64_t waiting = 0;
    /// From the call of a wait until it found the latch open: as many as `opened`.
    histogram wait_time;
    // </api:latch-stats>

    latch_stats() = default;
    // <api:latch-stats-of> written by `python3 api/write.py` from api/records.json
    explicit latch_stats(const dlock_latch_stats_t& seen)
        : counted_down(seen.counted_down), opened(seen.opened), wait_timeouts(seen.wait_timeouts),
          cancelled(seen.cancelled), waiting(seen.waiting), wait_time(seen.wait_time) {}
    // </api:latch-stats-of>
};

/// What the worker numbers of a client have counted.
struct worker_stats {
    // <api:worker-stats> written by `python3 api/write.py` from api/records.json
    /// Numbers leased.
    std::uint64_t acquired = 0;
    /// Leases that were refused because all numbers were taken.
    std::uint64_t refused = 0;
    /// Leases prolonged by the watchdog, one for each number and time.
    std::uint64_t renewals = 0;
    /// Renewals that got no answer or a passing error, and were tried again while the lease lasted.
    std::uint64_t renewal_failures = 0;
    /// Numbers that were lost.
    std::uint64_t lost = 0;
    /// Numbers that were given back.
    std::uint64_t released = 0;
    /// Numbers that are looked after now.
    std::uint64_t held = 0;
    /// From the call to the number: as many as `acquired`.
    histogram wait_time;
    /// From the lease of a number to the beginning of its release: as many as `released`.
    histogram hold_time;
    // </api:worker-stats>

    worker_stats() = default;
    // <api:worker-stats-of> written by `python3 api/write.py` from api/records.json
    explicit worker_stats(const dlock_worker_stats_t& seen)
        : acquired(seen.acquired), refused(seen.refused), renewals(seen.renewals),
          renewal_failures(seen.renewal_failures), lost(seen.lost), released(seen.released), held(seen.held),
          wait_time(seen.wait_time), hold_time(seen.hold_time) {}
    // </api:worker-stats-of>
};

/// What the queues of a client have counted.
struct queue_stats {
    // <api:queue-stats> written by `python3 api/write.py` from api/records.json
    /// Jobs put.
    std::uint64_t put = 0;
    /// Jobs that were not put because a job of their id was there.
    std::uint64_t duplicates = 0;
    /// Requests to put jobs that were refused because the queue was full.
    std::uint64_t full = 0;
    /// Jobs delivered to a caller.
    std::uint64_t taken = 0;
    /// Of these, the ones that the caller had to wait for.
    std::uint64_t contended = 0;
    /// Takes that brought no job within their wait.
    std::uint64_t wait_timeouts = 0;
    /// Takes whose caller gave up while it waited.
    std::uint64_t cancelled = 0;
    /// Deliveries that were acknowledged.
    std::uint64_t acked = 0;
    /// Deliveries that were put back, the ones that were let go included.
    std::uint64_t nacked = 0;
    /// Of these, the ones whose job was delivered as often as it may be, and is dead.
    std::uint64_t dead = 0;
    /// Jobs that were cancelled, purged, or removed from the dead ones.
    std::uint64_t removed = 0;
    /// Leases prolonged by the watchdog, one for each delivery and time.
    std::uint64_t renewals = 0;
    /// Renewals that got no answer or a passing error, and were tried again while the lease lasted.
    std::uint64_t renewal_failures = 0;
    /// Deliveries that were lost, and come again.
    std::uint64_t lost = 0;
    /// Callers that wait now.
    std::uint64_t waiting = 0;
    /// Deliveries that are looked after now.
    std::uint64_t held = 0;
    /// From the call of a take to its delivery, waited or not: as many as `taken`.
    histogram wait_time;
    /// From a delivery to the beginning of its end by its worker.
    histogram hold_time;
    // </api:queue-stats>

    queue_stats() = default;
    // <api:queue-stats-of> written by `python3 api/write.py` from api/records.json
    explicit queue_stats(const dlock_queue_stats_t& seen)
        : put(seen.put), duplicates(seen.duplicates), full(seen.full), taken(seen.taken), contended(seen.contended),
          wait_timeouts(seen.wait_timeouts), cancelled(seen.cancelled), acked(seen.acked), nacked(seen.nacked),
          dead(seen.dead), removed(seen.removed), renewals(seen.renewals), renewal_failures(seen.renewal_failures),
          lost(seen.lost), waiting(seen.waiting), held(seen.held), wait_time(seen.wait_time),
          hold_time(seen.hold_time) {}
    // </api:queue-stats-of>
};

/// What a client has counted since it was opened: what is its own, and a block for each kind of object.
struct stats {
    // <api:stats> written by `python3 api/write.py` from api/records.json
    /// Requests sent again because no answer came.
    std::uint64_t retries = 0;
    /// What its locks have counted.
    lock_stats lock;
    /// What its rate limiters have counted.
    limiter_stats limiter;
    /// What its semaphores have counted.
    semaphore_stats semaphore;
    /// What its read-write locks have counted.
    rw_lock_stats rw_lock;
    /// What its counting semaphores have counted.
    counting_semaphore_stats counting_semaphore;
    /// What its latches have counted.
    latch_stats latch;
    /// What its worker numbers have counted.
    worker_stats worker;
    /// What its queues have counted.
    queue_stats queue;
    // </api:stats>

    stats() = default;
    // <api:stats-of> written by `python3 api/write.py` from api/records.json
    stats(const dlock_stats_t& seen, const lock_stats& of_lock, const limiter_stats& of_limiter,
          const semaphore_stats& of_semaphore, const rw_lock_stats& of_rw_lock,
          const counting_semaphore_stats& of_counting_semaphore, const latch_stats& of_latch,
          const worker_stats& of_worker, const queue_stats& of_queue)
        : retries(seen.retries), lock(of_lock), limiter(of_limiter), semaphore(of_semaphore), rw_lock(of_rw_lock),
          counting_semaphore(of_counting_semaphore), latch(of_latch), worker(of_worker), queue(of_queue) {}
    // </api:stats-of>
};

} // namespace dlock

#endif
