/*
 * dlock/held.hpp: a view of what is held: its token, its validity, its loss. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DLOCK_HELD_HPP
#define DLOCK_HELD_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../dlock.h"
#include "client.hpp"
#include "detail.hpp"
#include "error.hpp"

namespace dlock {

#ifdef __GNUC__
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" // gcc takes the scoped loss::closed for one that hides the exception closed
#endif
/// Why a hold was lost.
enum class loss : dlock_loss_t {
    // <api:losses> written by `python3 api/write.py` from api/losses.json
    expired = DLOCK_LOSS_EXPIRED,
    taken = DLOCK_LOSS_TAKEN,
    deleted = DLOCK_LOSS_DELETED,
    server_changed = DLOCK_LOSS_SERVER_CHANGED,
    closed = DLOCK_LOSS_CLOSED,
    internal = DLOCK_LOSS_INTERNAL,
    // </api:losses>
};
#ifdef __GNUC__
#pragma GCC diagnostic pop
#endif

/// A view of a hold. It neither keeps what is held nor releases it.
class held {
public:
    /// The fencing token: larger than any granted before it under this name. 0 for permits, which have none, and for a
    /// lock_all, whose locks have one each.
    [[nodiscard]] std::uint64_t token() const {
        std::uint64_t token = 0;
        detail::check([&](auto* cause) { return dlock_held_token(held_.get(), &token, cause); });
        return token;
    }
    /// The fencing token of the lock of this name, of a lock_all; throws dlock::invalid_argument for a name that it has
    /// not, and for a hold of anything else.
    [[nodiscard]] std::uint64_t token(std::string_view name) const {
        std::uint64_t token = 0;
        detail::check(
            [&](auto* cause) { return dlock_held_token_of(held_.get(), name.data(), name.size(), &token, cause); });
        return token;
    }
    /// The ids of the permits, 32 hexadecimal digits each; none for what is no semaphore's.
    [[nodiscard]] std::vector<std::string> permits() const {
        std::size_t count = 0;
        detail::check([&](auto* cause) { return dlock_held_permits(held_.get(), nullptr, 0, &count, cause); });
        std::vector<dlock_permit_id_t> ids(count);
        detail::check(
            [&](auto* cause) { return dlock_held_permits(held_.get(), ids.data(), ids.size(), &count, cause); });
        std::vector<std::string> permits;
        permits.reserve(count);
        for (const auto& id : ids) permits.emplace_back(id.text);
        return permits;
    }
    /// The owner as it stands on the server; empty for a lock_all, whose locks have one each.
    [[nodiscard]] std::string owner() const {
        return detail::text<DLOCK_OWNER_SIZE>([&](auto... into) { return dlock_held_owner(held_.get(), into...); });
    }
    /// Whether the holder may still act. No I/O.
    [[nodiscard]] bool valid() const {
        bool valid = false;
        detail::check([&](auto* cause) { return dlock_held_is_valid(held_.get(), &valid, cause); });
        return valid;
    }
    /// How long it stays valid if no renewal succeeds from now on.
    [[nodiscard]] std::chrono::milliseconds remaining() const {
        std::int64_t ms = 0;
        detail::check([&](auto* cause) { return dlock_held_remaining_ms(held_.get(), &ms, cause); });
        return std::chrono::milliseconds(ms);
    }
    /// Why it was lost, if it was. No I/O.
    [[nodiscard]] std::optional<loss> lost() const {
        dlock_loss_t reason = DLOCK_LOSS_NONE;
        detail::check([&](auto* cause) { return dlock_held_lost(held_.get(), &reason, cause); });
        return why(reason);
    }
    /// The name of the lock of a lock_all that was lost, the first if it is more than one; nothing while none is, and
    /// for a hold of anything else. No I/O.
    [[nodiscard]] std::optional<std::string> lost_name() const {
        auto name =
            detail::text<DLOCK_NAME_SIZE>([&](char* buffer, std::size_t size, std::size_t* length, auto* cause) {
                return dlock_held_lost_name(held_.get(), buffer, size, length, nullptr, cause);
            });
        if (name.empty()) return std::nullopt;
        return name;
    }
    /// Waits until it is lost, at most `wait`; nothing when it was not, or was released.
    template <class Rep, class Period>
    [[nodiscard]] std::optional<loss> wait_lost(std::chrono::duration<Rep, Period> wait,
                                                const cancel_token* cancel = nullptr) const {
        return wait_lost_ms(detail::wait_ms(wait), cancel);
    }
    /// Waits until it is lost or released; nothing when it was released.
    [[nodiscard]] std::optional<loss> wait_lost(const cancel_token* cancel = nullptr) const {
        return wait_lost_ms(-1, cancel);
    }

    [[nodiscard]] const dlock_held_t* get() const noexcept { return held_.get(); }

private:
    friend class mutex;
    friend class semaphore;
    friend class shared_mutex;
    template <class Calls> friend class detail::lockable;
    friend class hold;
    friend class delivery;
    friend class queue;
    held() noexcept = default;

    /// The view that `call` gives.
    template <class Call> [[nodiscard]] static held from(Call&& call) {
        held view;
        detail::check([&](auto* cause) { return call(view.held_.out(), cause); });
        return view;
    }

    [[nodiscard]] static std::optional<loss> why(dlock_loss_t reason) {
        if (reason == DLOCK_LOSS_NONE) return std::nullopt;
        return static_cast<loss>(reason);
    }

    [[nodiscard]] std::optional<loss> wait_lost_ms(std::int64_t wait_ms, const cancel_token* cancel) const {
        dlock_loss_t reason = DLOCK_LOSS_NONE;
        const auto* token = cancel != nullptr ? cancel->get() : nullptr;
        const bool over = detail::done_or_busy(
            [&](auto* cause) { return dlock_held_wait_lost(held_.get(), wait_ms, token, &reason, cause); });
        return over ? why(reason) : std::nullopt;
    }

    detail::owned<dlock_held_t, dlock_held_free> held_{};
};

/// How to acquire.
struct acquire_options {
    /// Nothing: for ever. Zero: one try. A negative one is refused.
    std::optional<std::chrono::milliseconds> wait = std::nullopt;
    /// Zero: that of the object that is acquired.
    std::chrono::milliseconds lease{0};
    const cancel_token* cancel = nullptr;
};

namespace detail {

[[nodiscard]] inline dlock_acquire_options_t how(const acquire_options& options) {
    dlock_acquire_options_t how = DLOCK_ACQUIRE_OPTIONS_INIT;
    // -1 is for ever in C; as a wait it is refused like every other negative one.
    if (options.wait) how.wait_ms = options.wait->count() == -1 ? -2 : options.wait->count();
    how.lease_ms = options.lease.count();
    how.cancel = options.cancel != nullptr ? options.cancel->get() : nullptr;
    return how;
}

} // namespace detail

} // namespace dlock

#endif
