/*
 * The verbs of id generators.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_ID_GENERATOR_VERBS_HPP
#define SCENARIOS_ID_GENERATOR_VERBS_HPP

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "step.hpp"

class id_generator_verbs final : public verbs {
public:
    using verbs::verbs;

    void add_to(verb_map& all) override {
        all["id_generator"] = [this](const step& step) {
            generators_[step.objects.at(2)] = std::make_shared<dlock::id_generator>(
                client(step), step.objects.at(1), number(step, "block", DLOCK_ID_BLOCK_DEFAULT),
                number(step, "start", 1));
            return values();
        };
        all["next_id"] = [this](const step& step) { return values().add("id", named(step)->next_id()); };
        all["next_ids"] = [this](const step& step) {
            const auto made = named(step)->next_ids(static_cast<std::size_t>(step.number("count")));
            if (!std::is_sorted(made.begin(), made.end())) return values().add("first", "unsorted");
            return values().add("first", made.front()).add("last", made.back()).add("count", made.size());
        };
        all["block_size"] = [this](const step& step) { return values().add("size", named(step)->block_size()); };
    }
    void forget() override { generators_.clear(); }

private:
    static std::int64_t number(const step& step, const std::string& name, std::int64_t otherwise) {
        return step.options.count(name) == 0 ? otherwise : step.number(name);
    }

    std::shared_ptr<dlock::id_generator> named(const step& step) { return generators_.at(step.objects.at(0)); }

    std::map<std::string, std::shared_ptr<dlock::id_generator>> generators_;
};

#endif
