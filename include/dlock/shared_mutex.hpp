/*
 * dlock/shared_mutex.hpp: read-write locks, held by threads or by objects. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::shared_mutex prices{client, "prices"};
 *     std::shared_lock reading{prices};               // with any number of others
 *     ...
 *     std::unique_lock writing{prices};               // alone
 *     write_to_database(prices.held().token());       // the fencing token
 */
#ifndef DLOCK_SHARED_MUTEX_HPP
#define DLOCK_SHARED_MUTEX_HPP

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

/// How to open a shared mutex.
struct shared_mutex_options {
    /// Zero: a lease that is renewed while the mutex is held, see `watchdog_lease`. Otherwise a lease that is not
    /// renewed.
    std::chrono::milliseconds lease{0};
    /// Whether a thread that holds a side may lock that side again; by default as the client's option says.
    std::optional<bool> reentrant = std::nullopt;
    /// The lease that is renewed, every third of it. Zero: the client's. Not together with a `lease`.
    std::chrono::milliseconds watchdog_lease{0};
    /// How long after the server's grant a reader of this process joins it without a round trip, 0 to 10 s; by default
    /// 10 ms. Zero: each reader that comes later asks the server, where a writer that waits is in front of it.
    std::optional<std::chrono::milliseconds> shared_age = std::nullopt;
};

/// Who holds a shared mutex, as the server sees it.
struct shared_mutex_inspection {
    /// The owner of the write side; nothing when nobody writes.
    std::optional<std::string> writer{};
    /// Whether that is this client.
    bool ours = false;
    /// How many holds of the read side there are; readers of one process that share one count as one.
    std::uint64_t readers = 0;
    /// What is left of the longest lease.
    std::optional<std::chrono::milliseconds> ttl{};
    /// The last one reserved, while the server remembers it; the holder's may be lower.
    std::optional<std::uint64_t> token{};
    /// How many processes stand in the queue.
    std::uint64_t queued = 0;
};

namespace detail {

struct rw_lock_calls {
    using handle = dlock_rw_lock_t;
    static constexpr auto free = dlock_rw_lock_free;
    static constexpr auto acquire = dlock_rw_lock_acquire;
    static constexpr auto take = dlock_rw_lock_take;
    static constexpr auto release = dlock_rw_lock_release;
    static constexpr auto extend = dlock_rw_lock_extend;
    static constexpr auto hold_count = dlock_rw_lock_hold_count;
    static constexpr auto held = dlock_rw_lock_held;
    static constexpr auto force_release = dlock_rw_lock_force_release;
};

template <class> constexpr bool never = false;

} // namespace detail

/// A read-write lock by name, with the verbs of std::shared_timed_mutex: for std::unique_lock, std::scoped_lock,
/// std::lock and std::shared_lock. Served in the order of arrival: a reader that comes while a writer waits stands
/// behind it, and readers that stand next to one another are admitted together.
///
/// Unlike the standard's it may be locked again by a thread that holds it. A thread that writes may read as well; when
/// it unlocks the write side it goes on as a reader, and the readers that wait are woken: see downgrade(). A thread
/// that only reads cannot write too, since it would wait for itself: lock() throws dlock::deadlock.
class shared_mutex {
public:
    shared_mutex(const client& client, std::string_view name, const shared_mutex_options& options = {}) {
        dlock_rw_lock_options_t how = DLOCK_RW_LOCK_OPTIONS_INIT;
        how.lease_ms = options.lease.count();
        how.watchdog_lease_ms = options.watchdog_lease.count();
        how.reentrant = options.reentrant ? int{*options.reentrant} : -1;
        // -1 is the default in C; given, it is refused like every other negative one.
        if (options.shared_age)
            how.shared_age_ms = options.shared_age->count() == -1 ? -2 : options.shared_age->count();
        const auto open = [&](dlock_side_t which, dlock_rw_lock_t** out) {
            detail::check([&](auto* cause) {
                return dlock_rw_lock_open(client.get(), name.data(), name.size(), which, &how, out, cause);
            });
        };
        open(DLOCK_SIDE_READ, reads_.out());
        open(DLOCK_SIDE_WRITE, writes_.out());
    }

    void lock() { writes_.lock(); }
    /// False also when the calling thread would wait for itself, as std::lock needs it, and when the queue head was
    /// jumped twice already.
    [[nodiscard]] bool try_lock() { return writes_.try_for_ms(0); }
    template <class Rep, class Period> [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> wait) {
        return writes_.try_for_ms(detail::wait_ms(wait));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> deadline) {
        return writes_.try_until(deadline);
    }
    /// Undoes one lock. Never throws, as guards need it: a lease that had run out is seen by held().lost() or
    /// release().
    void unlock() noexcept { writes_.unlock(); }

    void lock_shared() { reads_.lock(); }
    /// False as try_lock().
    [[nodiscard]] bool try_lock_shared() { return reads_.try_for_ms(0); }
    template <class Rep, class Period> [[nodiscard]] bool try_lock_shared_for(std::chrono::duration<Rep, Period> wait) {
        return reads_.try_for_ms(detail::wait_ms(wait));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(std::chrono::time_point<Clock, Duration> deadline) {
        return reads_.try_until(deadline);
    }
    /// Undoes one lock_shared. Never throws, as unlock().
    void unlock_shared() noexcept { reads_.unlock(); }

    /// As unlock(), but says what went wrong: dlock::not_held when the lease ran out or was taken away.
    void release() { writes_.release(); }
    void release_shared() { reads_.release(); }
    /// As lock() with options, returning the hold; throws dlock::acquire_timeout. Release it with unlock(), or with a
    /// std::unique_lock that adopts it.
    dlock::held acquire(const acquire_options& options = {}) { return writes_.acquire(options); }
    /// As acquire(), of the read side: release it with unlock_shared(), or with a std::shared_lock that adopts it.
    dlock::held acquire_shared(const acquire_options& options = {}) { return reads_.acquire(options); }

    /// As acquire(), but the hold belongs to what is returned and to no thread: see dlock::hold.
    [[nodiscard]] hold take(const acquire_options& options = {}) { return writes_.take(options); }
    [[nodiscard]] hold take_shared(const acquire_options& options = {}) { return reads_.take(options); }
    /// As take() without waiting; nothing when it is not to be had.
    [[nodiscard]] std::optional<hold> try_take() { return writes_.try_take_for_ms(0); }
    [[nodiscard]] std::optional<hold> try_take_shared() { return reads_.try_take_for_ms(0); }
    /// As take(), waiting at most `wait`; nothing when it was not to be had.
    template <class Rep, class Period>
    [[nodiscard]] std::optional<hold> try_take_for(std::chrono::duration<Rep, Period> wait) {
        return writes_.try_take_for_ms(detail::wait_ms(wait));
    }
    template <class Rep, class Period>
    [[nodiscard]] std::optional<hold> try_take_shared_for(std::chrono::duration<Rep, Period> wait) {
        return reads_.try_take_for_ms(detail::wait_ms(wait));
    }

    /// The calling thread goes on as a reader, and nobody else has written in between: acquires the read side, then
    /// releases the write side, which wakes the readers that wait. What is returned is the hold of the read side, ended
    /// by unlock_shared(). Throws dlock::not_held when the thread does not write, or lost the write side.
    ///
    ///     prices.lock();
    ///     write();
    ///     prices.downgrade();
    ///     std::shared_lock reading{prices, std::adopt_lock};
    dlock::held downgrade() {
        return dlock::held::from(
            [&](auto** out, auto* cause) { return dlock_rw_lock_downgrade(writes_.get(), out, cause); });
    }

    /// The calling thread's hold of the write side; throws dlock::not_held when it has none.
    [[nodiscard]] dlock::held held() const { return writes_.held(); }
    /// That of the read side. Readers of one process that share a hold on the server share its token and its loss.
    [[nodiscard]] dlock::held held_shared() const { return reads_.held(); }
    /// How often the calling thread holds the write side.
    [[nodiscard]] std::uint32_t hold_count() const { return writes_.hold_count(); }
    [[nodiscard]] std::uint32_t hold_count_shared() const { return reads_.hold_count(); }
    /// Makes the calling thread's hold of the write side last `lease` from now, or as long as it did if that is longer;
    /// asks the server in any case.
    template <class Rep, class Period> void extend(std::chrono::duration<Rep, Period> lease) {
        writes_.extend(detail::to_ms(lease));
    }
    template <class Rep, class Period> void extend_shared(std::chrono::duration<Rep, Period> lease) {
        reads_.extend(detail::to_ms(lease));
    }

    /// Frees both sides whoever holds them; whether anybody did. A hold of this client is lost when this returns;
    /// another client is sent a message and looks at once; until then only its fencing token protects the resource.
    bool force_release() { return writes_.force_release(); }
    [[nodiscard]] shared_mutex_inspection inspect() const {
        dlock_rw_lock_inspection_t seen = DLOCK_RW_LOCK_INSPECTION_INIT;
        detail::check([&](auto* cause) { return dlock_rw_lock_inspect(writes_.get(), &seen, cause); });
        shared_mutex_inspection answer;
        if (seen.writing) answer.writer = seen.writer;
        answer.ours = seen.ours;
        answer.readers = seen.readers;
        if (seen.ttl_ms >= 0) answer.ttl = std::chrono::milliseconds(seen.ttl_ms);
        if (seen.token != 0) answer.token = seen.token;
        answer.queued = seen.queued;
        return answer;
    }
    [[nodiscard]] std::string name() const {
        return detail::text<DLOCK_NAME_SIZE>([&](auto... into) { return dlock_rw_lock_name(writes_.get(), into...); });
    }
    /// The handle of the write side.
    [[nodiscard]] const dlock_rw_lock_t* get() const noexcept { return writes_.get(); }
    /// The handle of the read side.
    [[nodiscard]] const dlock_rw_lock_t* get_shared() const noexcept { return reads_.get(); }

    // What others call differently or have besides says so when it is compiled.
    template <class T = void> void unlock_and_lock_shared() {
        static_assert(detail::never<T>, "dlock::shared_mutex: unlock_and_lock_shared() is downgrade() here");
    }
    template <class T = void> void lock_upgrade() { no_upgrade<T>(); }
    template <class T = void> bool try_lock_upgrade() { return no_upgrade<T>(); }
    template <class T = void> void unlock_upgrade_and_lock() { no_upgrade<T>(); }
    template <class T = void> bool try_unlock_shared_and_lock() { return no_upgrade<T>(); }
    template <class T = void> void* native_handle() {
        static_assert(detail::never<T>, "dlock::shared_mutex: the handles of C are get() for the write side and "
                                        "get_shared() for the read side");
        return nullptr;
    }

private:
    template <class T> static bool no_upgrade() {
        static_assert(detail::never<T>, "dlock::shared_mutex: a reader cannot become a writer, since two of them would "
                                        "wait for each other: lock() the write side first, which may read as well, and "
                                        "downgrade() when the writing is done");
        return false;
    }

    detail::lockable<detail::rw_lock_calls> reads_{}, writes_{};
};

} // namespace dlock

#endif
