// dlock::bloom_filter: what was added is found, and its operations on a port.
#include "check.hpp"

#include <limits>

namespace {

dlock::bloom_filter make_filter(dlock::client& client, std::int64_t expected = 1'000, double rate = 0.01) {
    return {client, std::string("cpp/bloom_filter/") + check_case, expected, rate};
}

void what_was_added_is_found() {
    static_assert(move_only<dlock::bloom_filter>);
    dlock::client other{server_url()};
    dlock::bloom_filter seen = make_filter(shared_client());
    const dlock::bloom_filter theirs = make_filter(other);
    CHECK(seen.name() == std::string("cpp/bloom_filter/") + check_case);
    CHECK(seen.size() == 9'585 && seen.hashes() == 7);
    CHECK((seen.add({"ada", "grace", "ada", ""}) == std::vector<bool>{true, true, false, true}));
    CHECK(seen.add("linus") && !seen.add("linus"));
    CHECK((theirs.contains({"grace", "nobody"}) == std::vector<bool>{true, false}));
    CHECK(theirs.contains("") && !theirs.contains("x") && theirs.count() == 4);
    CHECK(theirs.false_positive_rate() > 0 && theirs.false_positive_rate() < 1e-10);
    CHECK(seen.add(std::vector<std::string_view>{}).empty());
    CHECK(seen.clear() && !seen.clear());
}

void what_cannot_be_throws() {
    thrown<dlock::invalid_argument>([&] { make_filter(shared_client(), 0); });
    thrown<dlock::invalid_argument>([&] { make_filter(shared_client(), 10, 0.0); });
    thrown<dlock::invalid_argument>(
        [&] { make_filter(shared_client(), 10, std::numeric_limits<double>::quiet_NaN()); });
    thrown<dlock::invalid_argument>([&] { make_filter(shared_client(), std::int64_t{1} << 32); });
    for (const auto ttl : {std::chrono::milliseconds{0}, std::chrono::milliseconds{-1}}) {
        thrown<dlock::invalid_argument>([&] { dlock::bloom_filter{shared_client(), "n", 10, 0.1, ttl}; });
    }
    dlock::bloom_filter seen = make_filter(shared_client());
    dlock::bloom_filter other = make_filter(shared_client(), 2'000);
    seen.add("a");
    thrown<dlock::wrong_type>([&] { (void)other.contains("a"); });
    CHECK(other.clear() && other.add("a") && other.clear());
}

void a_filter_with_an_end_is_gone_after_it() {
    dlock::bloom_filter seen{shared_client(), "cpp/bloom_filter/end", 10, 0.1, std::chrono::milliseconds{1}};
    seen.add("a");
    while (seen.contains("a")) {
    }
    CHECK(seen.count() == 0);
}

} // namespace

int main() {
    RUN(what_was_added_is_found);
    RUN(what_cannot_be_throws);
    RUN(a_filter_with_an_end_is_gone_after_it);
}
