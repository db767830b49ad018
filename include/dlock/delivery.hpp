/*
 * dlock/delivery.hpp: a job of a queue that was delivered. Part of dlock.hpp; see dlock/queue.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DLOCK_DELIVERY_HPP
#define DLOCK_DELIVERY_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#ifdef __has_include
#if __cplusplus >= 202002L && __has_include(<span>)
#include <span>
#endif
#endif

#include "../dlock.h"
#include "detail.hpp"
#include "error.hpp"
#include "held.hpp"

namespace dlock {

namespace detail {

/// A time of the server's clock.
[[nodiscard]] inline std::chrono::system_clock::time_point unix_time(std::int64_t ms) {
    using clock = std::chrono::system_clock;
    return clock::time_point(std::chrono::duration_cast<clock::duration>(std::chrono::milliseconds(ms)));
}

/// A delay as C has it: -1 is none, and as a delay it is refused like every other negative one.
[[nodiscard]] inline std::int64_t delay_ms(std::optional<std::chrono::milliseconds> delay) {
    if (!delay) return -1;
    return delay->count() == -1 ? -2 : std::int64_t{delay->count()};
}

} // namespace detail

/// A job that was delivered: it is this worker's until its lease ends, which the client renews. ack() ends it when the
/// job is done, nack() puts the job back. The end of an object that was not ended, as by an exception, puts it back
/// without blocking, and the delivery counts. Moves, and may be used on any thread. Moved from it is empty.
class [[nodiscard]] delivery : private held {
public:
    /// Takes over the hold of a delivery, as dlock_queue_take() and ports give it.
    [[nodiscard]] static delivery adopt(dlock_held_t* handle) noexcept {
        delivery adopted;
        *adopted.held_.out() = handle;
        return adopted;
    }

    delivery(delivery&&) noexcept = default;
    /// The delivery that was here ends first.
    delivery& operator=(delivery&& other) noexcept {
        if (this != &other) {
            { const delivery ended{std::move(*this)}; }
            held::operator=(std::move(other));
        }
        return *this;
    }
    ~delivery() = default;

    using held::get;
    using held::lost;
    using held::remaining;
    /// The fencing token: larger than that of any delivery of this queue before.
    using held::token;
    using held::valid;
    using held::wait_lost;

    /// False when it was moved from.
    [[nodiscard]] explicit operator bool() const noexcept { return get() != nullptr; }
    /// The same as a view, for stop_on_loss.
    [[nodiscard]] const held& view() const noexcept { return *this; }

    /// What was put: there as long as this object, also after the end of the delivery.
    [[nodiscard]] std::string_view payload() const& {
        const auto seen = job();
        return {static_cast<const char*>(seen.payload), seen.payload_len};
    }
    /// It would be gone with the object.
    std::string_view payload() && = delete;
#ifdef __cpp_lib_span
    /// The same as bytes.
    [[nodiscard]] std::span<const std::byte> bytes() const& { return std::as_bytes(std::span(payload())); }
    std::span<const std::byte> bytes() && = delete;
#endif
    /// The id of the job.
    [[nodiscard]] std::string id() const {
        const auto seen = job();
        return {seen.id, seen.id_len};
    }
    /// The name of its queue, which tells those of dlock::queue::followed_by() apart.
    [[nodiscard]] std::string queue_name() const {
        return detail::text<DLOCK_NAME_SIZE>([&](auto... into) { return dlock_delivery_queue(get(), into...); });
    }
    /// Which delivery of the job this is, from 1 on.
    [[nodiscard]] std::int64_t attempt() const { return job().attempt; }
    /// When the job was due, by the server's clock.
    [[nodiscard]] std::chrono::system_clock::time_point due() const { return detail::unix_time(job().due_ms); }
    /// The priority with which it was put.
    [[nodiscard]] std::int64_t priority() const { return job().priority; }

    /// The job is done: removes it from the queue. Throws dlock::not_held when the delivery is over or was lost: then
    /// the job comes again, or has come to another worker, of which nothing was touched.
    void ack() {
        detail::check([&](auto* cause) { return dlock_delivery_ack(get(), cause); });
    }
    /// The job is not done: puts it back, due again after `delay`, or at once at the place that it had. When it was
    /// delivered as often as it may be, it is dead, for this reason, of which 1024 bytes are kept.
    void nack(std::optional<std::chrono::milliseconds> delay = std::nullopt, std::string_view reason = {}) {
        const std::int64_t delay_ms = detail::delay_ms(delay);
        detail::check(
            [&](auto* cause) { return dlock_delivery_nack(get(), delay_ms, reason.data(), reason.size(), cause); });
    }
    /// Puts a job back that was not begun, at its place: the delivery does not count. For workers that stop.
    void give_back() {
        detail::check([&](auto* cause) { return dlock_delivery_give_back(get(), cause); });
    }
    /// Makes it last `lease` from now, or as long as it did if that is longer; asks the server in any case.
    template <class Rep, class Period> void extend(std::chrono::duration<Rep, Period> lease) {
        detail::check([&](auto* cause) { return dlock_held_extend(get(), detail::to_ms(lease), cause); });
    }

private:
    friend class queue;
    delivery() noexcept = default;

    [[nodiscard]] dlock_delivery_t job() const {
        dlock_delivery_t seen = DLOCK_DELIVERY_INIT;
        detail::check([&](auto* cause) { return dlock_delivery_job(get(), &seen, cause); });
        return seen;
    }
};

/// How long a job waits that failed at this attempt, from 1 on: `base` at most after the first, each time twice as
/// long, and `longest` at most; less up to a half at random. For delivery::nack().
[[nodiscard]] inline std::chrono::milliseconds backoff(std::int64_t attempt,
                                                       std::chrono::milliseconds base = std::chrono::seconds(1),
                                                       std::chrono::milliseconds longest = std::chrono::minutes(5)) {
    std::int64_t ms = 0;
    detail::check([&](auto* cause) { return dlock_backoff_ms(attempt, base.count(), longest.count(), &ms, cause); });
    return std::chrono::milliseconds(ms);
}

} // namespace dlock

#endif
