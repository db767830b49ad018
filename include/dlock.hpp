/*
 * dlock.hpp: libdlock for C++17, header-only, on top of dlock.h. Link with -ldlock.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::client client{"redis://127.0.0.1:6379"};
 *     dlock::mutex orders{client, "orders"};
 *     std::unique_lock guard{orders};                 // or scoped_lock, try_lock_for, ...
 *     write_to_database(orders.held().token());       // the fencing token
 *
 * A dlock::mutex is held by a thread, like a std::recursive_timed_mutex, but across processes and machines, and only
 * for as long as its lease is renewed: ask held().valid() or wait for held().lost(). Errors are exceptions derived from
 * dlock::error, one type a kind. Every class may be used by several threads at once, moves apart; a dlock::port is
 * dispatched by one thread at a time.
 */
#ifndef DLOCK_HPP
#define DLOCK_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dlock.h"
#include "dlock/detail.hpp"
#include "dlock/error.hpp"
#include "dlock/stats.hpp"

namespace dlock {

/// Ends blocking calls from another thread: they throw dlock::cancelled. Once fired it stays fired.
class cancel_token {
public:
    cancel_token() {
        detail::check([&](auto* cause) { return dlock_cancel_new(token_.out(), cause); });
    }
    void fire() const {
        detail::check([&](auto* cause) { return dlock_cancel_fire(token_.get(), cause); });
    }
    [[nodiscard]] const dlock_cancel_t* get() const noexcept { return token_.get(); }

private:
    detail::owned<dlock_cancel_t, dlock_cancel_free> token_;
};

/// How to open a client.
struct client_options {
    /// Names and values of the table of options, such as {"lease", "10s"}.
    std::vector<std::pair<std::string, std::string>> options;
    /// Where log events go; see dlock_port_new().
    const dlock_port_t* log_port = nullptr;
    const cancel_token* cancel = nullptr;
};

namespace detail {

/// Options as C has them; not longer than what it was made of.
class options_table {
public:
    explicit options_table(const client_options& given)
        : options_table(given, given.cancel != nullptr ? given.cancel->get() : nullptr) {}
    options_table(const client_options& given, const dlock_cancel_t* cancel) {
        for (const auto& [name, value] : given.options)
            table_.push_back({name.data(), name.size(), value.data(), value.size()});
        how_.options = table_.data();
        how_.options_len = table_.size();
        how_.log_port = given.log_port;
        how_.cancel = cancel;
    }
    [[nodiscard]] const dlock_client_options_t* get() const noexcept { return &how_; }

private:
    std::vector<dlock_option_t> table_;
    dlock_client_options_t how_ = DLOCK_CLIENT_OPTIONS_INIT;
};

} // namespace detail

/// Connections to one server. A mutex keeps its client alive.
class client {
public:
    explicit client(std::string_view url, const client_options& options = {}) {
        const detail::options_table how{options};
        detail::check(
            [&](auto* cause) { return dlock_client_open(url.data(), url.size(), how.get(), client_.out(), cause); });
    }

    /// Takes over a handle, as ports give it.
    [[nodiscard]] static client adopt(dlock_client_t* handle) noexcept {
        client adopted;
        *adopted.client_.out() = handle;
        return adopted;
    }

    /// Ends the client for all that use it: waiters throw dlock::closed, renewal stops, leases run out.
    void close() const {
        detail::check([&](auto* cause) { return dlock_client_close(client_.get(), false, cause); });
    }
    /// As close(), but what the client holds is released first.
    void close_releasing() const {
        detail::check([&](auto* cause) { return dlock_client_close(client_.get(), true, cause); });
    }
    /// Whether it was closed.
    [[nodiscard]] bool is_closed() const {
        bool over = false;
        detail::check([&](auto* cause) { return dlock_client_is_closed(client_.get(), &over, cause); });
        return over;
    }
    /// What it has counted since it was opened. No I/O.
    [[nodiscard]] dlock::stats stats() const {
        dlock_stats_t own = DLOCK_STATS_INIT;
        dlock_lock_stats_t lock = DLOCK_LOCK_STATS_INIT;
        dlock_limiter_stats_t limiter = DLOCK_LIMITER_STATS_INIT;
        dlock_semaphore_stats_t semaphore = DLOCK_SEMAPHORE_STATS_INIT;
        detail::check([&](auto* cause) { return dlock_client_stats(client_.get(), &own, cause); });
        detail::check([&](auto* cause) { return dlock_client_lock_stats(client_.get(), &lock, cause); });
        detail::check([&](auto* cause) { return dlock_client_limiter_stats(client_.get(), &limiter, cause); });
        detail::check([&](auto* cause) { return dlock_client_semaphore_stats(client_.get(), &semaphore, cause); });
        return {own, lock_stats(lock), limiter_stats(limiter), semaphore_stats(semaphore)};
    }
    [[nodiscard]] const dlock_client_t* get() const noexcept { return client_.get(); }

private:
    client() noexcept = default;

    detail::owned<dlock_client_t, dlock_client_free> client_;
};

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

/// A view of a hold. It neither keeps the lock nor releases it.
class held {
public:
    /// The fencing token: larger than any granted before it under this name.
    [[nodiscard]] std::uint64_t token() const {
        std::uint64_t token = 0;
        detail::check([&](auto* cause) { return dlock_held_token(held_.get(), &token, cause); });
        return token;
    }
    /// The owner as it stands on the server.
    [[nodiscard]] std::string owner() const {
        char text[DLOCK_OWNER_SIZE];
        std::size_t length = 0;
        detail::check([&](auto* cause) { return dlock_held_owner(held_.get(), text, sizeof text, &length, cause); });
        return {text, length};
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
    friend class hold;
    held() noexcept = default;

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

    detail::owned<dlock_held_t, dlock_held_free> held_;
};

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

/// How to acquire.
struct acquire_options {
    /// Nothing: for ever. Zero: one try. A negative one is refused.
    std::optional<std::chrono::milliseconds> wait = std::nullopt;
    /// Zero: the mutex's own.
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

class hold;

/// Who holds a mutex, as the server sees it.
struct inspection {
    /// Nothing when it is free.
    std::optional<std::string> holder;
    bool ours = false;
    std::optional<std::chrono::milliseconds> ttl;
    /// The last one reserved, while the server remembers it; the holder's may be lower.
    std::optional<std::uint64_t> token;
    /// How many processes stand in the queue.
    std::uint64_t queued = 0;
};

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

    void lock() {
        detail::check([&](auto* cause) { return dlock_lock_acquire(lock_.get(), nullptr, nullptr, cause); });
    }
    /// False also when the calling thread holds it itself and may not lock it again, as std::lock needs it, and when
    /// the queue head was jumped twice already.
    [[nodiscard]] bool try_lock() { return try_ms(0) == DLOCK_OK; }
    template <class Rep, class Period> [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> wait) {
        return try_ms(detail::wait_ms(wait)) == DLOCK_OK;
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> deadline) {
        if (deadline == deadline.max()) return lock(), true;
        // A clock may be set back meanwhile, and a deadline long past may be too far away to subtract from.
        for (auto now = Clock::now(); now < deadline; now = Clock::now()) {
            const dlock_status_t tried = try_ms(detail::wait_ms(deadline - now));
            if (tried != DLOCK_BUSY) return tried == DLOCK_OK;
        }
        return try_lock();
    }
    /// Undoes one lock. Never throws, as guards need it: a lease that had run out is seen by held().lost() or
    /// release().
    void unlock() noexcept { dlock_lock_release(lock_.get(), nullptr); }

    /// As unlock(), but says what went wrong: dlock::not_held when the lease ran out or was taken away.
    void release() {
        detail::check([&](auto* cause) { return dlock_lock_release(lock_.get(), cause); });
    }
    /// As lock() with options, returning the hold; throws dlock::acquire_timeout. Release it with unlock(), or with a
    /// std::unique_lock that adopts it.
    dlock::held acquire(const acquire_options& options = {}) {
        const dlock_acquire_options_t how = detail::how(options);
        return view([&](auto** out, auto* cause) { return dlock_lock_acquire(lock_.get(), &how, out, cause); });
    }
    /// As acquire(), but the hold belongs to what is returned and to no thread: see dlock::hold.
    [[nodiscard]] hold take(const acquire_options& options = {});
    /// As take() without waiting; nothing when it is not to be had.
    [[nodiscard]] std::optional<hold> try_take();
    /// As take(), waiting at most `wait`; nothing when it was not to be had.
    template <class Rep, class Period>
    [[nodiscard]] std::optional<hold> try_take_for(std::chrono::duration<Rep, Period> wait);
    /// The calling thread's hold; throws dlock::not_held when it has none.
    [[nodiscard]] dlock::held held() const {
        return view([&](auto** out, auto* cause) { return dlock_lock_held(lock_.get(), out, cause); });
    }
    /// How often the calling thread holds it.
    [[nodiscard]] std::uint32_t hold_count() const {
        std::uint32_t count = 0;
        detail::check([&](auto* cause) { return dlock_lock_hold_count(lock_.get(), &count, cause); });
        return count;
    }
    /// Makes the calling thread's hold last `lease` from now, or as long as it did if that is longer; asks the server
    /// in any case.
    template <class Rep, class Period> void extend(std::chrono::duration<Rep, Period> lease) {
        detail::check([&](auto* cause) { return dlock_lock_extend(lock_.get(), detail::to_ms(lease), cause); });
    }
    /// Frees it whoever holds it; whether anybody did. A hold of this client is lost when this returns; another client
    /// is sent a message and looks at once; until then only its fencing token protects the resource.
    bool force_release() {
        bool was_held = false;
        detail::check([&](auto* cause) { return dlock_lock_force_release(lock_.get(), &was_held, cause); });
        return was_held;
    }
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
        return view([&](auto** out, auto* cause) {
            return dlock_lock_attach(lock_.get(), detached.data(), detached.size(), out, cause);
        });
    }
    [[nodiscard]] std::string name() const {
        char text[DLOCK_NAME_SIZE];
        std::size_t length = 0;
        detail::check([&](auto* cause) { return dlock_lock_name(lock_.get(), text, sizeof text, &length, cause); });
        return {text, length};
    }
    [[nodiscard]] const dlock_lock_t* get() const noexcept { return lock_.get(); }

private:
    /// DLOCK_OK, DLOCK_BUSY, or DLOCK_DEADLOCK for what the thread holds itself and may not lock again.
    [[nodiscard]] dlock_status_t try_ms(std::int64_t wait_ms) {
        dlock_acquire_options_t how = DLOCK_ACQUIRE_OPTIONS_INIT;
        how.wait_ms = wait_ms;
        dlock_error_t cause = DLOCK_ERROR_INIT;
        const dlock_status_t tried = dlock_lock_acquire(lock_.get(), &how, nullptr, &cause);
        if (tried < DLOCK_OK && tried != DLOCK_DEADLOCK) detail::raise(cause);
        return tried;
    }

    template <class Call> static dlock::held view(Call&& call) {
        dlock::held view;
        detail::check([&](auto* cause) { return call(view.held_.out(), cause); });
        return view;
    }

    detail::owned<dlock_lock_t, dlock_lock_free> lock_;
};

/// Ends libdlock in this process; see dlock_shutdown(). Objects may be destroyed afterwards; whatever else is called
/// throws dlock::closed. False when a call of another thread has not ended after 5 s, or the system refuses what the
/// end needs: call it again. Throws nothing, as atexit handlers need it.
inline bool shutdown() noexcept { return dlock_shutdown(nullptr) == DLOCK_OK; }

} // namespace dlock

#include "dlock/hold.hpp"
#include "dlock/rate_limiter.hpp"
#include "dlock/snowflake.hpp"

namespace dlock {

inline hold mutex::take(const acquire_options& options) {
    const dlock_acquire_options_t how = detail::how(options);
    dlock_held_t* taken = nullptr;
    detail::check([&](auto* cause) { return dlock_lock_take(lock_.get(), &how, &taken, cause); });
    return hold::adopt(taken);
}
inline std::optional<hold> mutex::try_take() { return try_take_for(std::chrono::milliseconds::zero()); }
template <class Rep, class Period> std::optional<hold> mutex::try_take_for(std::chrono::duration<Rep, Period> wait) {
    dlock_acquire_options_t how = DLOCK_ACQUIRE_OPTIONS_INIT;
    how.wait_ms = detail::wait_ms(wait);
    dlock_held_t* taken = nullptr;
    if (!detail::done_or_busy([&](auto* cause) { return dlock_lock_take(lock_.get(), &how, &taken, cause); }))
        return std::nullopt;
    return hold::adopt(taken);
}

} // namespace dlock

#include "dlock/port.hpp"
#if __cplusplus >= 202002L
#include "dlock/stop_on_loss.hpp"
#endif

#endif
