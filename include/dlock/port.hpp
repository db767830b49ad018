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

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <poll.h>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>

#if defined(__cpp_impl_coroutine) && __has_include(<coroutine>)
#include <coroutine>
#endif

#include "../dlock.hpp"
#include "hold.hpp"
#include "rate_limiter.hpp"

namespace dlock {

/// What came of an operation: get() gives it, once, or throws what kept it from being done.
template <class T> class result {
public:
    explicit result(const dlock_completion_t& done);

    [[nodiscard]] explicit operator bool() const noexcept { return value_.has_value(); }
    /// DLOCK_OK, or why it failed.
    [[nodiscard]] dlock_status_t status() const noexcept { return value_ ? DLOCK_OK : cause_.code; }
    T get() {
        if (!value_) detail::raise(cause_);
        if constexpr (!std::is_void_v<T>) return std::move(*value_);
    }

private:
    std::optional<std::conditional_t<std::is_void_v<T>, bool, T>> value_;
    dlock_error_t cause_ = DLOCK_ERROR_INIT;
};

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

    owned<dlock_port_t, dlock_port_free> port_;
    mutable std::mutex mutex_;
    std::unordered_map<void*, std::shared_ptr<pending>> pending_;
    std::shared_ptr<const log_function> log_;
    /// The thread that dispatches, and how many of its calls do, one within the other.
    std::thread::id dispatcher_;
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

/// An operation and what is to be done with its result. What `Submit` has captured lives until then; `Then` ends on the
/// thread that dispatches, whether or not the one that submits is back.
template <class T, class Submit, class Then> class started final : public pending {
public:
    started(Submit submit, Then then) : submit_(std::move(submit)), then_(std::move(then)) {}

    static dlock_op_t* start(const std::shared_ptr<port_state>& port, Submit submit, Then then) {
        const auto each = std::make_shared<started>(std::move(submit), std::move(then));
        return port->start(each, each->submit_);
    }
    void complete(const std::shared_ptr<port_state>&, const dlock_completion_t& done) override {
        Then then = *std::move(then_);
        then_.reset();
        then(result<T>{done});
    }

private:
    Submit submit_;
    std::optional<Then> then_;
};

/// Submits the release of the hold that it owns. A release that is not begun leaves the hold, whose end releases it.
class releasing {
public:
    explicit releasing(hold&& ended) noexcept : ended_(std::move(ended)) {}
    dlock_status_t operator()(const dlock_port_t* port, void* data, dlock_op_t** op, dlock_error_t* cause) {
        const dlock_status_t begun = dlock_submit_release(port, ended_.get(), data, op, cause);
        if (begun == DLOCK_OK) handle_ = ended_.disown();
        return begun;
    }

private:
    hold ended_;
    owned<dlock_held_t, dlock_held_free> handle_;
};

/// Lets go of what nobody waits for any more: a hold is released, without blocking the thread that dispatches.
inline void give_back(const std::shared_ptr<port_state>& port, hold unwanted) {
    const auto ignore = [](const result<void>&) {};
    started<void, releasing, decltype(ignore)>::start(port, releasing{std::move(unwanted)}, ignore);
}
inline void give_back(const std::shared_ptr<port_state>& port, std::optional<hold> unwanted) {
    if (unwanted) give_back(port, *std::move(unwanted));
}
template <class T> void give_back(const std::shared_ptr<port_state>&, const T&) noexcept {}

#ifdef __cpp_lib_coroutine
/// Waits for an operation on behalf of a coroutine. Destroyed before its end, with the coroutine, it cancels.
template <class T, class Submit> class awaiter {
public:
    awaiter(std::shared_ptr<port_state> port, Submit submit) : port_(std::move(port)), submit_(std::move(submit)) {}
    awaiter(const awaiter&) = delete;
    awaiter& operator=(const awaiter&) = delete;
    ~awaiter() {
        if (waiting_ == nullptr || waiting_->got) return;
        waiting_->coroutine = nullptr;
        waiting_->abandoned = true;
        waiting_->cancel();
    }

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> coroutine) {
        const auto each = std::make_shared<waiting>(std::move(submit_));
        each->coroutine = coroutine;
        waiting_ = each;
        // Another thread may dispatch the completion, and end this object, before the call is back.
        const auto port = port_;
        each->op = port->start(each, each->submit);
        // One of the two threads sees what the other has stored, and cancels.
        if (each->abandoned) each->cancel();
    }
    T await_resume() { return waiting_->got->get(); }

private:
    class waiting final : public pending {
    public:
        explicit waiting(Submit given) : submit(std::move(given)) {}
        void complete(const std::shared_ptr<port_state>& port, const dlock_completion_t& done) override {
            got.emplace(done);
            if (coroutine)
                coroutine.resume();
            else if constexpr (!std::is_void_v<T>)
                if (*got) give_back(port, got->get());
        }

        void cancel() const {
            if (const dlock_op_t* known = op) dlock_op_cancel(known, nullptr, nullptr);
        }

        Submit submit;
        std::atomic<dlock_op_t*> op{nullptr};
        std::atomic<bool> abandoned{false};
        std::coroutine_handle<> coroutine;
        std::optional<result<T>> got;
    };

    std::shared_ptr<port_state> port_;
    Submit submit_;
    std::shared_ptr<waiting> waiting_;
};
#endif

} // namespace detail

/// An operation that was submitted with a callback.
class submitted {
public:
    explicit submitted(const dlock_op_t* op) noexcept : op_(op) {}
    /// Ends it: its callback gets dlock::cancelled, what it would still have got is given back. False when it was done
    /// before.
    bool cancel() const {
        bool in_time = false;
        detail::check([&](auto* cause) { return dlock_op_cancel(op_, &in_time, cause); });
        return in_time;
    }

private:
    const dlock_op_t* op_;
};

/// An operation of a port, not yet begun: then() or co_await begins it. What cannot be begun throws there.
template <class T, class Submit> class [[nodiscard]] operation {
public:
    operation(std::shared_ptr<detail::port_state> port, Submit submit)
        : port_(std::move(port)), submit_(std::move(submit)) {}

    /// `then` is called with the dlock::result<T>, by the dispatch that has it.
    template <class Then> submitted then(Then then) && {
        return submitted{detail::started<T, Submit, Then>::start(begin(), std::move(submit_), std::move(then))};
    }
#ifdef __cpp_lib_coroutine
    /// Gives the T or throws. A coroutine that is destroyed while it waits cancels the operation, and what was granted
    /// to it is given back; destroy it on the thread that dispatches, or while none does.
    [[nodiscard]] detail::awaiter<T, Submit> operator co_await() && { return {begin(), std::move(submit_)}; }
#endif

private:
    /// An operation begins once.
    [[nodiscard]] std::shared_ptr<detail::port_state> begin() {
        if (!port_) detail::refuse("begin", "this operation has begun before, or was moved from");
        return std::move(port_);
    }

    std::shared_ptr<detail::port_state> port_;
    Submit submit_;
};

/// Where operations complete. Its end ends those under way without a word to their callbacks and coroutines, and gives
/// back what they got.
class port {
    template <class T, class Submit> [[nodiscard]] operation<T, Submit> begin(Submit submit) const {
        return {state(), std::move(submit)};
    }
    template <class T> [[nodiscard]] auto acquire_as(const mutex& lock, const acquire_options& options) const {
        return begin<T>(
            [handle = lock.get(), how = detail::how(options)](auto* to, auto* data, auto** op, auto* cause) {
                return dlock_submit_acquire(to, handle, &how, data, op, cause);
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
    /// Takes tokens of a limiter, waiting for them at most `wait`; nothing: as long as it takes.
    [[nodiscard]] auto acquire(const rate_limiter& limiter, std::int64_t cost = 1,
                               std::optional<std::chrono::milliseconds> wait = std::nullopt) const {
        const std::int64_t wait_ms = wait ? detail::wait_ms(*wait) : -1;
        return begin<decision>([handle = limiter.get(), cost, wait_ms](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_rate_limit(to, handle, cost, wait_ms, data, op, cause);
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
    /// Makes a hold last `lease` from now, or as long as it did if that is longer; asks the server in any case.
    template <class Rep, class Period>
    [[nodiscard]] auto extend(const hold& extended, std::chrono::duration<Rep, Period> lease) const {
        const std::int64_t lease_ms = detail::to_ms(lease);
        return begin<void>([handle = extended.get(), lease_ms](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_extend(to, handle, lease_ms, data, op, cause);
        });
    }
    /// Waits until a hold is over: why it was lost, or nothing when it was released.
    [[nodiscard]] auto wait_lost(const hold& watched) const {
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

template <class T> result<T>::result(const dlock_completion_t& done) {
    if (done.kind == DLOCK_COMPLETION_ERROR) {
        // For a try, busy is an answer.
        if constexpr (std::is_same_v<T, std::optional<hold>>)
            if (done.status == DLOCK_BUSY) value_.emplace();
        cause_ = done.error;
        return;
    }
    if constexpr (std::is_void_v<T>)
        value_ = true;
    else if constexpr (std::is_same_v<T, client>)
        value_.emplace(client::adopt(done.client));
    else if constexpr (std::is_same_v<T, decision>)
        value_.emplace(done.decision);
    else if constexpr (std::is_same_v<T, std::optional<loss>>)
        value_.emplace(done.loss == DLOCK_LOSS_NONE ? std::nullopt : std::optional{static_cast<loss>(done.loss)});
    else
        value_.emplace(hold::adopt(done.held));
}

} // namespace dlock

#endif
