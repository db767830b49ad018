/*
 * The verbs of worker numbers.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_WORKER_VERBS_HPP
#define SCENARIOS_WORKER_VERBS_HPP

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "ids_verbs.hpp"
#include "step.hpp"

class worker_verbs final : public verbs {
public:
    worker_verbs(client_map& clients, ids_verbs& ids) : verbs(clients), ids_(ids) {}

    void add_to(verb_map& all) override {
        all["lease"] = [this](const step& step) { return lease(step); };
        all["leased"] = [this](const step& step) { return values().add("valid", named(step).valid()); };
        all["generator_of"] = [this](const step& step) { return generator_of(step); };
        all["give_back"] = [this](const step& step) {
            named(step).release();
            return values();
        };
        all["counted_numbers"] = [this](const step& step) {
            const auto counted = client(step).stats().worker;
            return values()
                .add("acquired", counted.acquired)
                .add("refused", counted.refused)
                .add("lost", counted.lost)
                .add("released", counted.released)
                .add("held", counted.held)
                .add("waits", counted.wait_time.count)
                .add("holds", counted.hold_time.count);
        };
    }
    void forget() override { workers_.clear(); }

private:
    values lease(const step& step) {
        dlock::worker_options how;
        if (step.options.count("bits") != 0) how.bits = step.number("bits");
        how.lease = step.ms("lease_ms").value_or(milliseconds(0));
        dlock::worker leased{client(step), step.objects.at(1), how};
        const auto answer = values().add("number", leased.number()).add("valid", leased.valid());
        workers_.insert_or_assign(step.objects.at(2), std::move(leased));
        return answer;
    }
    values generator_of(const step& step) {
        std::optional<dlock::layout> layout;
        if (step.options.count("layout") != 0) layout.emplace(step.option("layout"));
        ids_.keep(step.objects.at(1), named(step).snowflake(layout));
        return {};
    }

    dlock::worker& named(const step& step) { return workers_.at(step.objects.at(0)); }

    ids_verbs& ids_;
    std::map<std::string, dlock::worker> workers_;
};

#endif
