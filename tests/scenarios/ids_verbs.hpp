/*
 * The verbs of ids. None of them waits.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_IDS_VERBS_HPP
#define SCENARIOS_IDS_VERBS_HPP

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <dlock/snowflake.hpp>

#include "step.hpp"

class ids_verbs final : public verbs {
public:
    using verbs::verbs;

    void add_to(verb_map& all) override {
        all["generator"] = [this](const step& step) { return generator(step); };
        all["ids"] = [this](const step& step) { return ids(step); };
        all["decode"] = [this](const step& step) { return decode(step); };
        all["encode"] = [this](const step& step) { return encode(step); };
        all["parse"] = [this](const step& step) { return parse(step); };
    }
    void forget() override { generators_.clear(); }

    void keep(const std::string& name, dlock::snowflake generator) {
        generators_[name] = std::make_unique<dlock::snowflake>(std::move(generator));
    }

private:
    values generator(const step& step) {
        dlock::snowflake_options how;
        if (step.options.count("layout") != 0) how.layout.emplace(step.option("layout"));
        if (const auto begins_in = step.ms("begins_in_ms")) {
            const auto begins = std::chrono::system_clock::now().time_since_epoch() + *begins_in;
            auto given = dlock::layout("default").get();
            given.epoch_ms = std::chrono::duration_cast<std::chrono::milliseconds>(begins).count();
            how.layout.emplace(given);
        }
        generators_[step.objects.at(0)] =
            std::make_unique<dlock::snowflake>(step.number("datacenter"), step.number("worker"), how);
        return {};
    }
    values ids(const step& step) {
        const auto ids = generator_of(step).next_ids(static_cast<std::size_t>(step.number("count")));
        const auto unordered = std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<std::int64_t>());
        return values().add("first", ids.front()).add("last", ids.back()).add("increasing", unordered == ids.end());
    }
    values decode(const step& step) {
        const auto parts = generator_of(step).decode(step.number("id"));
        return values().add("datacenter", parts.datacenter).add("worker", parts.worker).add("sequence", parts.sequence);
    }
    values encode(const step& step) {
        return values().add("text", dlock::encode_id(step.number("id"), static_cast<int>(step.number("base"))));
    }
    values parse(const step& step) {
        return values().add("id", dlock::parse_id(step.option("text"), static_cast<int>(step.number("base"))));
    }

    dlock::snowflake& generator_of(const step& step) { return *generators_.at(step.objects.at(0)); }

    std::map<std::string, std::unique_ptr<dlock::snowflake>> generators_;
};

#endif
