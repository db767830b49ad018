/*
 * The verbs of Bloom filters.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_BLOOM_FILTER_VERBS_HPP
#define SCENARIOS_BLOOM_FILTER_VERBS_HPP

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "step.hpp"

class bloom_filter_verbs final : public verbs {
public:
    using verbs::verbs;

    void add_to(verb_map& all) override {
        all["bloom_filter"] = [this](const step& step) {
            const auto name = step.objects.at(1);
            const auto expected = step.number("expected");
            const double rate = std::stod(step.options.at("rate"));
            filters_[step.objects.at(2)] =
                step.options.count("ttl_ms") == 0
                    ? std::make_shared<dlock::bloom_filter>(client(step), name, expected, rate)
                    : std::make_shared<dlock::bloom_filter>(client(step), name, expected, rate,
                                                            std::chrono::milliseconds{step.number("ttl_ms")});
            return values();
        };
        all["bloom_sizes"] = [this](const step& step) {
            return values().add("size", named(step)->size()).add("hashes", named(step)->hashes());
        };
        all["bloom_add"] = [this](const step& step) {
            const auto items = split(step.options.at("items"));
            return values().add("new", digits(named(step)->add(views(items))));
        };
        all["bloom_contains"] = [this](const step& step) {
            const auto items = split(step.options.at("items"));
            return values().add("found", digits(named(step)->contains(views(items))));
        };
        all["bloom_count"] = [this](const step& step) {
            const std::string rate = named(step)->false_positive_rate() < 0.001 ? "low" : "high";
            return values().add("count", named(step)->count()).add("rate", rate);
        };
        all["bloom_clear"] = [this](const step& step) { return values().add("cleared", named(step)->clear()); };
        all["bloom_gone"] = [this](const step& step) {
            bool gone = false;
            for (int tries = 0; tries < 10'000 && !gone; tries++)
                gone = !named(step)->contains(step.options.at("item"));
            return values().add("gone", gone);
        };
    }
    void forget() override { filters_.clear(); }

private:
    static std::vector<std::string> split(const std::string& items) {
        std::vector<std::string> all{""};
        for (const char letter : items) {
            if (letter == ',') {
                all.emplace_back();
            } else {
                all.back() += letter;
            }
        }
        return all;
    }

    static std::vector<std::string_view> views(const std::vector<std::string>& items) {
        return std::vector<std::string_view>(items.begin(), items.end());
    }

    static std::string digits(const std::vector<bool>& answers) {
        std::string all;
        for (const bool answer : answers) all += answer ? '1' : '0';
        return all;
    }

    std::shared_ptr<dlock::bloom_filter> named(const step& step) { return filters_.at(step.objects.at(0)); }

    std::map<std::string, std::shared_ptr<dlock::bloom_filter>> filters_;
};

#endif
