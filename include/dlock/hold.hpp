/*
 * dlock/hold.hpp: a hold that belongs to an object and to no thread. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::hold hold = orders.take();               // released with the object, by whatever thread ends it
 *     pool.submit([hold = std::move(hold)] { work(hold.token()); });
 */
#ifndef DLOCK_HOLD_HPP
#define DLOCK_HOLD_HPP

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "../dlock.h"
#include "detail.hpp"
#include "error.hpp"
#include "held.hpp"

namespace dlock {

/// A hold of its own, of a mutex, of a side of a shared one, of a lock_all, of permits, or of a worker number: moves,
/// is used and is released on any thread. Its end releases it, with one round trip, and says nothing if that fails;
/// release() does. Moved from or released it holds nothing.
class hold : private held {
public:
    /// Takes over a hold that belongs to its handle, as dlock_lock_take() and ports give it.
    [[nodiscard]] static hold adopt(dlock_held_t* handle) noexcept {
        hold adopted;
        *adopted.held_.out() = handle;
        return adopted;
    }

    hold(hold&&) noexcept = default;
    /// The hold that was here is released first.
    hold& operator=(hold&& other) noexcept {
        if (this != &other) {
            { const hold ended{std::move(*this)}; }
            held::operator=(std::move(other));
        }
        return *this;
    }
    ~hold() {
        if (*this) dlock_held_release(get(), nullptr);
    }

    using held::get;
    using held::lost;
    using held::lost_name;
    using held::owner;
    using held::permits;
    using held::remaining;
    using held::token;
    using held::valid;
    using held::wait_lost;

    /// Whether there is a hold in it, lost or not.
    [[nodiscard]] explicit operator bool() const noexcept { return get() != nullptr; }
    /// The same as a view, for stop_on_loss.
    [[nodiscard]] const held& view() const noexcept { return *this; }

    /// Releases now; throws dlock::not_held when the lease ran out or was taken away.
    void release() {
        detail::check([&](auto* cause) { return dlock_held_release(get(), cause); });
        held_ = {};
    }
    /// Makes it last `lease` from now, or as long as it did if that is longer; asks the server in any case.
    template <class Rep, class Period> void extend(std::chrono::duration<Rep, Period> lease) {
        detail::check([&](auto* cause) { return dlock_held_extend(get(), detail::to_ms(lease), cause); });
    }
    /// A hold of the write side of a shared mutex becomes one of the read side, and nobody else has written in between.
    /// Throws dlock::not_held when the lease ran out or was taken away, and dlock::invalid_argument for anything else.
    void downgrade() {
        hold reading;
        detail::check([&](auto* cause) { return dlock_held_downgrade(get(), reading.held_.out(), cause); });
        held::operator=(std::move(reading));
    }
    /// Ends it here without releasing; the text lets another thread or process take it over, see mutex::attach().
    /// Throws dlock::invalid_argument for a hold of anything but a mutex, which stays where it is.
    [[nodiscard]] std::string detach() {
        dlock_detached_t detached = DLOCK_DETACHED_INIT;
        detail::check([&](auto* cause) { return dlock_held_detach(get(), &detached, cause); });
        held_ = {};
        return {detached.text, detached.text_len};
    }
    /// Gives up the handle without a release: it is the caller's.
    [[nodiscard]] detail::owned<dlock_held_t, dlock_held_free> disown() noexcept { return std::move(held_); }

private:
    friend class semaphore;
    friend class worker;
    template <class Calls> friend class detail::lockable;
    hold() noexcept = default;

    /// The hold that `call` gives.
    template <class Call> [[nodiscard]] static hold from(Call&& call) {
        hold taken;
        detail::check([&](auto* cause) { return call(taken.held_.out(), cause); });
        return taken;
    }
    /// The hold that `call` gives; nothing when it is busy.
    template <class Call> [[nodiscard]] static std::optional<hold> try_from(Call&& call) {
        hold taken;
        if (!detail::done_or_busy([&](auto* cause) { return call(taken.held_.out(), cause); })) return std::nullopt;
        return taken;
    }
};

} // namespace dlock

#endif
