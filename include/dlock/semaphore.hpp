/*
 * dlock/semaphore.hpp: semaphores, whose permits are held by a thread or by an object. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::semaphore downloads{client, "downloads", 10};
 *     dlock::hold permit = downloads.take();          // one of at most ten at a time; released with the object
 *
 *     if (downloads.try_acquire_for(2s)) {            // or with the verbs of std::counting_semaphore, by thread
 *         download();
 *         downloads.release();
 *     }
 */
#ifndef DLOCK_SEMAPHORE_HPP
#define DLOCK_SEMAPHORE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "../dlock.h"
#include "client.hpp"
#include "detail.hpp"
#include "error.hpp"
#include "held.hpp"
#include "hold.hpp"

namespace dlock {

/// How to open a semaphore.
struct semaphore_options {
    /// Zero: a lease that is renewed while permits are held, see `watchdog_lease`. Otherwise a lease that is not
    /// renewed.
    std::chrono::milliseconds lease{0};
    /// The lease that is renewed, every third of it. Zero: the client's. Not together with a `lease`.
    std::chrono::milliseconds watchdog_lease{0};
};

/// How many permits a semaphore has, as the server sees it.
struct semaphore_inspection {
    /// In all; nothing when the semaphore is not there: the first acquire makes it.
    std::optional<std::uint64_t> permits{};
    /// How many can be acquired now; negative after the number was lowered below what is taken.
    std::int64_t available = 0;
    /// How many processes stand in the queue.
    std::uint64_t queued = 0;
};

/// A semaphore by name, with the verbs of std::counting_semaphore. Unlike that it leases its permits: who holds them is
/// known, and what a process that died has held comes back. So a thread releases what it has acquired itself, each
/// acquire once and with all its permits; take() gives a hold that any thread may release. Permits cannot be released
/// that nobody has acquired: set_permits() says how many there are.
class semaphore {
public:
    /// `permits`, 1 to max(), is how many there are in all if the first acquire makes the semaphore on the server; one
    /// that is there keeps its own number.
    semaphore(const client& client, std::string_view name, std::int64_t permits,
              const semaphore_options& options = {}) {
        dlock_semaphore_options_t how = DLOCK_SEMAPHORE_OPTIONS_INIT;
        how.lease_ms = options.lease.count();
        how.watchdog_lease_ms = options.watchdog_lease.count();
        detail::check([&](auto* cause) {
            return dlock_semaphore_open(client.get(), name.data(), name.size(), permits, &how, semaphore_.out(), cause);
        });
    }

    /// The most permits that there can be.
    [[nodiscard]] static constexpr std::ptrdiff_t(max)() noexcept { return 2147483647; }

    /// Acquires one permit for the calling thread, waiting as long as it takes. Each acquire is a hold of its own: a
    /// thread that has permits waits for more like any other caller.
    void acquire() {
        detail::check(
            [&](auto* cause) { return dlock_semaphore_acquire(semaphore_.get(), 1, nullptr, nullptr, cause); });
    }
    /// Acquires `permits`, 1 to 10000, all at once, returning the hold; throws dlock::acquire_timeout, and
    /// dlock::invalid_argument for more than there are in all. Ended by release() on the same thread.
    dlock::held acquire(std::int64_t permits, const acquire_options& options = {}) {
        const dlock_acquire_options_t how = detail::how(options);
        return dlock::held::from([&](auto** out, auto* cause) {
            return dlock_semaphore_acquire(semaphore_.get(), permits, &how, out, cause);
        });
    }
    /// Acquires `permits` if so many are available now. False also when the queue head was jumped twice already.
    [[nodiscard]] bool try_acquire(std::int64_t permits = 1) { return try_ms(permits, 0) == DLOCK_OK; }
    /// Acquires `permits`, waiting at most `wait`.
    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> wait, std::int64_t permits = 1) {
        return try_ms(permits, detail::wait_ms(wait)) == DLOCK_OK;
    }
    /// Acquires `permits`, waiting until `deadline` at the latest.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_acquire_until(std::chrono::time_point<Clock, Duration> deadline, std::int64_t permits = 1) {
        const auto attempt = [&](std::int64_t wait_ms) { return try_ms(permits, wait_ms); };
        return detail::try_until(deadline, attempt) == DLOCK_OK;
    }
    /// Ends the latest acquire of the calling thread, with all its permits. Throws dlock::not_held when this thread has
    /// none, or its lease ran out; so a destructor that may not throw releases a hold of take() instead. `update` is
    /// there for those who know std::counting_semaphore: anything but 1 throws dlock::invalid_argument.
    void release(std::ptrdiff_t update = 1) {
        if (update != 1) refuse(update);
        end(nullptr);
    }
    /// Ends that acquire of the calling thread, as acquire() has returned it.
    void release(const dlock::held& which) { end(which.get()); }

    /// As acquire(), but the hold belongs to what is returned and to no thread: see dlock::hold.
    [[nodiscard]] hold take(std::int64_t permits = 1, const acquire_options& options = {}) {
        const dlock_acquire_options_t how = detail::how(options);
        return hold::from(
            [&](auto** out, auto* cause) { return dlock_semaphore_take(semaphore_.get(), permits, &how, out, cause); });
    }
    /// As take() without waiting; nothing when so many are not to be had.
    [[nodiscard]] std::optional<hold> try_take(std::int64_t permits = 1) {
        return try_take_for(std::chrono::milliseconds::zero(), permits);
    }
    /// As take(), waiting at most `wait`; nothing when so many were not to be had.
    template <class Rep, class Period>
    [[nodiscard]] std::optional<hold> try_take_for(std::chrono::duration<Rep, Period> wait, std::int64_t permits = 1) {
        dlock_acquire_options_t how = DLOCK_ACQUIRE_OPTIONS_INIT;
        how.wait_ms = detail::wait_ms(wait);
        return hold::try_from(
            [&](auto** out, auto* cause) { return dlock_semaphore_take(semaphore_.get(), permits, &how, out, cause); });
    }

    /// The calling thread's latest hold; throws dlock::not_held when it has none.
    [[nodiscard]] dlock::held held() const {
        return dlock::held::from(
            [&](auto** out, auto* cause) { return dlock_semaphore_held(semaphore_.get(), out, cause); });
    }
    /// How many holds the calling thread has, of however many permits each; lost ones do not count.
    [[nodiscard]] std::uint32_t hold_count() const {
        std::uint32_t count = 0;
        detail::check([&](auto* cause) { return dlock_semaphore_hold_count(semaphore_.get(), &count, cause); });
        return count;
    }
    /// Makes the calling thread's latest hold last `lease` from now, or as long as it did if that is longer; asks the
    /// server in any case.
    template <class Rep, class Period> void extend(std::chrono::duration<Rep, Period> lease) {
        prolong(nullptr, detail::to_ms(lease));
    }
    /// The same for that hold of the calling thread, as acquire() has returned it.
    template <class Rep, class Period> void extend(const dlock::held& which, std::chrono::duration<Rep, Period> lease) {
        prolong(which.get(), detail::to_ms(lease));
    }
    /// Sets how many permits there are in all, 1 to max(), for everybody. Lowered, what is taken stays taken, and
    /// nothing is granted until enough was given back; raised, it wakes those whose turn it is.
    void set_permits(std::int64_t permits) {
        detail::check([&](auto* cause) { return dlock_semaphore_set_permits(semaphore_.get(), permits, cause); });
    }
    [[nodiscard]] semaphore_inspection inspect() const {
        dlock_semaphore_inspection_t seen = DLOCK_SEMAPHORE_INSPECTION_INIT;
        detail::check([&](auto* cause) { return dlock_semaphore_inspect(semaphore_.get(), &seen, cause); });
        semaphore_inspection answer;
        if (seen.exists) answer.permits = seen.permits;
        answer.available = seen.available;
        answer.queued = seen.queued;
        return answer;
    }
    [[nodiscard]] std::string name() const {
        return detail::text<DLOCK_NAME_SIZE>(
            [&](auto... into) { return dlock_semaphore_name(semaphore_.get(), into...); });
    }
    [[nodiscard]] const dlock_semaphore_t* get() const noexcept { return semaphore_.get(); }

private:
    /// DLOCK_OK or DLOCK_BUSY.
    [[nodiscard]] dlock_status_t try_ms(std::int64_t permits, std::int64_t wait_ms) {
        dlock_acquire_options_t how = DLOCK_ACQUIRE_OPTIONS_INIT;
        how.wait_ms = wait_ms;
        const bool acquired = detail::done_or_busy(
            [&](auto* cause) { return dlock_semaphore_acquire(semaphore_.get(), permits, &how, nullptr, cause); });
        return acquired ? DLOCK_OK : DLOCK_BUSY;
    }
    void end(const dlock_held_t* which) {
        detail::check([&](auto* cause) { return dlock_semaphore_release(semaphore_.get(), which, cause); });
    }
    void prolong(const dlock_held_t* which, std::int64_t lease_ms) {
        detail::check([&](auto* cause) { return dlock_semaphore_extend(semaphore_.get(), which, lease_ms, cause); });
    }
    [[noreturn]] static void refuse(std::ptrdiff_t update) {
        char message[DLOCK_MESSAGE_SIZE];
        std::snprintf(message, sizeof message,
                      "update is %td, and a hold ends with all its permits: release() ends the latest acquire of this "
                      "thread, however many it took; call it once for each acquire. set_permits() adds permits",
                      update);
        detail::refuse("release", message);
    }

    detail::owned<dlock_semaphore_t, dlock_semaphore_free> semaphore_{};
};

} // namespace dlock

#endif
