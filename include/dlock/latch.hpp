/*
 * dlock/latch.hpp: count-down latches, which callers in any process wait for. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::latch ready{client, "deploy-7/ready"};
 *     ready.try_set_count(3);                         // once, before anybody waits
 *     ready.count_down();                             // in each of the three that start
 *     ready.wait();                                   // in whoever needs all of them
 */
#ifndef DLOCK_LATCH_HPP
#define DLOCK_LATCH_HPP

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "../dlock.h"
#include "client.hpp"
#include "detail.hpp"
#include "error.hpp"

namespace dlock {

/// A count-down latch by name, with the verbs of std::latch. All latches that any process makes of one name are the
/// same latch. Its count is on the server: try_set_count() gives it, and a latch without one is open. It is for one
/// round: give each round a name of its own.
class latch {
public:
    latch(const client& client, std::string_view name) {
        detail::check(
            [&](auto* cause) { return dlock_latch_open(client.get(), name.data(), name.size(), latch_.out(), cause); });
    }

    /// The largest count.
    [[nodiscard]] static constexpr std::int64_t(max)() noexcept { return 9007199254740991; }

    /// Gives the latch this count, 1 to max(), if it is open; false, and nothing changed, when it has a count. The
    /// count has no time to live: it stays until it is counted down or removed.
    bool try_set_count(std::int64_t count) {
        bool set = false;
        detail::check([&](auto* cause) { return dlock_latch_try_set_count(latch_.get(), count, &set, cause); });
        return set;
    }
    /// Counts down by `update`, 1 to max(), or by what is left if that is less; what is left then. Throws
    /// dlock::outcome_unknown when no reply came: it has counted once or not at all.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    std::int64_t count_down(std::int64_t update = 1) {
        std::int64_t left = 0;
        detail::check([&](auto* cause) { return dlock_latch_count_down(latch_.get(), update, &left, cause); });
        return left;
    }
    /// The count now, 0 when the latch is open. Asks the server.
    [[nodiscard]] std::int64_t count() const {
        std::int64_t count = 0;
        detail::check([&](auto* cause) { return dlock_latch_count(latch_.get(), &count, cause); });
        return count;
    }
    /// Whether the latch is open. Asks the server once.
    [[nodiscard]] bool try_wait() const { return wait_ms(0, nullptr); }
    /// Waits until the latch is open, as long as it takes. Throws dlock::cancelled when `cancel` is fired.
    void wait(const cancel_token* cancel = nullptr) const { (void)wait_ms(-1, cancel); }
    /// Waits until the latch is open, at most `wait`; whether it was open then.
    template <class Rep, class Period>
    [[nodiscard]] bool wait_for(std::chrono::duration<Rep, Period> wait, const cancel_token* cancel = nullptr) const {
        return wait_ms(detail::wait_ms(wait), cancel);
    }
    /// Waits until the latch is open, until `deadline` at the latest; whether it was open then.
    template <class Clock, class Duration>
    [[nodiscard]] bool wait_until(std::chrono::time_point<Clock, Duration> deadline,
                                  const cancel_token* cancel = nullptr) const {
        const auto attempt = [&](std::int64_t ms) { return wait_ms(ms, cancel) ? DLOCK_OK : DLOCK_BUSY; };
        return detail::try_until(deadline, attempt) == DLOCK_OK;
    }
    /// Counts down by `update` and waits until the latch is open. A dlock::cancelled leaves it counted.
    void arrive_and_wait(std::int64_t update = 1, const cancel_token* cancel = nullptr) {
        if (count_down(update) > 0) wait(cancel);
    }
    /// Removes the latch; false when it was not there. One that is not there is open: callers of libdlock that wait
    /// find that out within their poll_interval. Redisson's are told nothing and go on waiting.
    bool remove() {
        bool removed = false;
        detail::check([&](auto* cause) { return dlock_latch_delete(latch_.get(), &removed, cause); });
        return removed;
    }

    [[nodiscard]] std::string name() const {
        return detail::text<DLOCK_NAME_SIZE>([&](auto... into) { return dlock_latch_name(latch_.get(), into...); });
    }
    [[nodiscard]] const dlock_latch_t* get() const noexcept { return latch_.get(); }

private:
    [[nodiscard]] bool wait_ms(std::int64_t ms, const cancel_token* cancel) const {
        const auto* token = cancel != nullptr ? cancel->get() : nullptr;
        bool open = false;
        detail::check([&](auto* cause) { return dlock_latch_wait(latch_.get(), ms, token, &open, cause); });
        return open;
    }

    detail::owned<dlock_latch_t, dlock_latch_free> latch_{};
};

} // namespace dlock

#endif
