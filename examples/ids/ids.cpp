// Ids that grow with time, without a server. The pair of numbers has to belong to this process alone.
#include <dlock/snowflake.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iostream>

int main() {
    const dlock::snowflake ids{1, 7};
    const auto many = ids.next_ids(1000);
    const auto unordered = std::adjacent_find(many.begin(), many.end(), std::greater_equal<std::int64_t>());
    if (unordered == many.end()) std::cout << many.size() << " ids, each larger than the one before\n";

    const dlock::id_parts parts = ids.decode(many[0]);
    std::cout << "made by worker " << parts.worker << " of datacenter " << parts.datacenter << '\n';

    if (dlock::parse_id(dlock::encode_id(many[0], 62), 62) == many[0])
        std::cout << "the text in base 62 stands for the same id\n";
}
