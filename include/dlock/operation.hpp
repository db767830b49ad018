/*
 * dlock/operation.hpp: operations of a port under way, their results, and under C++20 their awaiters. Part of
 * dlock.hpp; see dlock/port.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DLOCK_OPERATION_HPP
#define DLOCK_OPERATION_HPP

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#if defined(__cpp_impl_coroutine) && __has_include(<coroutine>)
#include <coroutine>
#endif

#include "../dlock.h"
#include "client.hpp"
#include "counting_semaphore.hpp"
#include "delivery.hpp"
#include "detail.hpp"
#include "error.hpp"
#include "held.hpp"
#include "hold.hpp"
#include "port_state.hpp"
#include "queue.hpp"
#include "rate_limiter.hpp"
#include "worker.hpp"

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
    std::optional<std::conditional_t<std::is_void_v<T>, bool, T>> value_{};
    dlock_error_t cause_ = DLOCK_ERROR_INIT;
};

namespace detail {

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
    owned<dlock_held_t, dlock_held_free> handle_{};
};

/// Lets go of what nobody waits for any more: a hold is released, without blocking the thread that dispatches.
inline void give_back(const std::shared_ptr<port_state>& port, hold unwanted) {
    const auto ignore = [](const result<void>&) {};
    started<void, releasing, decltype(ignore)>::start(port, releasing{std::move(unwanted)}, ignore);
}
inline void give_back(const std::shared_ptr<port_state>& port, std::optional<hold> unwanted) {
    if (unwanted) give_back(port, *std::move(unwanted));
}
inline void give_back(const std::shared_ptr<port_state>& port, worker unwanted) {
    give_back(port, std::move(unwanted).into_hold());
}
/// A delivery that reached nobody does not count.
inline void give_back(const std::shared_ptr<port_state>& port, delivery unwanted) {
    auto giving = [unwanted = std::move(unwanted)](auto* to, auto* data, auto** op, auto* cause) {
        return dlock_submit_delivery_give_back(to, unwanted.get(), data, op, cause);
    };
    const auto ignore = [](const result<void>&) {};
    started<void, decltype(giving), decltype(ignore)>::start(port, std::move(giving), ignore);
}
inline void give_back(const std::shared_ptr<port_state>& port, std::optional<delivery> unwanted) {
    if (unwanted) give_back(port, *std::move(unwanted));
}
template <class T> void give_back(const std::shared_ptr<port_state>&, const T&) noexcept {}

/// Submits the acquire of permits of a counting semaphore, which it keeps: nobody holds them, so only it can bring them
/// back when nobody waits for them any more.
class acquiring_count {
public:
    acquiring_count(std::shared_ptr<counting_handle> of, std::int64_t permits, std::int64_t wait_ms)
        : of_(std::move(of)), permits_(permits), wait_ms_(wait_ms) {}
    dlock_status_t operator()(const dlock_port_t* port, void* data, dlock_op_t** op, dlock_error_t* cause) const {
        const auto* semaphore = of_ ? of_->get() : nullptr;
        return dlock_submit_counting_semaphore_acquire(port, semaphore, permits_, wait_ms_, data, op, cause);
    }
    /// Without blocking the thread that dispatches.
    void give_back(const std::shared_ptr<port_state>& port) const {
        const auto releasing = [of = of_, permits = permits_](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_counting_semaphore_release(to, of->get(), permits, data, op, cause);
        };
        const auto ignore = [](const result<void>&) {};
        started<void, decltype(releasing), decltype(ignore)>::start(port, releasing, ignore);
    }

private:
    std::shared_ptr<counting_handle> of_;
    std::int64_t permits_;
    std::int64_t wait_ms_;
};

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
            if (coroutine) {
                coroutine.resume();
            } else if constexpr (std::is_same_v<Submit, acquiring_count>) {
                if (done.kind == DLOCK_COMPLETION_DONE) submit.give_back(port);
            } else if constexpr (!std::is_void_v<T>) {
                if (*got) detail::give_back(port, got->get());
            }
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

template <class T> result<T>::result(const dlock_completion_t& done) {
    if (done.kind == DLOCK_COMPLETION_ERROR) {
        // For a try, busy is an answer.
        if constexpr (std::is_same_v<T, std::optional<hold>> || std::is_same_v<T, std::optional<delivery>>)
            if (done.status == DLOCK_BUSY) value_.emplace();
        if constexpr (std::is_same_v<T, bool>)
            if (done.status == DLOCK_BUSY) value_ = false;
        cause_ = done.error;
        return;
    }
    if constexpr (std::is_void_v<T>)
        value_ = true;
    else if constexpr (std::is_same_v<T, bool>)
        value_ = done.kind == DLOCK_COMPLETION_DONE || done.flag;
    else if constexpr (std::is_same_v<T, std::int64_t>)
        value_ = done.number;
    else if constexpr (std::is_same_v<T, client>)
        value_.emplace(client::adopt(done.client));
    else if constexpr (std::is_same_v<T, decision>)
        value_.emplace(done.decision);
    else if constexpr (std::is_same_v<T, std::optional<loss>>)
        value_.emplace(done.loss == DLOCK_LOSS_NONE ? std::nullopt : std::optional{static_cast<loss>(done.loss)});
    else if constexpr (std::is_same_v<T, worker>)
        value_.emplace(worker::adopt(done.held));
    else if constexpr (std::is_same_v<T, delivery> || std::is_same_v<T, std::optional<delivery>>)
        value_.emplace(delivery::adopt(done.held));
    else if constexpr (std::is_same_v<T, put_result>)
        value_.emplace(put_result{{done.text, done.text_len}, done.flag});
    else if constexpr (std::is_same_v<T, queue_counts>)
        value_.emplace(detail::counts(done.queue_counts));
    else if constexpr (std::is_same_v<T, std::vector<listed_job>>) {
        detail::jobs_handle jobs;
        *jobs.out() = done.jobs;
        value_.emplace(detail::listed(jobs));
    } else
        value_.emplace(hold::adopt(done.held));
}

} // namespace dlock

#endif
