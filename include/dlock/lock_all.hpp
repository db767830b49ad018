/*
 * dlock/lock_all.hpp: several locks as one, all of them or none. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::lock_all transfer{client, {"account/7", "account/42"}};
 *     std::unique_lock guard{transfer};               // or scoped_lock, try_lock_for, ...
 *     for (const auto& [name, token] : transfer.tokens())
 *         write_to_database(name, token);             // each account with its own fencing token
 */
#ifndef DLOCK_LOCK_ALL_HPP
#define DLOCK_LOCK_ALL_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../dlock.h"
#include "client.hpp"
#include "detail.hpp"
#include "error.hpp"
#include "held.hpp"
#include "hold.hpp"
#include "lockable.hpp"
#include "mutex.hpp"

namespace dlock {

namespace detail {

struct lock_all_calls {
    using handle = dlock_lock_all_t;
    static constexpr auto free = dlock_lock_all_free;
    static constexpr auto acquire = dlock_lock_all_acquire;
    static constexpr auto take = dlock_lock_all_take;
    static constexpr auto release = dlock_lock_all_release;
    static constexpr auto extend = dlock_lock_all_extend;
    static constexpr auto hold_count = dlock_lock_all_hold_count;
    static constexpr auto held = dlock_lock_all_held;
};

/// Whether a container has names that stay where they are: views, or strings of its own, none that it makes while it is
/// read.
template <class Names, class Name = decltype(*std::begin(std::declval<const Names&>()))>
constexpr bool has_names = std::is_convertible_v<Name, std::string_view> &&
                           (std::is_reference_v<Name> || std::is_same_v<Name, std::string_view> ||
                            std::is_pointer_v<Name>);

} // namespace detail

/// Several locks by name as one: all of them are held, or none. Lockable and TimedLockable: for std::unique_lock,
/// std::scoped_lock and std::lock. A dlock::mutex of one of the names excludes it, and is excluded by it. Two that
/// overlap never block each other for ever, in whatever order their names are given; name everything in one, since
/// locks that are held besides can block as nested locks do.
///
/// The hold is lost when one of the locks is lost: held().lost_name() says which. Each lock has a fencing token of its
/// own: tokens(), or held().token(name).
class lock_all {
public:
    /// Of 1 to 100 different names; one that is given twice counts once. The options are those of each lock.
    lock_all(const client& client, std::initializer_list<std::string_view> names, const mutex_options& options = {}) {
        open(client, names.begin(), names.end(), options);
    }
    /// The same of a container of what is or can be read as a std::string_view.
    template <class Names, class = std::enable_if_t<detail::has_names<Names>>>
    lock_all(const client& client, const Names& names, const mutex_options& options = {}) {
        open(client, std::begin(names), std::end(names), options);
    }

    void lock() { set_.lock(); }
    /// False also when the calling thread would wait for itself, as std::lock needs it, and when a queue head was
    /// jumped twice already.
    [[nodiscard]] bool try_lock() { return set_.try_for_ms(0); }
    /// Waits at most `wait` for all of them together.
    template <class Rep, class Period> [[nodiscard]] bool try_lock_for(std::chrono::duration<Rep, Period> wait) {
        return set_.try_for_ms(detail::wait_ms(wait));
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(std::chrono::time_point<Clock, Duration> deadline) {
        return set_.try_until(deadline);
    }
    /// Undoes one lock of each. Never throws, as guards need it: a lease that had run out is seen by held().lost() or
    /// release().
    void unlock() noexcept { set_.unlock(); }

    /// As unlock(), but says what went wrong: dlock::not_held, with the name of the lock, when a lease ran out or was
    /// taken away. The others are released all the same.
    void release() { set_.release(); }
    /// As lock() with options, returning the hold; throws dlock::acquire_timeout, with the name of a lock that was not
    /// to be had. Release it with unlock(), or with a std::unique_lock that adopts it.
    dlock::held acquire(const acquire_options& options = {}) { return set_.acquire(options); }
    /// As acquire(), but the hold belongs to what is returned and to no thread: see dlock::hold.
    [[nodiscard]] hold take(const acquire_options& options = {}) { return set_.take(options); }
    /// As take() without waiting; nothing when not all are to be had.
    [[nodiscard]] std::optional<hold> try_take() { return set_.try_take_for_ms(0); }
    /// As take(), waiting at most `wait`; nothing when not all were to be had.
    template <class Rep, class Period>
    [[nodiscard]] std::optional<hold> try_take_for(std::chrono::duration<Rep, Period> wait) {
        return set_.try_take_for_ms(detail::wait_ms(wait));
    }
    /// The calling thread's hold; throws dlock::not_held when it does not have all of them.
    [[nodiscard]] dlock::held held() const { return set_.held(); }
    /// How often the calling thread holds all of them.
    [[nodiscard]] std::uint32_t hold_count() const { return set_.hold_count(); }
    /// Makes what the calling thread holds of each last `lease` from now, or as long as it did if that is longer; asks
    /// the server in any case.
    template <class Rep, class Period> void extend(std::chrono::duration<Rep, Period> lease) {
        set_.extend(detail::to_ms(lease));
    }

    /// The names, each once, in the order in which the locks are waited for.
    [[nodiscard]] std::vector<std::string> names() const {
        std::size_t count = 0;
        detail::check([&](auto* cause) { return dlock_lock_all_len(get(), &count, cause); });
        std::vector<std::string> names;
        names.reserve(count);
        for (std::size_t at = 0; at < count; at++)
            names.push_back(
                detail::text<DLOCK_NAME_SIZE>([&](auto... into) { return dlock_lock_all_name(get(), at, into...); }));
        return names;
    }
    /// The name of each lock and its fencing token, of the calling thread's hold; throws dlock::not_held when it does
    /// not have all of them.
    [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> tokens() const { return tokens_of(held()); }
    /// The same of a hold of these locks that take() or acquire() gave.
    [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> tokens(const dlock::held& of) const {
        return tokens_of(of);
    }
    [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> tokens(const hold& of) const {
        return tokens_of(of.view());
    }
    [[nodiscard]] const dlock_lock_all_t* get() const noexcept { return set_.get(); }

private:
    template <class Each> void open(const client& client, Each from, Each to, const mutex_options& options) {
        std::vector<const char*> names;
        std::vector<std::size_t> lengths;
        for (; from != to; ++from) {
            const std::string_view name = *from;
            names.push_back(name.data() != nullptr ? name.data() : "");
            lengths.push_back(name.size());
        }
        dlock_lock_options_t how = DLOCK_LOCK_OPTIONS_INIT;
        how.lease_ms = options.lease.count();
        how.watchdog_lease_ms = options.watchdog_lease.count();
        how.reentrant = options.reentrant ? int{*options.reentrant} : -1;
        detail::check([&](auto* cause) {
            return dlock_lock_all_open(client.get(), names.data(), lengths.data(), names.size(), &how, set_.out(),
                                       cause);
        });
    }

    [[nodiscard]] std::vector<std::pair<std::string, std::uint64_t>> tokens_of(const dlock::held& of) const {
        std::vector<std::pair<std::string, std::uint64_t>> tokens;
        for (auto& name : names()) {
            const auto token = of.token(name);
            tokens.emplace_back(std::move(name), token);
        }
        return tokens;
    }

    detail::lockable<detail::lock_all_calls> set_{};
};

} // namespace dlock

#endif
