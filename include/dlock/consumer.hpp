/*
 * dlock/consumer.hpp: threads that take the jobs of a queue and do them. Part of dlock.hpp; see dlock/queue.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::consumer_options options;
 *     options.concurrency = 8;
 *     dlock::consumer workers{mails, [](dlock::delivery& job) { send(job.payload()); }, options};
 *     sigwait(&until, &which);                        // SIGTERM, blocked before any thread was started
 *     bool all = workers.stop();                      // finishes what is in hand
 */
#ifndef DLOCK_CONSUMER_HPP
#define DLOCK_CONSUMER_HPP

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <typeinfo>
#include <utility>
#include <vector>
#if defined(__has_include) && defined(__cpp_rtti)
#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#define DLOCK_NAMES_EXCEPTIONS 1
#endif
#endif

#include "client.hpp"
#include "delivery.hpp"
#include "error.hpp"
#include "port_state.hpp"
#include "queue.hpp"

namespace dlock {

/// The part of an exception that is kept as the reason which the dead list shows.
enum class failure_reason {
    /// Its type.
    type,
    /// For a std::exception what() says, too, which may have what not everybody should read.
    text,
};

/// How a consumer works.
struct consumer_options {
    /// How many threads do jobs, 1 to 10,000.
    std::size_t concurrency = 1;
    /// After how long a job is due again whose handler threw: at first, each time twice as long, at most.
    std::chrono::milliseconds backoff = std::chrono::seconds(1);
    std::chrono::milliseconds longest_backoff = std::chrono::minutes(5);
    /// How long stop() and the destructor wait for jobs in hand before they are put back.
    std::chrono::milliseconds grace = std::chrono::seconds(10);
    failure_reason reason = failure_reason::type;
    /// Is told what a handler threw, and that a delivery could not be ended, each with the delivery; without one, that
    /// the server could not be asked for jobs, which is tried again. Called on the consumer's threads, several at once;
    /// what it throws is ignored.
    std::function<void(std::exception_ptr, const delivery*)> on_error = nullptr;
};

namespace detail {

/// The type of what was thrown, never its text: others read the reason of a dead job.
[[nodiscard]] inline std::string thrown_type() {
#ifdef DLOCK_NAMES_EXCEPTIONS
    if (const std::type_info* type = abi::__cxa_current_exception_type()) {
        int status = 0;
        const std::unique_ptr<char, void (*)(void*)> name{abi::__cxa_demangle(type->name(), nullptr, nullptr, &status),
                                                          std::free};
        if (status == 0 && name) return name.get();
    }
#endif
    return "its handler threw";
}

/// The same, and what it says.
[[nodiscard]] inline std::string thrown_text() {
    const auto type = thrown_type();
    try {
        throw;
    } catch (const std::exception& cause) {
        const std::string text = cause.what();
        return text.empty() ? type : type + ": " + text;
    } catch (...) {
        return type;
    }
}

} // namespace detail

/// Takes the jobs of a queue on threads of its own and calls a handler with each, from its construction on.
///
/// A handler that returns has done its job, which is acknowledged. One that throws has it put back with a back-off, and
/// consumer_options::reason of it is kept should the job be dead. A handler may end the delivery itself. A take that
/// fails for a reason that passes is tried again, with pauses of up to 5 s; another reason, such as
/// dlock::no_permission, ends the consumer, and wait() throws it. The queue and what the handler uses must outlive it.
class consumer {
public:
    using handler = std::function<void(delivery&)>;

    consumer(queue& of, handler work, consumer_options options = {})
        : queue_(of), handler_(std::move(work)), options_(std::move(options)) {
        if (options_.concurrency < 1 || options_.concurrency > 10'000)
            refuse("a concurrency of " + std::to_string(options_.concurrency) + " is out of range", "1 to 10,000");
        if (!handler_) refuse("the handler is empty", "a function that takes a delivery");
        // It refuses a back-off that is out of range now, and not when the first job has failed.
        static_cast<void>(dlock::backoff(1, options_.backoff, options_.longest_backoff));
        threads_.reserve(options_.concurrency);
        try {
            for (std::size_t at = 0; at < options_.concurrency; at++) threads_.emplace_back([this] { run(); });
        } catch (...) {
            end();
            throw;
        }
    }
    consumer(const consumer&) = delete;
    consumer& operator=(const consumer&) = delete;
    /// Stops, and waits until every handler has returned: those that take longer than the grace have lost their jobs to
    /// other workers, and see valid() false.
    ~consumer() { end(); }

    /// Takes no more jobs, and returns at once. For handlers, which stop() would wait for; not for handlers of signals:
    /// wait for those with sigwait().
    void request_stop() noexcept {
        {
            const std::lock_guard lock{mutex_};
            stopping_ = true;
        }
        try {
            cancel_.fire();
        } catch (const error&) {
            // After a fork there is no thread to stop.
        }
        changed_.notify_all();
    }
    /// Takes no more jobs and waits for those in hand, at most for the grace. What is not done by then is put back for
    /// another worker. Returns whether all was done in time. Waits up to 1 s for the server to have put them back,
    /// which goes on after that.
    bool stop() { return stop(options_.grace); }
    bool stop(std::chrono::milliseconds grace) {
        request_stop();
        {
            std::unique_lock lock{mutex_};
            // Longer than that would overflow the clock.
            const auto wait = std::min<std::chrono::milliseconds>(grace, std::chrono::hours(24 * 365));
            if (changed_.wait_for(lock, wait, [this] { return ended_ == threads_.size(); })) return true;
        }
        put_back();
        return false;
    }
    /// Waits until it has ended: after a stop, or by an error that does not pass, which it throws.
    void wait() {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [this] { return ended_ == threads_.size(); });
        if (failure_) std::rethrow_exception(failure_);
    }

private:
    [[noreturn]] void refuse(const std::string& given, const char* allowed) const {
        dlock_error_t cause = DLOCK_ERROR_INIT;
        cause.code = DLOCK_INVALID_ARGUMENT;
        std::snprintf(cause.op, sizeof cause.op, "consume");
        std::snprintf(cause.name, sizeof cause.name, "%s", queue_.name().c_str());
        std::snprintf(cause.message, sizeof cause.message, "%s; allowed: %s", given.c_str(), allowed);
        std::snprintf(cause.allowed, sizeof cause.allowed, "%s", allowed);
        throw invalid_argument(cause);
    }

    /// The end of a delivery that is put back because its consumer stops.
    class putting_back : public detail::pending {
    public:
        putting_back(consumer& of, delivery& job) noexcept : of_(of), job_(&job) {}
        putting_back(const putting_back&) = delete;
        putting_back& operator=(const putting_back&) = delete;
        void complete(const std::shared_ptr<detail::port_state>&, const dlock_completion_t& done) override {
            if (done.status == DLOCK_OK) return;
            // A handler may have returned meanwhile, and its delivery be gone.
            const std::lock_guard lock{of_.mutex_};
            if (of_.in_hand_.count(job_) == 0) return;
            try {
                detail::raise(done.error);
            } catch (const error&) {
                of_.tell(job_);
            }
        }

    private:
        consumer& of_;
        delivery* job_;
    };

    /// Puts back what is in hand. When the server is away, that may take as long as an operation: it is waited for 1 s.
    void put_back() {
        constexpr std::string_view why = "its worker stopped";
        const auto port = std::make_shared<detail::port_state>();
        {
            const std::lock_guard lock{mutex_};
            for (delivery* job : in_hand_) {
                auto submit = [job, why](auto* to, auto* data, auto** op, auto* cause) {
                    return dlock_submit_delivery_nack(to, job->get(), -1, why.data(), why.size(), data, op, cause);
                };
                try {
                    if (job->valid()) port->start(std::make_shared<putting_back>(*this, *job), submit);
                } catch (const error&) {
                    tell(job);
                }
            }
        }
        const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
        const detail::dispatching call{port};
        while (call.busy()) {
            const auto left = until - std::chrono::steady_clock::now();
            if (left <= left.zero()) break;
            call.await(std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1);
            call.dispatch();
        }
        port->close();
    }

    void end() noexcept {
        try {
            stop();
        } catch (...) {
            // Leases run out instead.
        }
        for (auto& thread : threads_) thread.join();
    }

    void run() noexcept {
        for (std::int64_t failures = 0; !stopping();) {
            try {
                delivery job = queue_.take(&cancel_);
                failures = 0;
                work(job);
            } catch (const cancelled&) {
                break;
            } catch (const error& cause) {
                if (!cause.retryable()) {
                    fail();
                    break;
                }
                tell(nullptr);
                pause(++failures);
            } catch (...) {
                fail();
                break;
            }
        }
        const std::lock_guard lock{mutex_};
        ended_++;
        changed_.notify_all();
    }

    void work(delivery& job) {
        const in_hand held{*this, job};
        try {
            handler_(job);
        } catch (...) {
            tell(&job);
            const auto reason = options_.reason == failure_reason::text ? detail::thrown_text() : detail::thrown_type();
            confirm(job, [&] {
                job.nack(dlock::backoff(job.attempt(), options_.backoff, options_.longest_backoff), reason);
            });
            return;
        }
        confirm(job, [&] { job.ack(); });
    }
    /// Ends a delivery that its handler has not ended. One that was lost goes back with its object.
    template <class End> void confirm(delivery& job, End end) {
        try {
            if (job.valid()) end();
        } catch (const error&) {
            tell(&job);
        }
    }
    /// Hands on what is being thrown.
    void tell(const delivery* job) noexcept {
        try {
            if (options_.on_error) options_.on_error(std::current_exception(), job);
        } catch (...) {
            // Nobody is there to be told.
        }
    }
    void fail() noexcept {
        {
            const std::lock_guard lock{mutex_};
            if (!failure_) failure_ = std::current_exception();
        }
        request_stop();
    }
    void pause(std::int64_t failures) {
        const auto wait = dlock::backoff(failures, std::chrono::milliseconds(100), std::chrono::seconds(5));
        std::unique_lock lock{mutex_};
        changed_.wait_for(lock, wait, [this] { return stopping_; });
    }
    [[nodiscard]] bool stopping() {
        const std::lock_guard lock{mutex_};
        return stopping_;
    }

    /// A job while it is being done.
    class in_hand {
    public:
        in_hand(consumer& of, delivery& job) : of_(of), job_(&job) {
            const std::lock_guard lock{of_.mutex_};
            of_.in_hand_.insert(job_);
        }
        in_hand(const in_hand&) = delete;
        in_hand& operator=(const in_hand&) = delete;
        ~in_hand() {
            const std::lock_guard lock{of_.mutex_};
            of_.in_hand_.erase(job_);
        }

    private:
        consumer& of_;
        delivery* job_;
    };

    queue& queue_;
    handler handler_;
    consumer_options options_;
    cancel_token cancel_{};
    std::mutex mutex_{};
    std::condition_variable changed_{};
    bool stopping_ = false;
    std::size_t ended_ = 0;
    std::set<delivery*> in_hand_{};
    std::exception_ptr failure_{};
    std::vector<std::thread> threads_{};
};

} // namespace dlock

#undef DLOCK_NAMES_EXCEPTIONS

#endif
