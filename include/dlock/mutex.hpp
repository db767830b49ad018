/*
 * dlock/mutex.hpp: locks, held by a thread or by an object. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::mutex orders{client, "orders"};
 *     std::unique_lock guard{orders};                 // or scoped_lock, try_lock_for, ...
 */
#ifndef DLOCK_MUTEX_HPP
#define DLOCK_MUTEX_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "../dlock.h"
#include "client.hpp"
#include "detail.hpp"
#include "error.hpp"
#include "held.hpp"
#include "hold.hpp"
#include "lockable.hpp"

namespace dlock {

/// How to open a mutex.
struct mutex_options {
    /// Zero: a lease that is renewed while the mutex is held, see `watchdog_lease`. Otherwise a lease that is not
    /// renewed.
    std::chrono::milliseconds lease{0};
    /// Whether a thread that holds it may lock it again; by default as the client's option says.
    std::optional<bool> reentrant = std::nullopt;
    /// The lease that is renewed, every third of it. Zero: the client's. Not together with a `lease`.
    std::chrono::milliseconds watchdog_lease{0};
};

/// Who holds a mutex, as the server sees it.
struct inspection {
    /// Nothing when it is free.
    std::optional<std::string> holder{};
    bool ours = false;
    std::optional<std::chrono::milliseconds> ttl{};
    /// The last one reserved, while the server remembers it; the holder's may be lower.
    std::optional<std::uint64_t> token{};
    /// How many processes stand in the queue.
    std::uint64_t queued = 0;
};

namespace detail {

struct lock_calls {
    using handle = dlock_lock_t;
    static constexpr auto free = dlock_lock_free;
    static constexpr auto acquire = dlock_lock_acquire;
    static constexpr auto take = dlock_lock_take;
    static constexpr auto release = dlock_lock_release;
    static constexpr auto extend = dlock_lock_extend;
    static constexpr auto hold_count = dlock_lock_hold_count;
    static constexpr auto held = dlock_lock_held;
    static constexpr auto force_release = dlock_lock_force_release;
};

} // namespace detail

/// A lock by name. Lockable and TimedLockable: for std::unique_lock, std::scoped_lock and std::lock.
class mutex {
public:
    mutex(const client& client, std::string_view name, const mutex_options& options = {}) {
        dlock_lock_options_t how = DLOCK_LOCK_OPTIONS_INIT;
        how.lease_ms = options.lease.count();
        how.watchdog_lease_ms = options.watchdog_lease.count();
        how.reentrant = options.reentrant ? int{*options.reentrant} : -1;
        detail::check([&](auto* cause) {
            return dlock_lock_open(client.get(), name.data(), name.size(), &how, lock_.out(), cause);
        });
    }

    void lock() { lock_.lock(); }
    /// False also when the calling thread holds it itself and may not lock it again, as std::lock needs it, and when
    /// the queue head was jumped twice already.
    [[nodiscard]] bool try_lock() { return lock_.try_for_ms(0); }
    template <class Rep, class Period> [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> wait) {
        return lock_.try_for_ms(detail::wait_ms(wait));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> deadline) {
        return lock_.try_until(deadline);
    }
    /// Undoes one lock. Never throws, as guards need it: a lease that had run out is seen by held().lost() or
    /// release().
    void unlock() noexcept { lock_.unlock(); }

    /// As unlock(), but says what went wrong: dlock::not_held when the lease ran out or was taken away.
    void release() { lock_.release(); }
    /// As lock() with options, returning the hold; throws dlock::acquire_timeout. Release it with unlock(), or with a
    /// std::unique_lock that adopts it.
    dlock::held acquire(const acquire_options& options = {}) { return lock_.acquire(options); }
    /// As acquire(), but the hold belongs to what is returned and to no thread: see dlock::hold.
    [[nodiscard]] hold take(const acquire_options& options = {}) { return lock_.take(options); }
    /// As take() without waiting; nothing when it is not to be had.
    [[nodiscard]] std::optional<hold> try_take() { return lock_.try_take_for_ms(0); }
    /// As take(), waiting at most `wait`; nothing when it was not to be had.
    template <class Rep, class Period>
    [[nodiscard]] std::optional<hold> try_take_for(std::chrono::duration<Rep, Period> wait) {
        return lock_.try_take_for_ms(detail::wait_ms(wait));
    }
    /// The calling thread's hold; throws dlock::not_held when it has none.
    [[nodiscard]] dlock::held held() const { return lock_.held(); }
    /// How often the calling thread holds it.
    [[nodiscard]] std::uint32_t hold_count() const { return lock_.hold_count(); }
    /// Makes the calling thread's hold last `lease` from now, or as long as it did if that is longer; asks the server
    /// in any case.
    template <class Rep, class Period> void extend(std::chrono::duration<Rep, Period> lease) {
        lock_.extend(detail::to_ms(lease));
    }
    /// Frees it whoever holds it; whether anybody did. A hold of this client is lost when this returns; another client
    /// is sent a message and looks at once; until then only its fencing token protects the resource.
    bool force_release() { return lock_.force_release(); }
    [[nodiscard]] inspection inspect() const {
        dlock_inspection_t seen = DLOCK_INSPECTION_INIT;
        detail::check([&](auto* cause) { return dlock_lock_inspect(lock_.get(), &seen, cause); });
        inspection answer;
        if (seen.held) answer.holder = seen.holder;
        answer.ours = seen.ours;
        if (seen.ttl_ms >= 0) answer.ttl = std::chrono::milliseconds(seen.ttl_ms);
        if (seen.token != 0) answer.token = seen.token;
        answer.queued = seen.queued;
        return answer;
    }
    /// Whether anybody holds it, as the server sees it.
    [[nodiscard]] bool locked() const { return inspect().holder.has_value(); }
    /// Ends the calling thread's hold without releasing; the text lets another thread or process take it over.
    [[nodiscard]] std::string detach() {
        dlock_detached_t detached = DLOCK_DETACHED_INIT;
        detail::check([&](auto* cause) { return dlock_lock_detach(lock_.get(), &detached, cause); });
        return {detached.text, detached.text_len};
    }
    /// Takes a detached hold over for the calling thread.
    dlock::held attach(std::string_view detached) {
        return dlock::held::from([&](auto** out, auto* cause) {
            return dlock_lock_attach(lock_.get(), detached.data(), detached.size(), out, cause);
        });
    }
    [[nodiscard]] std::string name() const {
        return detail::text<DLOCK_NAME_SIZE>([&](auto... into) { return dlock_lock_name(lock_.get(), into...); });
    }
    [[nodiscard]] const dlock_lock_t* get() const noexcept { return lock_.get(); }

private:
    detail::lockable<detail::lock_calls> lock_{};
};

} // namespace dlock

#endif
