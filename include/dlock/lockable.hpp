/*
 * dlock/lockable.hpp: what a mutex and the sides of a shared mutex have in common. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DLOCK_LOCKABLE_HPP
#define DLOCK_LOCKABLE_HPP

#include <chrono>
#include <cstdint>
#include <optional>

#include "../dlock.h"
#include "detail.hpp"
#include "error.hpp"
#include "held.hpp"
#include "hold.hpp"

namespace dlock {

namespace detail {

/// Something that a thread locks or an object takes; `Calls` names the functions of C for it.
template <class Calls> class lockable {
public:
    using handle = typename Calls::handle;

    void lock() {
        check([&](auto* cause) { return Calls::acquire(handle_.get(), nullptr, nullptr, cause); });
    }
    [[nodiscard]] bool try_for_ms(std::int64_t wait_ms) { return try_ms(wait_ms) == DLOCK_OK; }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_until(std::chrono::time_point<Clock, Duration> deadline) {
        return detail::try_until(deadline, [&](std::int64_t wait_ms) { return try_ms(wait_ms); }) == DLOCK_OK;
    }
    void unlock() noexcept { Calls::release(handle_.get(), nullptr); }
    void release() {
        check([&](auto* cause) { return Calls::release(handle_.get(), cause); });
    }
    dlock::held acquire(const acquire_options& options) {
        const dlock_acquire_options_t how = detail::how(options);
        return dlock::held::from(
            [&](auto** out, auto* cause) { return Calls::acquire(handle_.get(), &how, out, cause); });
    }
    [[nodiscard]] hold take(const acquire_options& options) {
        const dlock_acquire_options_t how = detail::how(options);
        return hold::from([&](auto** out, auto* cause) { return Calls::take(handle_.get(), &how, out, cause); });
    }
    [[nodiscard]] std::optional<hold> try_take_for_ms(std::int64_t wait_ms) {
        dlock_acquire_options_t how = DLOCK_ACQUIRE_OPTIONS_INIT;
        how.wait_ms = wait_ms;
        return hold::try_from([&](auto** out, auto* cause) { return Calls::take(handle_.get(), &how, out, cause); });
    }
    [[nodiscard]] dlock::held held() const {
        return dlock::held::from([&](auto** out, auto* cause) { return Calls::held(handle_.get(), out, cause); });
    }
    [[nodiscard]] std::uint32_t hold_count() const {
        std::uint32_t count = 0;
        check([&](auto* cause) { return Calls::hold_count(handle_.get(), &count, cause); });
        return count;
    }
    void extend(std::int64_t lease_ms) {
        check([&](auto* cause) { return Calls::extend(handle_.get(), lease_ms, cause); });
    }
    [[nodiscard]] bool force_release() {
        bool was_held = false;
        check([&](auto* cause) { return Calls::force_release(handle_.get(), &was_held, cause); });
        return was_held;
    }

    [[nodiscard]] const handle* get() const noexcept { return handle_.get(); }
    [[nodiscard]] handle** out() noexcept { return handle_.out(); }

private:
    /// DLOCK_OK, DLOCK_BUSY, or DLOCK_DEADLOCK where the thread would wait for itself.
    [[nodiscard]] dlock_status_t try_ms(std::int64_t wait_ms) {
        dlock_acquire_options_t how = DLOCK_ACQUIRE_OPTIONS_INIT;
        how.wait_ms = wait_ms;
        dlock_error_t cause = DLOCK_ERROR_INIT;
        const dlock_status_t tried = Calls::acquire(handle_.get(), &how, nullptr, &cause);
        if (tried < DLOCK_OK && tried != DLOCK_DEADLOCK) raise(cause);
        return tried;
    }

    owned<handle, Calls::free> handle_{};
};

} // namespace detail

} // namespace dlock

#endif
