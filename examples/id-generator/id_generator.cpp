// Ids of orders and their lines, from two clients that take a block each.
#include <dlock.hpp>

#include <cstdlib>
#include <iostream>

int main() {
    const char* url = std::getenv("REDIS_URL");
    if (url == nullptr) url = "redis://127.0.0.1:6379";
    const dlock::client shop{url}, other{url};

    dlock::id_generator ids{shop, "example-orders", 100};
    std::cout << "order " << ids.next_id() << "\n";
    const auto lines = ids.next_ids(3);
    std::cout << "lines " << lines[0] << ", " << lines[1] << " and " << lines[2] << "\n";

    dlock::id_generator others{other, "example-orders"};
    std::cout << "another process has " << others.next_id() << "\n";
    std::cout << "blocks of " << others.block_size() << "\n";
}
