/*
 * The verbs of queues.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_QUEUE_VERBS_HPP
#define SCENARIOS_QUEUE_VERBS_HPP

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "beside.hpp"
#include "hold_verbs.hpp"
#include "step.hpp"

class queue_verbs final : public verbs {
public:
    using verbs::verbs;

    void add_to(verb_map& all) override {
        all["queue"] = [this](const step& step) {
            queues_[step.objects.at(2)] =
                std::make_shared<dlock::queue>(client(step), step.objects.at(1), options(step));
            return values();
        };
        all["follow"] = [this](const step& step) {
            const auto& other = *queues_.at(step.objects.at(1));
            queues_[step.objects.at(2)] = std::make_shared<dlock::queue>(named(step)->followed_by(other));
            return values();
        };
        all["job_queue"] = [this](const step& step) { return values().add("queue", delivery(step).queue_name()); };
        all["put"] = [this](const step& step) {
            const auto put = named(step)->put(step.option("payload"), job(step));
            return values().add("id", put.id).add("is_new", put.is_new);
        };
        all["put_all"] = [this](const step& step) { return put_all(step); };
        all["next"] = [this](const step& step) {
            return came(step.objects.at(1), taken(*named(step), step.ms("wait_ms"), nullptr));
        };
        all["begin_next"] = [this](const step& step) {
            auto into = std::make_shared<std::optional<dlock::delivery>>();
            takes_.begin(step.objects.at(1), [queue = named(step), wait = step.ms("wait_ms"), into](const auto& token) {
                *into = taken(*queue, wait, &token);
                return into->has_value();
            });
            begun_[step.objects.at(1)] = std::move(into);
            return values();
        };
        all["end_next"] = [this](const step& step) {
            (void)takes_.end(step.objects.at(0));
            return came(step.objects.at(1), std::move(*begun_.at(step.objects.at(0))));
        };
        all["do_all"] = [this](const step& step) { return do_all(step); };
        all["ack"] = [this](const step& step) {
            delivery(step).ack();
            return values();
        };
        all["nack"] = [this](const step& step) {
            const bool why = step.options.count("reason") != 0;
            delivery(step).nack(step.ms("delay_ms"), why ? step.option("reason") : std::string());
            return values();
        };
        all["prolong"] = [this](const step& step) {
            delivery(step).extend(milliseconds(step.number("lease_ms")));
            return values();
        };
        all["job_lost"] = [this](const step& step) {
            return values().add("lost", word(delivery(step).wait_lost(milliseconds(step.number("wait_ms")))));
        };
        all["jobs"] = [this](const step& step) {
            const auto counts = named(step)->counts();
            return values()
                .add("ready", counts.ready)
                .add("delayed", counts.delayed)
                .add("in_flight", counts.in_flight)
                .add("dead", counts.dead)
                .add("waiters", counts.waiters);
        };
        all["list_jobs"] = [this](const step& step) { return listed(named(step)->peek(most(step))); };
        all["list_dead"] = [this](const step& step) { return listed(named(step)->dead().list(most(step))); };
        all["cancel_job"] = [this](const step& step) {
            return values().add("cancelled", named(step)->cancel(step.option("id")));
        };
        all["purge"] = [this](const step& step) { return values().add("purged", named(step)->purge()); };
        all["requeue"] = [this](const step& step) {
            return values().add("requeued", named(step)->dead().requeue(step.option("id")));
        };
        all["requeue_all"] = [this](const step& step) {
            return values().add("requeued", named(step)->dead().requeue_all());
        };
        all["remove_dead"] = [this](const step& step) {
            return values().add("removed", named(step)->dead().remove(step.option("id")));
        };
        all["purge_dead"] = [this](const step& step) { return values().add("purged", named(step)->dead().purge()); };
    }
    void forget() override {
        takes_.forget();
        begun_.clear();
        deliveries_.clear();
        queues_.clear();
    }

private:
    static std::optional<dlock::delivery> taken(dlock::queue& from, std::optional<milliseconds> wait,
                                                const dlock::cancel_token* token) {
        if (wait) return from.try_take_for(*wait, token);
        return from.take(token);
    }

    static dlock::queue_options options(const step& step) {
        dlock::queue_options options;
        if (step.ms("lease_ms")) options.lease = *step.ms("lease_ms");
        if (step.options.count("max_attempts") != 0) options.max_attempts = step.number("max_attempts");
        if (step.options.count("max_payload") != 0) options.max_payload = step.number("max_payload");
        if (step.options.count("max_length") != 0) options.max_length = step.number("max_length");
        return options;
    }

    static dlock::job_options job(const step& step) {
        dlock::job_options options;
        if (step.options.count("id") != 0) options.id = step.option("id");
        if (step.ms("delay_ms")) options.delay = *step.ms("delay_ms");
        if (step.ms("at_ms")) options.at = std::chrono::system_clock::time_point(*step.ms("at_ms"));
        if (step.options.count("priority") != 0) options.priority = step.number("priority");
        return options;
    }

    values put_all(const step& step) {
        std::vector<std::string> payloads;
        std::istringstream words(step.option("payloads"));
        for (std::string word; std::getline(words, word, ',');) payloads.push_back(word);
        int put = 0;
        const std::vector<std::string_view> views(payloads.begin(), payloads.end());
        for (const auto& each : named(step)->put_many(views)) put += each.is_new ? 1 : 0;
        return values().add("put", put);
    }

    values do_all(const step& step) {
        std::string payloads;
        for (auto& each : named(step)->take_many(most(step), step.ms("wait_ms"))) {
            payloads.append(payloads.empty() ? "" : ",").append(each.payload());
            each.ack();
        }
        return values().add("payloads", payloads);
    }

    values came(const std::string& name, std::optional<dlock::delivery> taken) {
        if (!taken) return values().add("came", false);
        const auto& kept = deliveries_.insert_or_assign(name, *std::move(taken)).first->second;
        return values()
            .add("came", true)
            .add("payload", std::string(kept.payload()))
            .add("id", kept.id())
            .add("attempt", kept.attempt())
            .add("priority", kept.priority())
            .add("token", kept.token());
    }

    static values listed(const std::vector<dlock::listed_job>& jobs) {
        std::string ids, attempts, reasons;
        const auto add = [](std::string& to, const std::string& word) {
            to.append(to.empty() ? "" : ",").append(word);
        };
        for (const auto& job : jobs) {
            add(ids, job.id);
            add(attempts, std::to_string(job.attempts));
            if (job.reason) add(reasons, *job.reason);
        }
        return values().add("ids", ids).add("attempts", attempts).add("reasons", reasons);
    }

    /// A hundred, if the step names no number.
    static std::size_t most(const step& step) {
        return step.options.count("most") == 0 ? 100 : static_cast<std::size_t>(step.number("most"));
    }

    std::shared_ptr<dlock::queue> named(const step& step) { return queues_.at(step.objects.at(0)); }
    dlock::delivery& delivery(const step& step) { return deliveries_.at(step.objects.at(0)); }

    std::map<std::string, std::shared_ptr<dlock::queue>> queues_;
    std::map<std::string, dlock::delivery> deliveries_;
    beside takes_;
    std::map<std::string, std::shared_ptr<std::optional<dlock::delivery>>> begun_;
};

#endif
