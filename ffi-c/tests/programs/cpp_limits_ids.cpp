// Rate limiters and ids under C++17.
#include <dlock/snowflake.hpp> // stands alone: ids need no client

static std::int64_t made_before_anything_else() { return dlock::snowflake{12, 1}.next_id(); }

#include "check.hpp"

namespace {

static_assert(move_only<dlock::snowflake> && move_only<dlock::rate_limiter>);

void ids_increase_and_come_apart() {
    const auto first = made_before_anything_else();
    dlock::snowflake ids{12, 1};
    auto last = ids.next_id();
    CHECK(last > first);
    for (const auto id : ids.next_ids(10'000)) {
        CHECK(id > last);
        last = id;
    }
    const auto parts = ids.decode(last);
    CHECK(parts.datacenter == 12 && parts.worker == 1);
    CHECK(std::chrono::system_clock::now() - parts.time < 1min);
    CHECK(dlock::parse_id(dlock::encode_id(last, 62), 62) == last);
    CHECK(dlock::encode_id(61, 62) == "z");
    dlock::snowflake moved = std::move(ids);
    CHECK(moved.next_id() > last);
}

void layouts_are_named_or_ones_own() {
    const dlock::layout js{"js53"};
    dlock::snowflake ids{0, 31, {js, 10ms, 0s}};
    const auto id = ids.next_id();
    CHECK(id < (std::int64_t{1} << 53) && js.decode(id).worker == 31);
    dlock_layout_t own = dlock::layout{"twitter"}.get();
    own.epoch_ms = 0;
    CHECK(dlock::layout{own}.decode(1 << 22).time.time_since_epoch() == 1ms);
    auto error = thrown<dlock::invalid_argument>([] { dlock::snowflake{32, 0}; });
    CHECK(std::string(error.what()).find("0 to 31") != std::string::npos);
    (void)thrown<dlock::invalid_argument>([] { dlock::layout{"nobody's"}; });
    (void)thrown<dlock::invalid_argument>([&] { (void)ids.next_ids(0); });
    (void)thrown<dlock::invalid_argument>([&] { (void)ids.next_ids(1'000'001); });
    (void)thrown<dlock::invalid_argument>([] { (void)dlock::parse_id("12a", 10); });
    own.time_bits = 1;
    const auto refused = [&] {
        return thrown<dlock::clock_error>([&] { dlock::snowflake(0, 0, {dlock::layout{own}, 0ms, std::nullopt}); });
    };
    const auto past = refused();
    CHECK(!past.retryable() && !past.retry_after());
    own.epoch_ms += std::int64_t{1} << 42; // in some 130 years
    const auto early = refused();
    CHECK(early.retryable() && early.retry_after() > 1h);
}

void a_limiter_decides() {
    dlock::client client{server_url()};
    dlock::rate_limiter api{client, "cpp/limits/api", {2, 1h, std::nullopt}};
    CHECK(api.peek() && api.name() == "cpp/limits/api");
    CHECK(api.try_acquire(2));
    const auto refused = api.try_acquire();
    CHECK(!refused && refused.granted == 0 && refused.remaining == 0 && refused.limit == 2);
    CHECK(refused.retry_after > 29min && refused.retry_after <= 30min && refused.reset_after <= 1h);
    CHECK(refused.server_time && std::chrono::system_clock::now() - *refused.server_time < 1min);
    CHECK(!api.try_acquire_for(1, 1min)); // cannot be long enough, and is not waited for
    api.reset();
    CHECK(api.acquire().remaining == 1);
    const auto never = api.try_acquire(3);
    CHECK(!never && !never.retry_after);
    (void)thrown<dlock::invalid_argument>([&] { dlock::rate_limiter(client, "x", {1, 1s, -1}); });
    CHECK(!dlock::rate_limiter(client, "cpp/limits/none", {0, 1s, std::nullopt}).try_acquire().retry_after);
    dlock::cancel_token cancel;
    CHECK(api.acquire());
    auto waiter = std::async(std::launch::async, [&] { (void)api.acquire(1, &cancel); });
    cancel.fire();
    (void)thrown<dlock::cancelled>([&] { waiter.get(); });
    dlock::rate_limiter quick{client, "cpp/limits/quick", {50, 1s, 1}, dlock::absent::deny()};
    CHECK(quick.try_acquire() && quick.try_acquire_for(1, 5s));
    client.close();
    (void)thrown<dlock::closed>([&] { (void)api.try_acquire(); });
}

void keys_have_buckets_of_their_own() {
    dlock::client client{server_url()};
    dlock::rate_limiter api{client, "cpp/limits/keys", {2, 1h, std::nullopt}};
    auto one = api.keyed("user:1");
    one.reset();
    api.keyed("user:2").reset();
    CHECK(one.try_acquire(2) && one.key() == "user:1");
    CHECK(!one.try_acquire_for(1, 1ms) && !one.peek());
    const auto answers = api.try_acquire_many({{"user:2", 1}, {"user:1", 1}, {"", 1}, {"user:2", 3}, {"user:2", 1}});
    CHECK(answers.size() == 5 && answers[0] && !answers[1] && !answers[2] && !answers[3] && answers[4].allowed());
    CHECK(answers[1].decided() && !answers[1].failed() && answers[1].decided()->retry_after > 29min);
    CHECK(!answers[2].decided() && answers[2].failed()->code() == DLOCK_INVALID_NAME);
    CHECK(answers[3].decided() && !answers[3].decided()->retry_after);
    (void)thrown<dlock::invalid_name>([&] { (void)api.keyed("{").try_acquire(); });
    (void)thrown<dlock::invalid_name>([&] { (void)api.keyed("\xff").acquire(); });
    (void)thrown<dlock::invalid_argument>([&] { (void)api.try_acquire_many({}); });
}

void several_rates_grant_what_each_of_them_does() {
    dlock::client client{server_url()};
    dlock::rate hourly{3, 1h};
    hourly.algorithm = DLOCK_ALGORITHM_SLIDING_LOG;
    dlock::rate_limiter api{client, "cpp/limits/several", {dlock::rate{2, 1min}, hourly}};
    api.reset();
    CHECK(api.rates().size() == 2 && api.rates()[1].algorithm == DLOCK_ALGORITHM_SLIDING_LOG);
    CHECK(api.try_acquire(2));
    CHECK(api.try_acquire().refused_by == 0);
    const auto later = api.reserve();
    CHECK(later && later.usable_after > 29s && later.usable_after <= 30s);
    CHECK(!api.try_reserve_for(1, 1s));
    CHECK(api.reserve().usable_after > 50min);
    (void)thrown<dlock::invalid_argument>([&] { dlock::rate_limiter(client, "x", std::vector<dlock::rate>{}); });
    const std::vector<dlock::rate> pointless{{2, 1s}, {3, 1s}};
    (void)thrown<dlock::invalid_argument>([&] { dlock::rate_limiter(client, "x", pointless); });
    // Each rate has the same rules, whichever it is.
    for (const std::int64_t burst : {0, -1}) {
        const std::vector<dlock::rate> first{{2, 1s, burst}, {30, 1min}}, second{{2, 1s}, {30, 1min, burst}};
        for (const auto* rates : {&first, &second}) {
            const auto refused = thrown<dlock::invalid_argument>([&] { dlock::rate_limiter(client, "x", *rates); });
            CHECK(refused.name() == "x" && refused.allowed().find("1 to 1000000000000") == 0);
        }
    }
}

template <class Limiter> void is_adjusted(Limiter& api) {
    api.reset();
    api.penalty(2);
    CHECK(!api.peek());
    api.reward(1);
    CHECK(api.peek().remaining == 1 && api.reserve().usable_after == 0s && !api.try_reserve_for(1, 1s));
    api.reset();
    api.block(1min);
    CHECK(!api.peek() && !api.peek().refused_by && api.peek().remaining == 0 && api.peek().reset_after > 50s);
    api.block(0s);
    CHECK(api.peek());
    (void)thrown<dlock::invalid_argument>([&] { api.penalty(3); });
    (void)thrown<dlock::invalid_argument>([&] { api.reward(0); });
    (void)thrown<dlock::invalid_argument>([&] { api.block(-1s); });
}

void a_limiter_and_its_keys_are_adjusted() {
    dlock::client client{server_url()};
    dlock::rate_limiter api{client, "cpp/limits/adjusted", {2, 1h, std::nullopt}};
    is_adjusted(api);
    auto one = api.keyed("user:1");
    is_adjusted(one);
}

} // namespace

int main() {
    RUN(ids_increase_and_come_apart);
    RUN(layouts_are_named_or_ones_own);
    RUN(a_limiter_decides);
    RUN(keys_have_buckets_of_their_own);
    RUN(several_rates_grant_what_each_of_them_does);
    RUN(a_limiter_and_its_keys_are_adjusted);
}
