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
    std::uint64_t count = 0;
    std::chrono::microseconds sum{};
    std::chrono::microseconds mean{};
    /// What half of them did not exceed: never too small, less than twice too large.
    std::chrono::microseconds p50{};
    /// What 99 of 100 did not exceed, as precise.
    std::chrono::microseconds p99{};
    std::chrono::microseconds max{};
    /// Less than 1 us, 1 to 2 us, 2 to 4 us, and so on; the last one counts everything longer too.
    std::array<std::uint64_t, DLOCK_HISTOGRAM_BUCKETS> buckets{};

    histogram() = default;
    explicit histogram(const dlock_histogram_t& times)
        : count(times.count), sum(times.sum_us), mean(times.mean_us), p50(times.p50_us), p99(times.p99_us),
          max(times.max_us) {
        for (std::size_t i = 0; i < buckets.size(); i++) buckets[i] = times.buckets[i];
    }
};

/// What a client has counted since it was opened, for its locks.
struct stats {
    /// Holds granted to a caller; re-entries are none.
    std::uint64_t acquired = 0;
    /// Of those, the ones that had to wait.
    std::uint64_t contended = 0;
    /// Of those that waited, the ones that a holder of this process handed over.
    std::uint64_t handed_over_local = 0;
    /// Of those that waited, the ones whose turn came in the queue between processes.
    std::uint64_t handed_over_remote = 0;
    /// Acquires that were not granted within their wait.
    std::uint64_t wait_timeouts = 0;
    /// Acquires whose caller gave up while they waited.
    std::uint64_t cancelled = 0;
    /// Requests sent again because no answer came.
    std::uint64_t retries = 0;
    /// Leases prolonged by the watchdog, one for each lock and time.
    std::uint64_t renewals = 0;
    /// Renewals that failed and were tried again while the lease lasted.
    std::uint64_t renewal_failures = 0;
    /// Holds that were lost.
    std::uint64_t lost = 0;
    /// Holds that ended by a release.
    std::uint64_t released = 0;
    /// Callers that wait now.
    std::uint64_t waiting = 0;
    /// Holds that are looked after now.
    std::uint64_t held = 0;
    /// From the call of an acquire to its grant: as many as `acquired`.
    histogram wait_time;
    /// From a grant to the beginning of its release: as many as `released`.
    histogram hold_time;

    stats() = default;
    explicit stats(const dlock_stats_t& seen)
        : acquired(seen.acquired), contended(seen.contended), handed_over_local(seen.handed_over_local),
          handed_over_remote(seen.handed_over_remote), wait_timeouts(seen.wait_timeouts), cancelled(seen.cancelled),
          retries(seen.retries), renewals(seen.renewals), renewal_failures(seen.renewal_failures), lost(seen.lost),
          released(seen.released), waiting(seen.waiting), held(seen.held), wait_time(seen.wait_time),
          hold_time(seen.hold_time) {}
};

} // namespace dlock

#endif
