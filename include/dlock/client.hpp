/*
 * dlock/client.hpp: connections to a server, and the token that ends blocking calls. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DLOCK_CLIENT_HPP
#define DLOCK_CLIENT_HPP

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../dlock.h"
#include "detail.hpp"
#include "error.hpp"
#include "stats.hpp"

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
    detail::owned<dlock_cancel_t, dlock_cancel_free> token_{};
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
    std::vector<dlock_option_t> table_{};
    dlock_client_options_t how_ = DLOCK_CLIENT_OPTIONS_INIT;
};

} // namespace detail

/// Connections to one server. What is made with a client keeps it alive.
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
        dlock_rw_lock_stats_t rw_lock = DLOCK_RW_LOCK_STATS_INIT;
        dlock_counting_semaphore_stats_t counting = DLOCK_COUNTING_SEMAPHORE_STATS_INIT;
        dlock_latch_stats_t latch = DLOCK_LATCH_STATS_INIT;
        dlock_worker_stats_t worker = DLOCK_WORKER_STATS_INIT;
        dlock_queue_stats_t queue = DLOCK_QUEUE_STATS_INIT;
        detail::check([&](auto* cause) { return dlock_client_stats(client_.get(), &own, cause); });
        detail::check([&](auto* cause) { return dlock_client_lock_stats(client_.get(), &lock, cause); });
        detail::check([&](auto* cause) { return dlock_client_limiter_stats(client_.get(), &limiter, cause); });
        detail::check([&](auto* cause) { return dlock_client_semaphore_stats(client_.get(), &semaphore, cause); });
        detail::check([&](auto* cause) { return dlock_client_rw_lock_stats(client_.get(), &rw_lock, cause); });
        detail::check(
            [&](auto* cause) { return dlock_client_counting_semaphore_stats(client_.get(), &counting, cause); });
        detail::check([&](auto* cause) { return dlock_client_latch_stats(client_.get(), &latch, cause); });
        detail::check([&](auto* cause) { return dlock_client_worker_stats(client_.get(), &worker, cause); });
        detail::check([&](auto* cause) { return dlock_client_queue_stats(client_.get(), &queue, cause); });
        return {own,
                lock_stats(lock),
                limiter_stats(limiter),
                semaphore_stats(semaphore),
                rw_lock_stats(rw_lock),
                counting_semaphore_stats(counting),
                latch_stats(latch),
                worker_stats(worker),
                queue_stats(queue)};
    }
    [[nodiscard]] const dlock_client_t* get() const noexcept { return client_.get(); }

private:
    client() noexcept = default;

    detail::owned<dlock_client_t, dlock_client_free> client_{};
};

} // namespace dlock

#endif
