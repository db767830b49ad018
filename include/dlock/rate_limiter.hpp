/*
 * dlock/rate_limiter.hpp: rate limiters, shared by all that use the name. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::rate_limiter api{client, "api", {100, 1s, 20}};   // 100 a second, at most 20 at once
 *     if (!api.try_acquire().allowed) return too_many_requests();
 */
#ifndef DLOCK_RATE_LIMITER_HPP
#define DLOCK_RATE_LIMITER_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../dlock.h"
#include "client.hpp"
#include "detail.hpp"
#include "error.hpp"

namespace dlock {

/// So many tokens each period.
struct rate {
    /// 0 refuses everything.
    std::int64_t tokens = 0;
    std::chrono::microseconds per{0};
    /// The most at once, the whole bucket; nothing: those of one period.
    std::optional<std::int64_t> burst = std::nullopt;
    /// How it counts; with a burst by DLOCK_ALGORITHM_GCRA alone.
    dlock_algorithm_t algorithm = DLOCK_ALGORITHM_GCRA;
};

/// What a limiter answers while the server cannot be reached.
struct absent {
    dlock_absent_t policy = DLOCK_ABSENT_FAIL;
    std::int64_t share_of = 0;

    /// Throws the error.
    [[nodiscard]] static absent fail() noexcept { return {}; }
    [[nodiscard]] static absent deny() noexcept { return {DLOCK_ABSENT_DENY, 0}; }
    [[nodiscard]] static absent allow() noexcept { return {DLOCK_ABSENT_ALLOW, 0}; }
    /// What the share of one in `clients` allows.
    [[nodiscard]] static absent local_share(std::int64_t clients) noexcept {
        return {DLOCK_ABSENT_LOCAL_SHARE, clients};
    }
};

/// A limiter's answer; true when it allowed.
struct decision {
    // <api:decision> written by `python3 api/write.py` from api/records.json
    /// Whether the tokens were granted; of a `peek`, whether one could be had.
    bool allowed = false;
    /// How many were: the cost, or 0.
    std::int64_t granted = 0;
    /// How many could be had at once now; zero while a block refuses all.
    std::int64_t remaining = 0;
    /// How long until the same cost can be granted, at the soonest: zero when it was granted, nothing for never.
    std::optional<std::chrono::microseconds> retry_after{};
    /// How long until the bucket is full again, and a block over.
    std::chrono::microseconds reset_after{0};
    /// The most that can be had at once: the burst, or this client's share of it when a policy granted that.
    std::int64_t limit = 0;
    /// Which of the limiter's rates is the last to have the tokens of a request that was refused, counted from 0;
    /// nothing when it was granted, and when a block or a policy refused it.
    std::optional<std::int64_t> refused_by{};
    /// How long until the tokens that were granted may be used: zero except after `reserve`.
    std::chrono::microseconds usable_after{0};
    /// When it was decided, or from when on the tokens that were waited for may be used, on the server's clock, in
    /// microseconds since 1970; nothing when a policy decided without the server.
    std::optional<std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>> server_time{};
    // </api:decision>

    explicit decision(const dlock_decision_t& told)
        : allowed(told.allowed), granted(told.granted), remaining(told.remaining), reset_after(told.reset_after_us),
          limit(told.limit), usable_after(told.usable_after_us) {
        if (told.retry_after_us >= 0) retry_after.emplace(told.retry_after_us);
        if (told.refused_by >= 0) refused_by = told.refused_by;
        if (told.server_time_us >= 0) server_time.emplace(std::chrono::microseconds(told.server_time_us));
    }
    [[nodiscard]] explicit operator bool() const noexcept { return allowed; }
};

namespace detail {

/// A refusal is an answer like a grant; anything else throws.
template <class Call> decision decide(Call&& call) {
    dlock_decision_t told = DLOCK_DECISION_INIT;
    dlock_error_t cause = DLOCK_ERROR_INIT;
    const dlock_status_t status = call(&told, &cause);
    if (status != DLOCK_OK && status != DLOCK_LIMITED) raise(cause);
    return decision{told};
}

/// As the library refuses what C has no way to say: no rate at all, and a burst of 0 of a further rate.
[[noreturn]] inline void refuse(std::string_view name, const std::string& what, std::string_view allowed) {
    dlock_error_t cause = DLOCK_ERROR_INIT;
    cause.code = DLOCK_INVALID_ARGUMENT;
    std::string_view("rate limiter").copy(cause.op, sizeof cause.op - 1);
    name.copy(cause.name, sizeof cause.name - 1);
    (what + "; allowed: ").append(allowed).copy(cause.message, sizeof cause.message - 1);
    allowed.copy(cause.allowed, sizeof cause.allowed - 1);
    raise(cause);
}

} // namespace detail

/// An item of a batch: a key, and how many tokens are asked for.
struct keyed_cost {
    std::string_view key;
    std::int64_t cost = 1;
};

/// The answer to an item of a batch: a decision, or the error that the item met. True when it was allowed.
class answer {
public:
    explicit answer(dlock::decision decided) : decided_(decided) {}
    explicit answer(const dlock_error_t& failed) : failed_(dlock::error(failed)) {}

    [[nodiscard]] bool allowed() const noexcept { return decided_.has_value() && decided_->allowed; }
    [[nodiscard]] explicit operator bool() const noexcept { return allowed(); }
    /// Nothing when the item met an error.
    [[nodiscard]] const std::optional<dlock::decision>& decided() const noexcept { return decided_; }
    /// Nothing when there is a decision.
    [[nodiscard]] const std::optional<dlock::error>& failed() const noexcept { return failed_; }

private:
    std::optional<dlock::decision> decided_{};
    std::optional<dlock::error> failed_{};
};

/// One key of a rate limiter, with the calls of the limiter; made by rate_limiter::keyed(). The limiter outlives it.
class keyed_limiter {
public:
    keyed_limiter(const dlock_rate_limiter_t* limiter, std::string_view key) : limiter_(limiter), key_(key) {}
    keyed_limiter(const keyed_limiter&) = default;
    keyed_limiter& operator=(const keyed_limiter&) = default;

    /// As rate_limiter::try_acquire().
    [[nodiscard]] decision try_acquire(std::int64_t cost = 1) {
        return detail::decide([&](auto* told, auto* cause) {
            return dlock_rate_limiter_try_acquire_keyed(limiter_, key_.data(), key_.size(), cost, told, cause);
        });
    }
    /// As rate_limiter::acquire().
    [[nodiscard]] decision acquire(std::int64_t cost = 1, const cancel_token* cancel = nullptr) {
        return acquire_ms(cost, -1, cancel);
    }
    /// As rate_limiter::try_acquire_for().
    template <class Rep, class Period>
    [[nodiscard]] decision try_acquire_for(std::int64_t cost, std::chrono::duration<Rep, Period> wait,
                                           const cancel_token* cancel = nullptr) {
        return acquire_ms(cost, detail::wait_ms(wait), cancel);
    }
    /// As rate_limiter::peek().
    [[nodiscard]] decision peek() const {
        return detail::decide([&](auto* told, auto* cause) {
            return dlock_rate_limiter_peek_keyed(limiter_, key_.data(), key_.size(), told, cause);
        });
    }
    /// As rate_limiter::reset().
    void reset() {
        detail::check(
            [&](auto* cause) { return dlock_rate_limiter_reset_keyed(limiter_, key_.data(), key_.size(), cause); });
    }
    /// As rate_limiter::reserve().
    [[nodiscard]] decision reserve(std::int64_t cost = 1) { return reserve_ms(cost, -1); }
    /// As rate_limiter::try_reserve_for().
    template <class Rep, class Period>
    [[nodiscard]] decision try_reserve_for(std::int64_t cost, std::chrono::duration<Rep, Period> wait) {
        return reserve_ms(cost, detail::wait_ms(wait));
    }
    /// As rate_limiter::penalty().
    void penalty(std::int64_t tokens) {
        detail::check([&](auto* cause) {
            return dlock_rate_limiter_penalty_keyed(limiter_, key_.data(), key_.size(), tokens, cause);
        });
    }
    /// As rate_limiter::reward().
    void reward(std::int64_t tokens) {
        detail::check([&](auto* cause) {
            return dlock_rate_limiter_reward_keyed(limiter_, key_.data(), key_.size(), tokens, cause);
        });
    }
    /// As rate_limiter::block().
    template <class Rep, class Period> void block(std::chrono::duration<Rep, Period> length) {
        const auto length_ms = detail::to_ms(length);
        detail::check([&](auto* cause) {
            return dlock_rate_limiter_block_keyed(limiter_, key_.data(), key_.size(), length_ms, cause);
        });
    }
    [[nodiscard]] const std::string& key() const noexcept { return key_; }

private:
    [[nodiscard]] decision reserve_ms(std::int64_t cost, std::int64_t wait_ms) {
        return detail::decide([&](auto* told, auto* cause) {
            return dlock_rate_limiter_reserve_keyed(limiter_, key_.data(), key_.size(), cost, wait_ms, told, cause);
        });
    }
    [[nodiscard]] decision acquire_ms(std::int64_t cost, std::int64_t wait_ms, const cancel_token* cancel) {
        const auto* token = cancel != nullptr ? cancel->get() : nullptr;
        return detail::decide([&](auto* told, auto* cause) {
            return dlock_rate_limiter_acquire_keyed(limiter_, key_.data(), key_.size(), cost, wait_ms, token, told,
                                                    cause);
        });
    }

    const dlock_rate_limiter_t* limiter_;
    std::string key_;
};

/// A rate limiter by name. Whoever shares a name should give the same rates.
class rate_limiter {
public:
    /// `prefetch` is the largest part of the burst that this client may fetch ahead, more than 0 and at most 1; 0
    /// fetches nothing ahead: see dlock_rate_limiter_options_t.
    rate_limiter(const client& client, std::string_view name, const rate& rate, const absent& absent = {},
                 double prefetch = 0)
        : rate_limiter(client, name, std::vector<dlock::rate>{rate}, absent, prefetch) {}
    /// Several rates, 1 to 8, all of which have to grant a request for any of them to be charged; of two, the one with
    /// the longer period has more tokens.
    rate_limiter(const client& client, std::string_view name, const std::vector<rate>& rates, const absent& absent = {},
                 double prefetch = 0)
        : rates_(rates) {
        if (rates_.empty()) detail::refuse(name, "0 rates were given", "1 to 8 rates");
        dlock_rate_limiter_options_t how = DLOCK_RATE_LIMITER_OPTIONS_INIT;
        const auto& first = rates_.front();
        how.has_burst = first.burst.has_value();
        how.burst = first.burst.value_or(0);
        how.algorithm = first.algorithm;
        std::vector<dlock_rate_t> more;
        for (auto rate = rates_.begin() + 1; rate != rates_.end(); ++rate) {
            if (rate->burst == 0) detail::refuse(name, "burst 0 is out of range", "1 to 1000000000000");
            more.push_back({rate->tokens, rate->per.count(), rate->burst.value_or(0), rate->algorithm});
        }
        how.more_rates = more.data();
        how.more_rates_count = more.size();
        how.absent = absent.policy;
        how.share_of = absent.share_of;
        how.prefetch = prefetch;
        detail::check([&](auto* cause) {
            return dlock_rate_limiter_open(client.get(), name.data(), name.size(), first.tokens, first.per.count(),
                                           &how, limiter_.out(), cause);
        });
    }
    /// What it lets through, as it was given.
    [[nodiscard]] const std::vector<rate>& rates() const noexcept { return rates_; }

    /// Takes `cost` tokens if they are there now.
    [[nodiscard]] decision try_acquire(std::int64_t cost = 1) {
        return detail::decide(
            [&](auto* told, auto* cause) { return dlock_rate_limiter_try_acquire(limiter_.get(), cost, told, cause); });
    }
    /// Takes `cost` tokens, waiting for them as long as it takes. Throws dlock::cancelled when `cancel` is fired; the
    /// tokens are given back then, as dlock_rate_limiter_acquire() says.
    [[nodiscard]] decision acquire(std::int64_t cost = 1, const cancel_token* cancel = nullptr) {
        return acquire_ms(cost, -1, cancel);
    }
    /// Takes `cost` tokens, waiting for them at most `wait`.
    template <class Rep, class Period>
    [[nodiscard]] decision try_acquire_for(std::int64_t cost, std::chrono::duration<Rep, Period> wait,
                                           const cancel_token* cancel = nullptr) {
        return acquire_ms(cost, detail::wait_ms(wait), cancel);
    }
    /// How things stand for one token; spends nothing.
    [[nodiscard]] decision peek() const {
        return detail::decide(
            [&](auto* told, auto* cause) { return dlock_rate_limiter_peek(limiter_.get(), told, cause); });
    }
    /// Forgets what was taken, and a block, for everybody.
    void reset() {
        detail::check([&](auto* cause) { return dlock_rate_limiter_reset(limiter_.get(), cause); });
    }
    /// Takes `cost` tokens now, for use when they are there: `usable_after` of the decision says how long that is. The
    /// caller keeps to that time; nothing waits here. What is not wanted after all goes back with reward().
    [[nodiscard]] decision reserve(std::int64_t cost = 1) { return reserve_ms(cost, -1); }
    /// As reserve(), refused when it would be longer than `wait`.
    template <class Rep, class Period>
    [[nodiscard]] decision try_reserve_for(std::int64_t cost, std::chrono::duration<Rep, Period> wait) {
        return reserve_ms(cost, detail::wait_ms(wait));
    }
    /// Takes `tokens`, 1 to the burst, whether or not they are there: who comes next waits the longer for it.
    void penalty(std::int64_t tokens) {
        detail::check([&](auto* cause) { return dlock_rate_limiter_penalty(limiter_.get(), tokens, cause); });
    }
    /// Gives `tokens`, 1 to the burst, back, as if they had not been taken: never more than were.
    void reward(std::int64_t tokens) {
        detail::check([&](auto* cause) { return dlock_rate_limiter_reward(limiter_.get(), tokens, cause); });
    }
    /// Grants nothing to anybody for so long from now on, up to 100 years; zero ends it. The last call counts. What
    /// other clients have fetched ahead can be used for another second.
    template <class Rep, class Period> void block(std::chrono::duration<Rep, Period> length) {
        const auto length_ms = detail::to_ms(length);
        detail::check([&](auto* cause) { return dlock_rate_limiter_block(limiter_.get(), length_ms, cause); });
    }
    /// One key of many, such as a user's id: a bucket of its own, that of the limiter `NAME:KEY`. Nothing is kept of a
    /// key that nobody waits for, so there may be millions of them. Its calls throw dlock::invalid_name for a key that
    /// is empty, or with which that is no name.
    [[nodiscard]] keyed_limiter keyed(std::string_view key) const { return {limiter_.get(), key}; }
    /// Takes tokens of several keys, with a cost for each, in one round trip for every 256 of them: an answer for each,
    /// in the same order. 1 to 10000 items. What is wrong with one is its own answer, and no matter of the others.
    [[nodiscard]] std::vector<answer> try_acquire_many(const std::vector<keyed_cost>& items) {
        std::vector<dlock_keyed_cost_t> asked;
        asked.reserve(items.size());
        for (const auto& item : items) asked.push_back({item.key.data(), item.key.size(), item.cost});
        const dlock_decision_t no_decision = DLOCK_DECISION_INIT;
        const dlock_error_t no_error = DLOCK_ERROR_INIT;
        std::vector<dlock_status_t> statuses(items.size() + 1);
        std::vector<dlock_decision_t> decisions(items.size() + 1, no_decision);
        std::vector<dlock_error_t> errors(items.size() + 1, no_error);
        detail::check([&](auto* cause) {
            return dlock_rate_limiter_try_acquire_many(limiter_.get(), asked.data(), asked.size(), statuses.data(),
                                                       decisions.data(), errors.data(), cause);
        });
        std::vector<answer> answers;
        answers.reserve(items.size());
        for (std::size_t at = 0; at < items.size(); ++at) {
            const bool decided = statuses[at] == DLOCK_OK || statuses[at] == DLOCK_LIMITED;
            if (decided)
                answers.emplace_back(decision(decisions[at]));
            else
                answers.emplace_back(errors[at]);
        }
        return answers;
    }
    [[nodiscard]] std::string name() const {
        return detail::text<DLOCK_NAME_SIZE>(
            [&](auto... into) { return dlock_rate_limiter_name(limiter_.get(), into...); });
    }
    [[nodiscard]] const dlock_rate_limiter_t* get() const noexcept { return limiter_.get(); }

private:
    [[nodiscard]] decision reserve_ms(std::int64_t cost, std::int64_t wait_ms) {
        return detail::decide([&](auto* told, auto* cause) {
            return dlock_rate_limiter_reserve(limiter_.get(), cost, wait_ms, told, cause);
        });
    }
    [[nodiscard]] decision acquire_ms(std::int64_t cost, std::int64_t wait_ms, const cancel_token* cancel) {
        const auto* token = cancel != nullptr ? cancel->get() : nullptr;
        return detail::decide([&](auto* told, auto* cause) {
            return dlock_rate_limiter_acquire(limiter_.get(), cost, wait_ms, token, told, cause);
        });
    }

    std::vector<rate> rates_;
    detail::owned<dlock_rate_limiter_t, dlock_rate_limiter_free> limiter_{};
};

} // namespace dlock

#endif
