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
    /// How many could be had at once now.
    std::int64_t remaining = 0;
    /// How long until the same cost can be granted, at the soonest: zero when it was granted, nothing for never.
    std::optional<std::chrono::microseconds> retry_after;
    /// How long until the bucket is full again.
    std::chrono::microseconds reset_after{0};
    /// The most that can be had at once: the burst, or this client's share of it when a policy granted that.
    std::int64_t limit = 0;
    /// When it was decided, or from when on the tokens that were waited for may be used, on the server's clock, in
    /// microseconds since 1970; nothing when a policy decided without the server.
    std::optional<std::chrono::time_point<std::chrono::system_clock, std::chrono::microseconds>> server_time;
    // </api:decision>

    explicit decision(const dlock_decision_t& told)
        : allowed(told.allowed), granted(told.granted), remaining(told.remaining), reset_after(told.reset_after_us),
          limit(told.limit) {
        if (told.retry_after_us >= 0) retry_after.emplace(told.retry_after_us);
        if (told.server_time_us >= 0) server_time.emplace(std::chrono::microseconds(told.server_time_us));
    }
    [[nodiscard]] explicit operator bool() const noexcept { return allowed; }
};

/// A rate limiter by name. Whoever shares a name should give the same rate.
class rate_limiter {
public:
    rate_limiter(const client& client, std::string_view name, const rate& rate, const absent& absent = {}) {
        dlock_rate_limiter_options_t how = DLOCK_RATE_LIMITER_OPTIONS_INIT;
        how.has_burst = rate.burst.has_value();
        how.burst = rate.burst.value_or(0);
        how.absent = absent.policy;
        how.share_of = absent.share_of;
        detail::check([&](auto* cause) {
            return dlock_rate_limiter_open(client.get(), name.data(), name.size(), rate.tokens, rate.per.count(), &how,
                                           limiter_.out(), cause);
        });
    }

    /// Takes `cost` tokens if they are there now.
    [[nodiscard]] decision try_acquire(std::int64_t cost = 1) {
        return decide(
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
        return decide([&](auto* told, auto* cause) { return dlock_rate_limiter_peek(limiter_.get(), told, cause); });
    }
    /// Fills the bucket, for everybody.
    void reset() {
        detail::check([&](auto* cause) { return dlock_rate_limiter_reset(limiter_.get(), cause); });
    }
    [[nodiscard]] std::string name() const {
        return detail::text<DLOCK_NAME_SIZE>(
            [&](auto... into) { return dlock_rate_limiter_name(limiter_.get(), into...); });
    }
    [[nodiscard]] const dlock_rate_limiter_t* get() const noexcept { return limiter_.get(); }

private:
    [[nodiscard]] decision acquire_ms(std::int64_t cost, std::int64_t wait_ms, const cancel_token* cancel) {
        const auto* token = cancel != nullptr ? cancel->get() : nullptr;
        return decide([&](auto* told, auto* cause) {
            return dlock_rate_limiter_acquire(limiter_.get(), cost, wait_ms, token, told, cause);
        });
    }

    /// A refusal is an answer like a grant; anything else throws.
    template <class Call> static decision decide(Call&& call) {
        dlock_decision_t told = DLOCK_DECISION_INIT;
        dlock_error_t cause = DLOCK_ERROR_INIT;
        const dlock_status_t status = call(&told, &cause);
        if (status != DLOCK_OK && status != DLOCK_LIMITED) detail::raise(cause);
        return decision{told};
    }

    detail::owned<dlock_rate_limiter_t, dlock_rate_limiter_free> limiter_;
};

} // namespace dlock

#endif
