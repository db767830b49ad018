// dlock::id_generator: each id once among clients, and its operation on a port.
#include "check.hpp"

#include <algorithm>
#include <limits>

namespace {

dlock::id_generator make_generator(dlock::client& client, std::int64_t block, std::int64_t start = 1) {
    return {client, std::string("cpp/id_generator/") + check_case, block, start};
}

void clients_take_blocks() {
    static_assert(move_only<dlock::id_generator>);
    dlock::client other{server_url()};
    dlock::id_generator ids = make_generator(shared_client(), 10);
    dlock::id_generator theirs = make_generator(other, 7, 100);
    CHECK(ids.name() == std::string("cpp/id_generator/") + check_case);
    CHECK(ids.block_size() == 10 && theirs.block_size() == 7);
    CHECK(ids.next_id() == 1 && theirs.next_id() == 11 && theirs.block_size() == 10);
    const auto batch = ids.next_ids(100);
    CHECK(batch.size() == 100 && batch.front() == 2 && std::is_sorted(batch.begin(), batch.end()));
}

void what_cannot_be_throws() {
    thrown<dlock::invalid_argument>([&] { make_generator(shared_client(), 0); });
    dlock::id_generator ids = make_generator(shared_client(), 2, (std::numeric_limits<std::int64_t>::max)() - 2);
    thrown<dlock::invalid_argument>([&] { (void)ids.next_ids(0); });
    thrown<dlock::invalid_argument>([&] { (void)ids.next_ids(1'000'001); });
    CHECK(ids.next_ids(2).back() == (std::numeric_limits<std::int64_t>::max)() - 1);
    thrown<dlock::unsupported>([&] { ids.next_id(); });
}

} // namespace

int main() {
    RUN(clients_take_blocks);
    RUN(what_cannot_be_throws);
}
