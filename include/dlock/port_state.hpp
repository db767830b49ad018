/*
 * dlock/port_state.hpp: what a port shares with its operations, and how it is dispatched. Part of dlock.hpp; see
 * dlock/port.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DLOCK_PORT_STATE_HPP
#define DLOCK_PORT_STATE_HPP

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <poll.h>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>

#include "../dlock.h"
#include "detail.hpp"
#include "error.hpp"

namespace dlock {
namespace detail {

class port_state;

using log_function = std::function<void(dlock_log_level_t, std::string_view, std::string_view)>;

/// An operation under way, kept by its port until it is completed.
class pending {
public:
    pending() = default;
    pending(const pending&) = delete;
    pending& operator=(const pending&) = delete;
    virtual ~pending() = default;
    virtual void complete(const std::shared_ptr<port_state>& port, const dlock_completion_t& done) = 0;
};

/// What a port, its operations and its awaiters share.
class port_state : public std::enable_shared_from_this<port_state> {
public:
    port_state() {
        check([&](auto* cause) { return dlock_port_new(port_.out(), cause); });
    }
    [[nodiscard]] const dlock_port_t* get() const noexcept { return port_.get(); }
    [[nodiscard]] int fd() const {
        int descriptor = -1;
        check([&](auto* cause) { return dlock_port_fd(port_.get(), &descriptor, cause); });
        return descriptor;
    }
    [[nodiscard]] bool busy() const {
        const std::lock_guard guard{mutex_};
        return !pending_.empty();
    }

    /// Starts what `submit` submits; `each` gets its completion.
    template <class Submit> dlock_op_t* start(const std::shared_ptr<pending>& each, Submit& submit) {
        keep(each);
        dlock_op_t* op = nullptr;
        dlock_error_t cause = DLOCK_ERROR_INIT;
        if (submit(port_.get(), each.get(), &op, &cause) != DLOCK_OK) {
            (void)take(each.get());
            raise(cause);
        }
        return op;
    }

    /// The operation that a completion belongs to.
    [[nodiscard]] std::shared_ptr<pending> take(void* user_data) {
        const std::lock_guard guard{mutex_};
        const auto found = pending_.find(user_data);
        if (found == pending_.end()) return nullptr;
        auto each = std::move(found->second);
        pending_.erase(found);
        return each;
    }

    /// Takes one completion to its operation, unless there is none.
    bool dispatch_one();

    /// The calling thread dispatches, from here to the matching leave(). A callback may dispatch again, another thread
    /// not: it would take the completion for which the first one waits.
    void enter() {
        const std::lock_guard guard{mutex_};
        if (depth_ > 0 && dispatcher_ != std::this_thread::get_id())
            refuse("dispatch", "another thread is dispatching this port; one thread at a time may");
        dispatcher_ = std::this_thread::get_id();
        depth_++;
    }
    void leave() {
        const std::lock_guard guard{mutex_};
        depth_--;
    }

    /// The end of the port: nothing completes any more.
    void close() {
        port_ = {};
        std::unordered_map<void*, std::shared_ptr<pending>> left; // their ends may start something: not under the mutex
        const std::lock_guard guard{mutex_};
        left.swap(pending_);
    }

    /// What log events go to. The one before lives on while it runs: it may be what replaces itself.
    void log_to(log_function log) {
        auto fresh = std::make_shared<const log_function>(std::move(log));
        const std::lock_guard guard{mutex_};
        log_.swap(fresh);
    }

private:
    [[nodiscard]] std::shared_ptr<const log_function> log() const {
        const std::lock_guard guard{mutex_};
        return log_;
    }

    void keep(const std::shared_ptr<pending>& each) {
        const std::lock_guard guard{mutex_};
        pending_.emplace(each.get(), each);
    }

    owned<dlock_port_t, dlock_port_free> port_{};
    mutable std::mutex mutex_{};
    std::unordered_map<void*, std::shared_ptr<pending>> pending_{};
    std::shared_ptr<const log_function> log_{};
    /// The thread that dispatches, and how many of its calls do, one within the other.
    std::thread::id dispatcher_{};
    std::size_t depth_ = 0;
};

/// A call that dispatches a port, which it keeps: a callback may end it.
class dispatching {
public:
    explicit dispatching(std::shared_ptr<port_state> port) : port_(std::move(port)) { port_->enter(); }
    dispatching(const dispatching&) = delete;
    dispatching& operator=(const dispatching&) = delete;
    ~dispatching() { port_->leave(); }

    [[nodiscard]] bool busy() const { return port_->busy(); }
    std::size_t dispatch() const {
        std::size_t count = 0;
        while (count < most && port_->dispatch_one()) count++;
        return count;
    }
    /// Waits until something is complete, at most `wait_ms`.
    void await(std::int64_t wait_ms) const {
        if (port_->get() == nullptr) return; // a callback has ended it
        pollfd readable{port_->fd(), POLLIN, 0};
        const int left = wait_ms < 0 ? -1 : static_cast<int>(std::min<std::int64_t>(wait_ms, INT_MAX));
        // A signal is a reason to come back, as for an event loop.
        if (poll(&readable, 1, left) < 0 && errno != EINTR)
            throw std::system_error(errno, std::generic_category(), "poll");
    }

private:
    /// Callbacks that always find something complete must not keep an event loop from its other work.
    static constexpr std::size_t most = 1024;

    std::shared_ptr<port_state> port_;
};

inline bool port_state::dispatch_one() {
    if (port_.get() == nullptr) return false; // a callback has ended it
    dlock_completion_t done;
    std::size_t count = 0;
    check([&](auto* cause) { return dlock_port_drain(port_.get(), &done, sizeof done, 1, &count, cause); });
    if (count == 0) return false;
    if (done.kind == DLOCK_COMPLETION_LOG) {
        const auto to = log();
        if (to != nullptr && *to) (*to)(done.log_level, {done.text, done.text_len}, done.error.name);
    } else if (const auto each = take(done.user_data)) {
        each->complete(shared_from_this(), done);
    }
    return true;
}

} // namespace detail
} // namespace dlock

#endif
