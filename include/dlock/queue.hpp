/*
 * dlock/queue.hpp: delayed queues, whose jobs are delivered at least once. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::queue mails{client, "mails"};
 *     mails.put("to: ada");
 *     dlock::delivery job = mails.take();             // waits for one; without an ack it goes back with the object
 *     send(job.payload());
 *     job.ack();
 */
#ifndef DLOCK_QUEUE_HPP
#define DLOCK_QUEUE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../dlock.h"
#include "client.hpp"
#include "delivery.hpp"
#include "detail.hpp"
#include "error.hpp"

namespace dlock {

/// How to open a queue. These are options of the object and not of the queue on the server.
struct queue_options {
    /// A lease of a delivery that nothing renews: the job of a worker that takes longer comes again. Zero: one that is
    /// renewed until the delivery ends.
    std::chrono::milliseconds lease{0};
    /// The lease that is renewed; zero: the client's.
    std::chrono::milliseconds watchdog_lease{0};
    /// How often a job that is put through this object is delivered; then it is dead.
    std::int64_t max_attempts = DLOCK_QUEUE_ATTEMPTS_DEFAULT;
    /// The largest payload in bytes, up to 2 MiB.
    std::int64_t max_payload = DLOCK_QUEUE_PAYLOAD_DEFAULT;
    /// How many jobs the queue may hold when one is put, dead ones among them; 0: any number.
    std::int64_t max_length = 0;
};

/// How to put a job.
struct job_options {
    /// After how long it is due.
    std::chrono::milliseconds delay{0};
    /// When it is due, by the server's clock; excludes a delay.
    std::optional<std::chrono::system_clock::time_point> at = std::nullopt;
    /// Nothing: a new one. A job with an id is put once.
    std::optional<std::string> id = std::nullopt;
    /// Jobs that are due come by priority, -32768 to 32767, the higher first.
    std::int64_t priority = 0;
};

/// A job for put_many().
struct new_job {
    std::string_view payload;
    job_options options = {};
};

/// What a put has done.
struct put_result {
    /// The id of the job.
    std::string id;
    /// False when a job with this id was there: nothing was put.
    bool is_new = false;
};

/// How many jobs a queue has.
struct queue_counts {
    /// Jobs that are due.
    std::uint64_t ready = 0;
    /// Jobs that are not due yet.
    std::uint64_t delayed = 0;
    /// Jobs that were delivered and not ended.
    std::uint64_t in_flight = 0;
    /// Jobs that were delivered as often as they may be.
    std::uint64_t dead = 0;
    /// Processes that wait for jobs.
    std::uint64_t waiters = 0;
};

/// A job as a list shows it.
struct listed_job {
    std::string id{};
    std::string payload{};
    /// How often it was delivered.
    std::uint64_t attempts = 0;
    /// When it is due, or was.
    std::chrono::system_clock::time_point due{};
    /// Since when it is dead, and why; nothing for a job that waits.
    std::optional<std::chrono::system_clock::time_point> dead_since{};
    std::optional<std::string> reason{};
};

namespace detail {

/// What is before 1970 is due at once, as everything in the past.
[[nodiscard]] inline dlock_job_t job(std::string_view payload, const job_options& options) {
    dlock_job_t job = DLOCK_JOB_INIT;
    job.payload = payload.data();
    job.payload_len = payload.size();
    if (options.id) {
        job.id = options.id->data();
        job.id_len = options.id->size();
    }
    job.delay_ms = options.delay.count();
    if (options.at) {
        const auto since = std::chrono::floor<std::chrono::milliseconds>(options.at->time_since_epoch());
        job.at_ms = since.count() < 0 ? 0 : std::int64_t{since.count()};
    }
    job.priority = options.priority;
    return job;
}

[[nodiscard]] inline queue_counts counts(const dlock_queue_counts_t& seen) {
    return {seen.ready, seen.delayed, seen.in_flight, seen.dead, seen.waiters};
}

using jobs_handle = owned<dlock_jobs_t, dlock_jobs_free>;

[[nodiscard]] inline std::vector<listed_job> listed(const jobs_handle& jobs) {
    std::size_t count = 0;
    check([&](auto* cause) { return dlock_jobs_len(jobs.get(), &count, cause); });
    std::vector<listed_job> all(count);
    dlock_listed_job_t seen = DLOCK_LISTED_JOB_INIT;
    for (std::size_t at = 0; at < count; at++) {
        check([&](auto* cause) { return dlock_jobs_get(jobs.get(), at, &seen, cause); });
        auto& each = all[at];
        each.id.assign(seen.id, seen.id_len);
        each.payload.assign(static_cast<const char*>(seen.payload), seen.payload_len);
        each.attempts = seen.attempts;
        each.due = unix_time(seen.due_ms);
        if (!seen.dead) continue;
        each.dead_since = unix_time(seen.dead_since_ms);
        each.reason.emplace(seen.reason, seen.reason_len);
    }
    return all;
}

} // namespace detail

class queue;

/// The dead list of a queue: jobs that were delivered as often as they may be. Not longer than its queue.
class dead_jobs {
public:
    /// The first `most` of them, 1 to 1000, in the order in which they died.
    [[nodiscard]] std::vector<listed_job> list(std::size_t most = 100) const {
        detail::jobs_handle jobs;
        detail::check([&](auto* cause) { return dlock_queue_dead(queue_, most, jobs.out(), cause); });
        return detail::listed(jobs);
    }
    /// Has one wait again, due now, as if it had never been delivered; false when none has this id.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    bool requeue(std::string_view id) const { return by_id(id, dlock_queue_requeue_dead); }
    /// Has all of them wait again; how many.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    std::int64_t requeue_all() const { return all(dlock_queue_requeue_all_dead); }
    /// Removes one; false when none has this id.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    bool remove(std::string_view id) const { return by_id(id, dlock_queue_remove_dead); }
    /// Removes all of them; how many.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    std::int64_t purge() const { return all(dlock_queue_purge_dead); }

private:
    friend class queue;
    explicit dead_jobs(const dlock_queue_t* queue) noexcept : queue_(queue) {}

    template <class Call> [[nodiscard]] bool by_id(std::string_view id, Call call) const {
        bool done = false;
        detail::check([&](auto* cause) { return call(queue_, id.data(), id.size(), &done, cause); });
        return done;
    }
    template <class Call> [[nodiscard]] std::int64_t all(Call call) const {
        std::int64_t count = 0;
        detail::check([&](auto* cause) { return call(queue_, &count, cause); });
        return count;
    }

    const dlock_queue_t* queue_;
};

/// A delayed queue by name. A job is bytes: it waits until it is due and is delivered at least once, since that of a
/// worker that dies comes again. Jobs that are due come by priority, the higher first.
class queue {
public:
    queue(const client& client, std::string_view name, const queue_options& options = {}) {
        const dlock_queue_options_t how = {
            sizeof(dlock_queue_options_t), options.lease.count(), options.watchdog_lease.count(),
            options.max_attempts,          options.max_payload,   options.max_length};
        detail::check([&](auto* cause) {
            return dlock_queue_open(client.get(), name.data(), name.size(), &how, queue_.out(), cause);
        });
    }

    /// The same queue, whose takes and consumers go on to `other` when no job of this queue is due: so an urgent job is
    /// taken before all usual ones. A take asks one queue after the other, and waits for all when none has a job that
    /// is due. Puts, counts and lists are of this queue alone. Throws dlock::invalid_argument
    /// for queues of two clients.
    [[nodiscard]] queue followed_by(const queue& other) const {
        queue both;
        detail::check([&](auto* cause) {
            return dlock_queue_followed_by(queue_.get(), other.queue_.get(), both.queue_.out(), cause);
        });
        return both;
    }

    /// Puts a job. One with an id is put once: while one with that id waits, is being done or is dead, another put does
    /// nothing, and says so; so it may be repeated. Throws dlock::queue_full when the queue has max_length jobs, and
    /// dlock::outcome_unknown when a reply was lost: without an id the job may have been put or not.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    put_result put(std::string_view payload, const job_options& options = {}) {
        const dlock_job_t job = detail::job(payload, options);
        dlock_put_t put = DLOCK_PUT_INIT;
        detail::check([&](auto* cause) { return dlock_queue_put(queue_.get(), &job, &put, cause); });
        return {{put.id, put.id_len}, put.is_new};
    }
    /// Puts jobs, in their order. Up to 100, and 1 MiB, go in one request, which puts all of its jobs or none; after an
    /// exception what earlier requests put stays.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    std::vector<put_result> put_many(const std::vector<new_job>& jobs) {
        std::vector<dlock_job_t> given;
        given.reserve(jobs.size());
        for (const auto& job : jobs) given.push_back(detail::job(job.payload, job.options));
        return put_each(given);
    }
    /// The same of payloads, which are due at once.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    std::vector<put_result> put_many(const std::vector<std::string_view>& payloads) {
        std::vector<dlock_job_t> given;
        given.reserve(payloads.size());
        for (const auto payload : payloads) given.push_back(detail::job(payload, {}));
        return put_each(given);
    }
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    std::vector<put_result> put_many(std::initializer_list<std::string_view> payloads) {
        return put_many(std::vector<std::string_view>(payloads));
    }

    /// Takes the first job that is due, and waits for one. `cancel` ends the wait with dlock::cancelled, and then no
    /// job was taken.
    [[nodiscard]] delivery take(const cancel_token* cancel = nullptr) {
        delivery taken;
        const auto* token = cancel != nullptr ? cancel->get() : nullptr;
        detail::check([&](auto* cause) { return dlock_queue_take(queue_.get(), -1, token, taken.held_.out(), cause); });
        return taken;
    }
    /// As take() without waiting; nothing when no job is due, or others wait in front.
    [[nodiscard]] std::optional<delivery> try_take() { return take_ms(0, nullptr); }
    /// As take(), waiting at most `wait`; nothing when no job was due.
    template <class Rep, class Period>
    [[nodiscard]] std::optional<delivery> try_take_for(std::chrono::duration<Rep, Period> wait,
                                                       const cancel_token* cancel = nullptr) {
        return take_ms(detail::wait_ms(wait), cancel);
    }
    /// Takes up to `most` jobs, 1 to 100: those that are due, or the first that is within `wait`; nothing for a wait:
    /// as long as it takes.
    [[nodiscard]] std::vector<delivery> take_many(std::size_t most,
                                                  std::optional<std::chrono::milliseconds> wait = std::nullopt,
                                                  const cancel_token* cancel = nullptr) {
        dlock_held_t* taken[DLOCK_QUEUE_TAKE_MAX];
        std::size_t count = 0;
        std::vector<delivery> all;
        // What was taken must not be lost to a want of memory.
        all.reserve(most < DLOCK_QUEUE_TAKE_MAX ? most : DLOCK_QUEUE_TAKE_MAX);
        const std::int64_t wait_ms = wait ? detail::wait_ms(*wait) : -1;
        const auto* token = cancel != nullptr ? cancel->get() : nullptr;
        const bool came = detail::done_or_busy([&](auto* cause) {
            return dlock_queue_take_many(queue_.get(), most, wait_ms, token, &taken[0], &count, cause);
        });
        for (std::size_t at = 0; came && at < count; at++) all.push_back(delivery::adopt(taken[at]));
        return all;
    }

    /// The jobs of these deliveries are done: removes them from the queue, by one request for each 100. Of each whether
    /// it is done; false when it was ended before or was lost: then the job comes again, or has come to another worker,
    /// of which nothing was touched. Throws dlock::invalid_argument when one is of another queue or client, and then
    /// all are held as before.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    std::vector<bool> ack_many(const std::vector<delivery>& deliveries) {
        std::vector<const dlock_held_t*> helds;
        helds.reserve(deliveries.size());
        for (const auto& each : deliveries) helds.push_back(each.get());
        const auto acked = std::make_unique<bool[]>(helds.size());
        detail::check([&](auto* cause) {
            return dlock_queue_ack_many(queue_.get(), helds.data(), helds.size(), acked.get(), cause);
        });
        return std::vector<bool>(acked.get(), acked.get() + helds.size());
    }

    /// Removes a job that waits; false when no job with this id does. Throws dlock::not_held when it is being done.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    bool cancel(std::string_view id) {
        bool done = false;
        detail::check(
            [&](auto* cause) { return dlock_queue_cancel(queue_.get(), id.data(), id.size(), &done, cause); });
        return done;
    }
    /// The first `most` jobs that wait, 1 to 1000, due or not, in their order; fewer where they are 1 MiB together.
    [[nodiscard]] std::vector<listed_job> peek(std::size_t most = 100) const {
        detail::jobs_handle jobs;
        detail::check([&](auto* cause) { return dlock_queue_peek(queue_.get(), most, jobs.out(), cause); });
        return detail::listed(jobs);
    }
    /// How many jobs there are. Costs the same however many that is.
    [[nodiscard]] queue_counts counts() const {
        dlock_queue_counts_t seen = DLOCK_QUEUE_COUNTS_INIT;
        detail::check([&](auto* cause) { return dlock_queue_counts(queue_.get(), &seen, cause); });
        return detail::counts(seen);
    }
    /// Removes all jobs that wait, due or not; how many. Deliveries go on, and the dead list stays.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    std::int64_t purge() {
        std::int64_t count = 0;
        detail::check([&](auto* cause) { return dlock_queue_purge(queue_.get(), &count, cause); });
        return count;
    }
    /// The dead list.
    [[nodiscard]] dead_jobs dead() const noexcept { return dead_jobs{queue_.get()}; }

    [[nodiscard]] std::string name() const {
        return detail::text<DLOCK_NAME_SIZE>([&](auto... into) { return dlock_queue_name(queue_.get(), into...); });
    }
    [[nodiscard]] const dlock_queue_t* get() const noexcept { return queue_.get(); }

private:
    queue() noexcept = default;

    [[nodiscard]] std::optional<delivery> take_ms(std::int64_t wait_ms, const cancel_token* cancel) {
        delivery taken;
        const auto* token = cancel != nullptr ? cancel->get() : nullptr;
        const bool came = detail::done_or_busy(
            [&](auto* cause) { return dlock_queue_take(queue_.get(), wait_ms, token, taken.held_.out(), cause); });
        if (!came) return std::nullopt;
        return taken;
    }
    [[nodiscard]] std::vector<put_result> put_each(const std::vector<dlock_job_t>& jobs) {
        std::vector<dlock_put_t> puts(jobs.size(), dlock_put_t(DLOCK_PUT_INIT));
        detail::check([&](auto* cause) {
            return dlock_queue_put_many(queue_.get(), jobs.data(), jobs.size(), puts.data(), cause);
        });
        std::vector<put_result> all;
        all.reserve(puts.size());
        for (const auto& put : puts) all.push_back({{put.id, put.id_len}, put.is_new});
        return all;
    }

    detail::owned<dlock_queue_t, dlock_queue_free> queue_{};
};

} // namespace dlock

#endif
