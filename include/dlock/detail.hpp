/*
 * dlock/detail.hpp: what the classes of libdlock's C++ headers share.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DLOCK_DETAIL_HPP
#define DLOCK_DETAIL_HPP

#include <chrono>
#include <cstdint>
#include <utility>

#include "../dlock.h"
#include "error.hpp"

namespace dlock {

namespace detail {

/// The owner of a handle.
template <class T, dlock_status_t (*Free)(T*)> class owned {
public:
    owned() noexcept = default;
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

/// Milliseconds, rounded up so that a wait is never shorter than asked for. More than a day stays more than a day,
/// which the library refuses by name, instead of overflowing.
template <class Rep, class Period> [[nodiscard]] std::int64_t to_ms(std::chrono::duration<Rep, Period> given) {
    constexpr auto day = std::chrono::hours(24);
    if (given > day) return std::chrono::milliseconds(day).count() + 1;
    if (given < -day) return -std::chrono::milliseconds(day).count();
    return std::chrono::ceil<std::chrono::milliseconds>(given).count();
}

/// As `to_ms` for a wait: what lies in the past is no wait.
template <class Rep, class Period> [[nodiscard]] std::int64_t wait_ms(std::chrono::duration<Rep, Period> wait) {
    return wait <= wait.zero() ? 0 : to_ms(wait);
}

} // namespace detail

} // namespace dlock

#endif
