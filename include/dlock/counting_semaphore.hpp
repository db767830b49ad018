/*
 * dlock/counting_semaphore.hpp: permits without owner or lease, for those who share them with Redisson's RSemaphore.
 * Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::counting_semaphore slots{client, "slots"};
 *     slots.try_set_permits(10);
 *     slots.acquire();
 *     slots.release();                                // by whomever
 */
#ifndef DLOCK_COUNTING_SEMAPHORE_HPP
#define DLOCK_COUNTING_SEMAPHORE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "../dlock.h"
#include "client.hpp"
#include "detail.hpp"
#include "error.hpp"

namespace dlock {

class port;

namespace detail {

using counting_handle = owned<dlock_counting_semaphore_t, dlock_counting_semaphore_free>;

} // namespace detail

/// How many permits a counting semaphore has, as the server sees it.
struct counting_semaphore_inspection {
    /// Whether the semaphore is there; the first release makes one that is not.
    bool exists = false;
    /// How many permits are available: negative after more were taken away than there were, 0 when it is not there.
    std::int64_t available = 0;
    /// How many processes stand in the queue.
    std::uint64_t queued = 0;
};

/// A semaphore by name whose permits have no owner and no lease, with the verbs of std::counting_semaphore. Permits of
/// a process that died never come back by themselves, and nothing stops a release of permits that nobody acquired.
/// Where no Redisson client shares it, use a dlock::semaphore.
class counting_semaphore {
public:
    /// A semaphore that is not on the server has no permits: try_set_permits() makes it.
    counting_semaphore(const client& client, std::string_view name)
        : semaphore_(std::make_shared<detail::counting_handle>()) {
        detail::check([&](auto* cause) {
            return dlock_counting_semaphore_open(client.get(), name.data(), name.size(), semaphore_->out(), cause);
        });
    }

    counting_semaphore(counting_semaphore&&) noexcept = default;
    counting_semaphore& operator=(counting_semaphore&&) noexcept = default;
    ~counting_semaphore() = default;

    /// The most permits that there can be, and that one call takes or brings.
    [[nodiscard]] static constexpr std::ptrdiff_t(max)() noexcept { return 2147483647; }

    /// Makes the semaphore with so many permits, 0 to max(), if it is not there; whether this call has.
    bool try_set_permits(std::int64_t permits) {
        bool made = false;
        detail::check(
            [&](auto* cause) { return dlock_counting_semaphore_try_set_permits(get(), permits, &made, cause); });
        return made;
    }
    /// Acquires `permits`, 1 to max(), all at once, waiting as long as it takes. Throws dlock::cancelled when `cancel`
    /// is fired. After any exception the caller has none: what the server granted all the same is given back.
    void acquire(std::int64_t permits = 1, const cancel_token* cancel = nullptr) {
        (void)acquire_ms(permits, -1, cancel);
    }
    /// Acquires `permits` if so many are available now. False also when the queue head was jumped twice already.
    [[nodiscard]] bool try_acquire(std::int64_t permits = 1) { return acquire_ms(permits, 0, nullptr); }
    /// Acquires `permits`, waiting at most `wait`.
    template <class Rep, class Period>
    [[nodiscard]] bool try_acquire_for(std::chrono::duration<Rep, Period> wait, std::int64_t permits = 1,
                                       const cancel_token* cancel = nullptr) {
        return acquire_ms(permits, detail::wait_ms(wait), cancel);
    }
    /// Acquires `permits`, waiting until `deadline` at the latest.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_acquire_until(std::chrono::time_point<Clock, Duration> deadline, std::int64_t permits = 1,
                                         const cancel_token* cancel = nullptr) {
        const auto attempt = [&](std::int64_t ms) { return acquire_ms(permits, ms, cancel) ? DLOCK_OK : DLOCK_BUSY; };
        return detail::try_until(deadline, attempt) == DLOCK_OK;
    }
    /// Brings back `update` permits, 1 to max(), whoever has acquired them. After dlock::outcome_unknown they may have
    /// been released or not, and may yet be: a second call would release others.
    void release(std::ptrdiff_t update = 1) {
        detail::check([&](auto* cause) { return dlock_counting_semaphore_release(get(), update, cause); });
    }
    /// Changes how many permits are available by so many; negative takes away, without waiting, and may leave fewer
    /// than none. Makes a semaphore that is not there.
    void add_permits(std::int64_t permits) {
        detail::check([&](auto* cause) { return dlock_counting_semaphore_add_permits(get(), permits, cause); });
    }
    /// Takes all permits that are available, past those that wait; how many there were. A negative number becomes 0,
    /// and is returned.
    [[nodiscard]] std::int64_t drain() {
        std::int64_t permits = 0;
        detail::check([&](auto* cause) { return dlock_counting_semaphore_drain(get(), &permits, cause); });
        return permits;
    }
    /// How many permits are available; asks the server.
    [[nodiscard]] std::int64_t available() const { return inspect().available; }
    [[nodiscard]] counting_semaphore_inspection inspect() const {
        dlock_counting_semaphore_inspection_t seen = DLOCK_COUNTING_SEMAPHORE_INSPECTION_INIT;
        detail::check([&](auto* cause) { return dlock_counting_semaphore_inspect(get(), &seen, cause); });
        return {seen.exists, seen.available, seen.queued};
    }

    [[nodiscard]] std::string name() const {
        return detail::text<DLOCK_NAME_SIZE>(
            [&](auto... into) { return dlock_counting_semaphore_name(get(), into...); });
    }
    [[nodiscard]] const dlock_counting_semaphore_t* get() const noexcept {
        return semaphore_ ? semaphore_->get() : nullptr;
    }

private:
    friend class port;
    [[nodiscard]] bool acquire_ms(std::int64_t permits, std::int64_t ms, const cancel_token* cancel) {
        const auto* token = cancel != nullptr ? cancel->get() : nullptr;
        return detail::done_or_busy(
            [&](auto* cause) { return dlock_counting_semaphore_acquire(get(), permits, ms, token, cause); });
    }

    /// Shared with operations of a port that may have to give permits back.
    std::shared_ptr<detail::counting_handle> semaphore_;
};

} // namespace dlock

#endif
