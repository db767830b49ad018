/*
 * The verbs of rate limiters.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_RATE_LIMITER_VERBS_HPP
#define SCENARIOS_RATE_LIMITER_VERBS_HPP

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <dlock/rate_limiter.hpp>

#include "step.hpp"

inline values decided(const dlock::decision& decision) {
    std::optional<std::int64_t> retry;
    if (decision.retry_after) retry = decision.retry_after->count();
    return values()
        .add("allowed", decision.allowed)
        .add("granted", decision.granted)
        .add("remaining", decision.remaining)
        .add("retry_after_us", retry)
        .add("reset_after_us", decision.reset_after.count())
        .add("limit", decision.limit);
}

inline dlock::absent policy(const step& step) {
    const auto given = step.options.find("absent");
    if (given == step.options.end() || given->second == "fail") return dlock::absent::fail();
    if (given->second == "deny") return dlock::absent::deny();
    if (given->second == "allow") return dlock::absent::allow();
    return dlock::absent::local_share(step.number("share_of"));
}

class rate_limiter_verbs final : public verbs {
public:
    using verbs::verbs;

    void add_to(verb_map& all) override {
        all["limiter"] = [this](const step& step) { return limiter(step); };
        all["spend"] = [this](const step& step) { return spend(step); };
        all["spend_many"] = [this](const step& step) { return spend_many(step); };
        all["peek"] = [this](const step& step) { return peek(step); };
        all["counted_decisions"] = [this](const step& step) { return counted(step); };
        all["reset"] = [this](const step& step) { return reset(step); };
    }
    void forget() override { limiters_.clear(); }

private:
    values limiter(const step& step) {
        dlock::rate rate{step.number("tokens"), std::chrono::microseconds(step.number("per_us"))};
        if (step.options.count("burst") != 0) rate.burst = step.number("burst");
        limiters_[step.objects.at(2)] =
            std::make_unique<dlock::rate_limiter>(client(step), step.objects.at(1), rate, policy(step));
        return {};
    }
    values spend(const step& step) {
        const auto wait = step.ms("wait_ms").value_or(milliseconds(0));
        if (has_key(step)) return decided(key_of(step).try_acquire_for(step.number("cost"), wait));
        return decided(limiter_of(step).try_acquire_for(step.number("cost"), wait));
    }
    values spend_many(const step& step) {
        std::vector<dlock::keyed_cost> items;
        const std::string_view all = step.option("items");
        for (std::size_t at = 0; at <= all.size();) {
            const auto end = std::min(all.find(',', at), all.size());
            const auto item = all.substr(at, end - at);
            const auto star = item.find('*');
            items.push_back({item.substr(0, star), std::stoll(std::string(item.substr(star + 1)))});
            at = end + 1;
        }
        std::string granted;
        for (const auto& answer : limiter_of(step).try_acquire_many(items)) {
            if (!granted.empty()) granted += ',';
            granted += answer.failed() ? answer.failed()->kind() : std::to_string(answer.decided()->granted);
        }
        return values().add("granted", granted);
    }
    values peek(const step& step) { return decided(has_key(step) ? key_of(step).peek() : limiter_of(step).peek()); }
    values counted(const step& step) {
        const auto limiter = client(step).stats().limiter;
        return values()
            .add("granted", limiter.granted)
            .add("refused", limiter.refused)
            .add("tokens", limiter.tokens)
            .add("by_policy", limiter.by_policy)
            .add("waiting", limiter.waiting)
            .add("waits", limiter.wait_time.count);
    }
    values reset(const step& step) {
        if (has_key(step))
            key_of(step).reset();
        else
            limiter_of(step).reset();
        return {};
    }

    static bool has_key(const step& step) { return step.options.count("key") != 0; }
    dlock::keyed_limiter key_of(const step& step) { return limiter_of(step).keyed(step.option("key")); }

    dlock::rate_limiter& limiter_of(const step& step) { return *limiters_.at(step.objects.at(0)); }

    std::map<std::string, std::unique_ptr<dlock::rate_limiter>> limiters_;
};

#endif
