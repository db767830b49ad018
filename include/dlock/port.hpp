/*
 * dlock/port.hpp: a completion port as an object: operations that do not block, with callbacks, and under C++20 as
 * awaitables of coroutines. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::port port;
 *     port.acquire(orders).then([](dlock::result<dlock::hold> got) { work(got.get()); });
 *     port.run();                                     // or poll port.fd() in an event loop, and port.dispatch()
 *
 *     dlock::hold hold = co_await port.acquire(orders);
 *     co_await port.release(std::move(hold));
 *
 * Callbacks and coroutines run on the thread that dispatches, and on no other. One thread at a time dispatches a port:
 * a second one throws dlock::invalid_argument. Operations may be started by any thread.
 */
#ifndef DLOCK_PORT_HPP
#define DLOCK_PORT_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../dlock.h"
#include "bloom_filter.hpp"
#include "client.hpp"
#include "counting_semaphore.hpp"
#include "delivery.hpp"
#include "detail.hpp"
#include "error.hpp"
#include "held.hpp"
#include "hold.hpp"
#include "id_generator.hpp"
#include "latch.hpp"
#include "lock_all.hpp"
#include "mutex.hpp"
#include "operation.hpp"
#include "queue_operations.hpp"
#include "rate_limiter.hpp"
#include "semaphore.hpp"
#include "shared_mutex.hpp"
#include "worker.hpp"

namespace dlock {

/// Where operations complete. Its end ends those under way without a word to their callbacks and coroutines, and gives
/// back what they got.
class port : public detail::queue_operations<port> {
    friend class detail::queue_operations<port>;

    template <class T, class Submit> [[nodiscard]] operation<T, Submit> begin(Submit submit) const {
        return {state(), std::move(submit)};
    }
    template <class T> [[nodiscard]] auto acquire_as(const mutex& lock, const acquire_options& options) const {
        return begin<T>(
            [handle = lock.get(), how = detail::how(options)](auto* to, auto* data, auto** op, auto* cause) {
                return dlock_submit_acquire(to, handle, &how, data, op, cause);
            });
    }
    template <class T>
    [[nodiscard]] auto acquire_as(const semaphore& of, std::int64_t permits, const acquire_options& options) const {
        return begin<T>(
            [handle = of.get(), permits, how = detail::how(options)](auto* to, auto* data, auto** op, auto* cause) {
                return dlock_submit_semaphore_acquire(to, handle, permits, &how, data, op, cause);
            });
    }
    template <class T>
    [[nodiscard]] auto acquire_as(const dlock_rw_lock_t* side, const acquire_options& options) const {
        return begin<T>([side, how = detail::how(options)](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_rw_lock_acquire(to, side, &how, data, op, cause);
        });
    }
    template <class T> [[nodiscard]] auto acquire_as(const lock_all& set, const acquire_options& options) const {
        return begin<T>([handle = set.get(), how = detail::how(options)](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_lock_all_acquire(to, handle, &how, data, op, cause);
        });
    }

public:
    port() : state_(std::make_shared<detail::port_state>()) {}
    port(port&&) noexcept = default;
    /// The port that was here ends first.
    port& operator=(port&& other) noexcept {
        if (this != &other) {
            if (const auto ended = std::move(state_)) ended->close();
            state_ = std::move(other.state_);
        }
        return *this;
    }
    ~port() {
        if (state_) state_->close();
    }

    /// A descriptor to poll: readable while there is something to dispatch. Neither read from it nor close it.
    [[nodiscard]] int fd() const { return state()->fd(); }
    /// Whether an operation is under way.
    [[nodiscard]] bool busy() const { return state()->busy(); }
    /// For client_options::log_port: log events then go to what on_log() was given.
    [[nodiscard]] const dlock_port_t* get() const noexcept { return state_ ? state_->get() : nullptr; }
    /// `log` is called with a level, a message and the name of what it is about, or none.
    void on_log(std::function<void(dlock_log_level_t, std::string_view, std::string_view)> log) {
        state()->log_to(std::move(log));
    }

    /// Runs the callbacks and coroutines of what is complete; how many completions there were. An exception of one of
    /// them comes out here, and the rest stays for the next dispatch. Throws dlock::invalid_argument while another
    /// thread dispatches this port, as do dispatch_for() and run().
    std::size_t dispatch() { return detail::dispatching{state()}.dispatch(); }
    /// Waits until something is complete, at most `wait`, and dispatches it.
    template <class Rep, class Period> std::size_t dispatch_for(std::chrono::duration<Rep, Period> wait) {
        const detail::dispatching call{state()};
        call.await(detail::wait_ms(wait));
        return call.dispatch();
    }
    /// Dispatches until no operation is under way.
    void run() {
        const detail::dispatching call{state()};
        while (call.busy()) {
            call.await(-1);
            call.dispatch();
        }
    }

    /// Opens a client.
    [[nodiscard]] auto open(std::string url, client_options options = {}) const {
        // The operation may begin when the token is not there any more, or elsewhere: its handle tells.
        const auto* cancel = options.cancel != nullptr ? options.cancel->get() : nullptr;
        return begin<client>(
            [url = std::move(url), options = std::move(options), cancel](auto* to, auto* data, auto** op, auto* cause) {
                const detail::options_table how{options, cancel};
                return dlock_submit_client_open(to, url.data(), url.size(), how.get(), data, op, cause);
            });
    }
    /// Closes a client; with `release`, what it holds is released first.
    [[nodiscard]] auto close(const client& ended, bool release = false) const {
        return begin<void>([handle = ended.get(), release](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_client_close(to, handle, release, data, op, cause);
        });
    }
    /// Acquires a mutex for the hold itself; dlock::acquire_timeout if it was not acquired within the wait.
    [[nodiscard]] auto acquire(const mutex& lock, const acquire_options& options = {}) const {
        return acquire_as<hold>(lock, options);
    }
    /// Acquires a mutex if it can be had within `wait`; nothing when not.
    [[nodiscard]] auto try_acquire(const mutex& lock,
                                   std::chrono::milliseconds wait = std::chrono::milliseconds::zero()) const {
        acquire_options options;
        options.wait = wait;
        return acquire_as<std::optional<hold>>(lock, options);
    }
    /// Acquires permits of a semaphore, all at once, for the hold itself; dlock::acquire_timeout if they were not
    /// available within the wait.
    [[nodiscard]] auto acquire(const semaphore& of, std::int64_t permits = 1,
                               const acquire_options& options = {}) const {
        return acquire_as<hold>(of, permits, options);
    }
    /// Acquires permits if they can be had within `wait`; nothing when not.
    [[nodiscard]] auto try_acquire(const semaphore& of, std::int64_t permits = 1,
                                   std::chrono::milliseconds wait = std::chrono::milliseconds::zero()) const {
        acquire_options options;
        options.wait = wait;
        return acquire_as<std::optional<hold>>(of, permits, options);
    }
    /// Acquires the write side of a shared mutex for the hold itself; dlock::acquire_timeout if it was not acquired
    /// within the wait.
    [[nodiscard]] auto acquire(const shared_mutex& of, const acquire_options& options = {}) const {
        return acquire_as<hold>(of.get(), options);
    }
    /// The same of the read side.
    [[nodiscard]] auto acquire_shared(const shared_mutex& of, const acquire_options& options = {}) const {
        return acquire_as<hold>(of.get_shared(), options);
    }
    /// Acquires the write side if it can be had within `wait`; nothing when not.
    [[nodiscard]] auto try_acquire(const shared_mutex& of,
                                   std::chrono::milliseconds wait = std::chrono::milliseconds::zero()) const {
        acquire_options options;
        options.wait = wait;
        return acquire_as<std::optional<hold>>(of.get(), options);
    }
    /// The same of the read side.
    [[nodiscard]] auto try_acquire_shared(const shared_mutex& of,
                                          std::chrono::milliseconds wait = std::chrono::milliseconds::zero()) const {
        acquire_options options;
        options.wait = wait;
        return acquire_as<std::optional<hold>>(of.get_shared(), options);
    }
    /// Acquires several locks as one for the hold itself; dlock::acquire_timeout if not all were acquired within the
    /// wait.
    [[nodiscard]] auto acquire(const lock_all& set, const acquire_options& options = {}) const {
        return acquire_as<hold>(set, options);
    }
    /// Acquires several locks as one if all can be had within `wait`; nothing when not.
    [[nodiscard]] auto try_acquire(const lock_all& set,
                                   std::chrono::milliseconds wait = std::chrono::milliseconds::zero()) const {
        acquire_options options;
        options.wait = wait;
        return acquire_as<std::optional<hold>>(set, options);
    }
    /// Takes tokens of a limiter, waiting for them at most `wait`; nothing: as long as it takes.
    [[nodiscard]] auto acquire(const rate_limiter& limiter, std::int64_t cost = 1,
                               std::optional<std::chrono::milliseconds> wait = std::nullopt) const {
        const std::int64_t wait_ms = wait ? detail::wait_ms(*wait) : -1;
        return begin<decision>([handle = limiter.get(), cost, wait_ms](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_rate_limit(to, handle, cost, wait_ms, data, op, cause);
        });
    }
    /// Acquires permits of a counting semaphore, all at once, for whoever releases them.
    [[nodiscard]] auto acquire(const counting_semaphore& of, std::int64_t permits = 1) const {
        return begin<void>(detail::acquiring_count{of.semaphore_, permits, -1});
    }
    /// Acquires permits if they can be had within `wait`; whether they could. submitted::cancel() that is false came
    /// too late: the permits are there to be released, as the callback is told.
    [[nodiscard]] auto try_acquire(const counting_semaphore& of, std::int64_t permits = 1,
                                   std::chrono::milliseconds wait = std::chrono::milliseconds::zero()) const {
        return begin<bool>(detail::acquiring_count{of.semaphore_, permits, detail::wait_ms(wait)});
    }
    /// Brings permits of a counting semaphore back. Cancelled, it goes on.
    [[nodiscard]] auto release(const counting_semaphore& of, std::ptrdiff_t update = 1) const {
        return begin<void>([shared = of.semaphore_, update](auto* to, auto* data, auto** op, auto* cause) {
            const auto* semaphore = shared ? shared->get() : nullptr;
            return dlock_submit_counting_semaphore_release(to, semaphore, update, data, op, cause);
        });
    }
    /// Counts a latch down; what is left. Cancelled, it may have counted or not.
    [[nodiscard]] auto count_down(const latch& of, std::int64_t update = 1) const {
        return begin<std::int64_t>([handle = of.get(), update](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_latch_count_down(to, handle, update, data, op, cause);
        });
    }
    /// Waits until a latch is open, at most `wait`, nothing: as long as it takes; whether it was open then.
    [[nodiscard]] auto wait(const latch& of, std::optional<std::chrono::milliseconds> wait = std::nullopt) const {
        const std::int64_t wait_ms = wait ? detail::wait_ms(*wait) : -1;
        return begin<bool>([handle = of.get(), wait_ms](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_latch_wait(to, handle, wait_ms, data, op, cause);
        });
    }
    /// The next id of a generator, at once as long as this process has one. Cancelled, it may leave a gap.
    [[nodiscard]] auto next_id(const id_generator& of) const {
        return begin<std::int64_t>([handle = of.get()](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_id_generator_next_id(to, handle, data, op, cause);
        });
    }
    /// Adds an item to a Bloom filter; whether it is new. Cancelled, it may have been added or not.
    [[nodiscard]] auto add(const bloom_filter& to_filter, std::string item) const {
        return begin<bool>(
            [handle = to_filter.get(), item = std::move(item)](auto* to, auto* data, auto** op, auto* cause) {
                return dlock_submit_bloom_filter_add(to, handle, item.data(), item.size(), data, op, cause);
            });
    }
    /// Looks for an item in a Bloom filter; whether it was added.
    [[nodiscard]] auto contains(const bloom_filter& in, std::string item) const {
        return begin<bool>([handle = in.get(), item = std::move(item)](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_bloom_filter_contains(to, handle, item.data(), item.size(), data, op, cause);
        });
    }
    /// How many items a Bloom filter has, as its bits let expect.
    [[nodiscard]] auto count(const bloom_filter& of) const {
        return begin<std::int64_t>([handle = of.get()](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_bloom_filter_count(to, handle, data, op, cause);
        });
    }
    /// Removes a Bloom filter; whether it was there.
    [[nodiscard]] auto clear(const bloom_filter& of) const {
        return begin<bool>([handle = of.get()](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_bloom_filter_clear(to, handle, data, op, cause);
        });
    }
    /// Leases a worker number; dlock::acquire_timeout when all are taken.
    [[nodiscard]] auto lease_worker(const client& of, std::string pool, const worker_options& options = {}) const {
        return begin<worker>([handle = of.get(), pool = std::move(pool),
                              how = detail::how(options)](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_worker_lease(to, handle, pool.data(), pool.size(), &how, data, op, cause);
        });
    }
    /// Takes a detached hold over, for the hold itself.
    [[nodiscard]] auto attach(const mutex& lock, std::string detached) const {
        return begin<hold>(
            [handle = lock.get(), text = std::move(detached)](auto* to, auto* data, auto** op, auto* cause) {
                return dlock_submit_attach(to, handle, text.data(), text.size(), data, op, cause);
            });
    }
    /// Releases a hold. Cancelled, it goes on. If it cannot be begun, or never is, the hold is released as by its end.
    [[nodiscard]] auto release(hold&& ended) const { return begin<void>(detail::releasing{std::move(ended)}); }
    /// Gives a worker number back, as release() of a hold.
    [[nodiscard]] auto release(worker&& ended) const { return release(std::move(ended).into_hold()); }
    /// Makes a hold last `lease` from now, or as long as it did if that is longer; asks the server in any case.
    template <class Rep, class Period>
    [[nodiscard]] auto extend(const hold& extended, std::chrono::duration<Rep, Period> lease) const {
        const std::int64_t lease_ms = detail::to_ms(lease);
        return begin<void>([handle = extended.get(), lease_ms](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_extend(to, handle, lease_ms, data, op, cause);
        });
    }
    /// Makes a hold of the read side out of one of the write side of a shared mutex, which is over then.
    [[nodiscard]] auto downgrade(const hold& writing) const {
        return begin<hold>([handle = writing.get()](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_downgrade(to, handle, data, op, cause);
        });
    }
    /// Waits until a hold is over: why it was lost, or nothing when it was released.
    [[nodiscard]] auto wait_lost(const hold& watched) const {
        return begin<std::optional<loss>>([handle = watched.get()](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_wait_lost(to, handle, -1, data, op, cause);
        });
    }
    /// Makes a delivery last `lease` from now, as extend() of a hold.
    template <class Rep, class Period>
    [[nodiscard]] auto extend(const delivery& extended, std::chrono::duration<Rep, Period> lease) const {
        const std::int64_t lease_ms = detail::to_ms(lease);
        return begin<void>([handle = extended.get(), lease_ms](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_extend(to, handle, lease_ms, data, op, cause);
        });
    }
    /// Waits until a delivery is over: why it was lost, or nothing when it was ended.
    [[nodiscard]] auto wait_lost(const delivery& watched) const {
        return begin<std::optional<loss>>([handle = watched.get()](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_wait_lost(to, handle, -1, data, op, cause);
        });
    }
    /// The same of a worker number.
    [[nodiscard]] auto wait_lost(const worker& watched) const {
        return begin<std::optional<loss>>([handle = watched.get()](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_wait_lost(to, handle, -1, data, op, cause);
        });
    }

private:
    [[nodiscard]] const std::shared_ptr<detail::port_state>& state() const {
        if (!state_) detail::refuse("port", "this port was moved from");
        return state_;
    }

    std::shared_ptr<detail::port_state> state_;
};

} // namespace dlock

#endif
