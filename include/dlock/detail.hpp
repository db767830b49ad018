/*
 * dlock/detail.hpp: what the classes of libdlock's C++ headers share.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DLOCK_DETAIL_HPP
#define DLOCK_DETAIL_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ratio>
#include <string>
#include <utility>

#include "../dlock.h"
#include "error.hpp"

namespace dlock {

namespace detail {

template <class Calls> class lockable;

/// The owner of a handle.
template <class T, dlock_status_t (*Free)(T*)> class owned {
public:
    owned() noexcept = default;
    owned(const owned&) = delete;
    owned& operator=(const owned&) = delete;
    owned(owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    owned& operator=(owned&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~owned() { Free(handle_); }

    [[nodiscard]] T* get() const noexcept { return handle_; }
    [[nodiscard]] T** out() noexcept { return &handle_; }

private:
    T* handle_ = nullptr;
};

/// Milliseconds, rounded up so that a wait is never shorter than asked for. What does not fit becomes the most that
/// does: the library then refuses it by name.
template <class Rep, class Period> [[nodiscard]] std::int64_t to_ms(std::chrono::duration<Rep, Period> given) {
    using std::chrono::milliseconds;
    const std::chrono::duration<double, std::milli> about = given;
    // In parentheses, because windows.h has macros of these names.
    if (!(about < (milliseconds::max)())) return (milliseconds::max)().count(); // NaN too
    if (about <= (milliseconds::min)()) return (milliseconds::min)().count();
    return std::chrono::ceil<milliseconds>(given).count();
}

/// As `to_ms` for a wait as the standard library has them: what lies in the past is no wait, the longest there is is
/// for ever.
template <class Rep, class Period> [[nodiscard]] std::int64_t wait_ms(std::chrono::duration<Rep, Period> wait) {
    if (wait <= wait.zero()) return 0;
    return wait == (wait.max)() ? -1 : to_ms(wait);
}

/// What `attempt` gives, which waits for so many milliseconds, -1 for ever: made until `deadline` while it is busy, and
/// at least once.
template <class Clock, class Duration, class Attempt>
[[nodiscard]] dlock_status_t try_until(std::chrono::time_point<Clock, Duration> deadline, Attempt&& attempt) {
    if (deadline == (deadline.max)()) return attempt(std::int64_t{-1});
    // A clock may be set back meanwhile, and a deadline long past may be too far away to subtract from.
    for (auto now = Clock::now(); now < deadline; now = Clock::now()) {
        const dlock_status_t tried = attempt(wait_ms(deadline - now));
        if (tried != DLOCK_BUSY) return tried;
    }
    return attempt(std::int64_t{0});
}

/// The text that `call` writes to a buffer of `Size` bytes.
template <std::size_t Size, class Call> [[nodiscard]] std::string text(Call&& call) {
    char buffer[Size];
    std::size_t length = 0;
    check([&](auto* cause) { return call(&buffer[0], Size, &length, cause); });
    return {buffer, length};
}

} // namespace detail

} // namespace dlock

#endif
