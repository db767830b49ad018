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
        .add("limit", decision.limit)
        .add("refused_by", decision.refused_by)
        .add("usable_after_us", decision.usable_after.count());
}

inline dlock::absent policy(const step& step) {
    const auto given = step.options.find("absent");
    if (given == step.options.end() || given->second == "fail") return dlock::absent::fail();
    if (given->second == "deny") return dlock::absent::deny();
    if (given->second == "allow") return dlock::absent::allow();
    return dlock::absent::local_share(step.number("share_of"));
}

inline dlock_algorithm_t algorithm(const std::string& word) {
    static const std::map<std::string, dlock_algorithm_t> words{
        {"gcra", DLOCK_ALGORITHM_GCRA},
        {"fixed_window", DLOCK_ALGORITHM_FIXED_WINDOW},
        {"aligned_window", DLOCK_ALGORITHM_ALIGNED_WINDOW},
        {"sliding_log", DLOCK_ALGORITHM_SLIDING_LOG},
        {"sliding_counter", DLOCK_ALGORITHM_SLIDING_COUNTER},
        {"redisson", DLOCK_ALGORITHM_REDISSON},
        {"redisson_per_client", DLOCK_ALGORITHM_REDISSON_PER_CLIENT},
    };
    return words.at(word);
}

/// TOKENS/PER_US/ALGORITHM
inline dlock::rate another(const std::string& words) {
    const auto first = words.find('/');
    const auto second = words.find('/', first + 1);
    dlock::rate rate{std::stoll(words), std::chrono::microseconds(std::stoll(words.substr(first + 1)))};
    rate.algorithm = algorithm(words.substr(second + 1));
    return rate;
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
        all["reserve"] = [this](const step& step) { return reserve(step); };
        all["penalty"] = [this](const step& step) { return penalty(step); };
        all["reward"] = [this](const step& step) { return reward(step); };
        all["block"] = [this](const step& step) { return block(step); };
        all["reset"] = [this](const step& step) { return reset(step); };
    }
    void forget() override { limiters_.clear(); }

private:
    values limiter(const step& step) {
        dlock::rate rate{step.number("tokens"), std::chrono::microseconds(step.number("per_us"))};
        if (step.options.count("burst") != 0) rate.burst = step.number("burst");
        if (step.options.count("algorithm") != 0) rate.algorithm = algorithm(step.option("algorithm"));
        std::vector<dlock::rate> rates{rate};
        const std::string_view more = step.options.count("more") != 0 ? step.option("more") : std::string_view();
        for (std::size_t at = 0; at < more.size();) {
            const auto end = std::min(more.find(',', at), more.size());
            rates.push_back(another(std::string(more.substr(at, end - at))));
            at = end + 1;
        }
        limiters_[step.objects.at(2)] =
            std::make_unique<dlock::rate_limiter>(client(step), step.objects.at(1), rates, policy(step));
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
    values reserve(const step& step) {
        return on(step, [&](auto& limiter) {
            const auto wait = step.ms("wait_ms");
            return decided(wait ? limiter.try_reserve_for(step.number("cost"), *wait)
                                : limiter.reserve(step.number("cost")));
        });
    }
    values penalty(const step& step) {
        return on(step, [&](auto& limiter) { return limiter.penalty(step.number("tokens")), values(); });
    }
    values reward(const step& step) {
        return on(step, [&](auto& limiter) { return limiter.reward(step.number("tokens")), values(); });
    }
    values block(const step& step) {
        return on(step, [&](auto& limiter) { return limiter.block(milliseconds(step.number("length_ms"))), values(); });
    }
    values reset(const step& step) {
        if (has_key(step))
            key_of(step).reset();
        else
            limiter_of(step).reset();
        return {};
    }

    /// Calls `call` with the key that the step names, or with its limiter.
    template <class Call> values on(const step& step, Call&& call) {
        if (!has_key(step)) return call(limiter_of(step));
        auto key = key_of(step);
        return call(key);
    }
    static bool has_key(const step& step) { return step.options.count("key") != 0; }
    dlock::keyed_limiter key_of(const step& step) { return limiter_of(step).keyed(step.option("key")); }

    dlock::rate_limiter& limiter_of(const step& step) { return *limiters_.at(step.objects.at(0)); }

    std::map<std::string, std::unique_ptr<dlock::rate_limiter>> limiters_;
};

#endif
