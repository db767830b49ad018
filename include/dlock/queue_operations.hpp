/*
 * dlock/queue_operations.hpp: what a port does with queues. Part of dlock.hpp; see dlock/port.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::delivery job = co_await port.take(mails);
 *     co_await port.ack(std::move(job));
 */
#ifndef DLOCK_QUEUE_OPERATIONS_HPP
#define DLOCK_QUEUE_OPERATIONS_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../dlock.h"
#include "delivery.hpp"
#include "detail.hpp"
#include "queue.hpp"

namespace dlock {
namespace detail {

/// The operations on queues of `Port`, which derives from this. The queue has to be there when an operation begins.
template <class Port> class queue_operations {
public:
    /// Puts a job; its id and whether it is new. Cancelled, it may have been put or not.
    [[nodiscard]] auto put(const queue& into, std::string payload, job_options options = {}) const {
        return begin<put_result>([handle = into.get(), payload = std::move(payload),
                                  options = std::move(options)](auto* to, auto* data, auto** op, auto* cause) {
            const dlock_job_t each = job(payload, options);
            return dlock_submit_queue_put(to, handle, &each, data, op, cause);
        });
    }
    /// Takes the first job that is due, and waits for one. Cancelled, it takes no job.
    [[nodiscard]] auto take(const queue& from) const { return take_as<delivery>(from, -1); }
    /// Takes the first job that is due within `wait`; nothing when there was none.
    [[nodiscard]] auto try_take(const queue& from,
                                std::chrono::milliseconds wait = std::chrono::milliseconds::zero()) const {
        return take_as<std::optional<delivery>>(from, wait_ms(wait));
    }
    /// The job is done. Cancelled, it goes on. If it cannot be begun, or never is, the job goes back.
    [[nodiscard]] auto ack(delivery&& done) const {
        return begin<void>([done = std::move(done)](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_delivery_ack(to, done.get(), data, op, cause);
        });
    }
    /// The job is not done: puts it back, as delivery::nack(). Cancelled, it goes on.
    [[nodiscard]] auto nack(delivery&& failed, std::optional<std::chrono::milliseconds> delay = std::nullopt,
                            std::string reason = {}) const {
        return begin<void>([failed = std::move(failed), delay = delay_ms(delay),
                            reason = std::move(reason)](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_delivery_nack(to, failed.get(), delay, reason.data(), reason.size(), data, op, cause);
        });
    }
    /// Puts a job back that was not begun: the delivery does not count. Cancelled, it goes on.
    [[nodiscard]] auto give_back(delivery&& unbegun) const {
        return begin<void>([unbegun = std::move(unbegun)](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_delivery_give_back(to, unbegun.get(), data, op, cause);
        });
    }

    /// How many jobs there are.
    [[nodiscard]] auto counts(const queue& of) const {
        return begin<queue_counts>([handle = of.get()](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_queue_counts(to, handle, data, op, cause);
        });
    }
    /// The first `most` jobs that wait.
    [[nodiscard]] auto peek(const queue& of, std::size_t most = 100) const {
        return begin<std::vector<listed_job>>([handle = of.get(), most](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_queue_peek(to, handle, most, data, op, cause);
        });
    }
    /// Removes a job that waits; false when no job with this id does. Cancelled, it may be done or not, as may those
    /// below.
    [[nodiscard]] auto cancel(const queue& of, std::string id) const {
        return by_id(of, std::move(id), dlock_submit_queue_cancel);
    }
    /// Removes all jobs that wait; how many.
    [[nodiscard]] auto purge(const queue& of) const { return all(of, dlock_submit_queue_purge); }

    /// The first `most` dead jobs.
    [[nodiscard]] auto list_dead(const queue& of, std::size_t most = 100) const {
        return begin<std::vector<listed_job>>([handle = of.get(), most](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_queue_dead(to, handle, most, data, op, cause);
        });
    }
    /// Has a dead job wait again; false when none has this id.
    [[nodiscard]] auto requeue_dead(const queue& of, std::string id) const {
        return by_id(of, std::move(id), dlock_submit_queue_requeue_dead);
    }
    /// Has all dead jobs wait again; how many.
    [[nodiscard]] auto requeue_all_dead(const queue& of) const { return all(of, dlock_submit_queue_requeue_all_dead); }
    /// Removes a dead job; false when none has this id.
    [[nodiscard]] auto remove_dead(const queue& of, std::string id) const {
        return by_id(of, std::move(id), dlock_submit_queue_remove_dead);
    }
    /// Removes all dead jobs; how many.
    [[nodiscard]] auto purge_dead(const queue& of) const { return all(of, dlock_submit_queue_purge_dead); }

private:
    template <class T, class Submit> [[nodiscard]] auto begin(Submit submit) const {
        return static_cast<const Port&>(*this).template begin<T>(std::move(submit));
    }
    template <class T> [[nodiscard]] auto take_as(const queue& from, std::int64_t wait_ms) const {
        return begin<T>([handle = from.get(), wait_ms](auto* to, auto* data, auto** op, auto* cause) {
            return dlock_submit_queue_take(to, handle, wait_ms, data, op, cause);
        });
    }
    template <class Call> [[nodiscard]] auto by_id(const queue& of, std::string id, Call call) const {
        return begin<bool>([handle = of.get(), id = std::move(id), call](auto* to, auto* data, auto** op, auto* cause) {
            return call(to, handle, id.data(), id.size(), data, op, cause);
        });
    }
    template <class Call> [[nodiscard]] auto all(const queue& of, Call call) const {
        return begin<std::int64_t>([handle = of.get(), call](auto* to, auto* data, auto** op, auto* cause) {
            return call(to, handle, data, op, cause);
        });
    }
};

} // namespace detail
} // namespace dlock

#endif
