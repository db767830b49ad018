// Two processes lease worker numbers of one pool and make ids under them. Nobody has to hand the numbers out.
#include <dlock.hpp>

#include <cstdlib>
#include <iostream>

int main() {
    const char* url = std::getenv("REDIS_URL");
    if (url == nullptr) url = "redis://127.0.0.1:6379";
    const dlock::client one{url}, two{url};

    dlock::worker first{one, "example-worker"};
    const dlock::worker second{two, "example-worker"};
    std::cout << "leased " << first.number() << " and " << second.number() << "\n";

    const dlock::snowflake ids = first.snowflake();
    const auto last = ids.next_ids(1000).back();
    first.release();
    try {
        (void)ids.next_id();
    } catch (const dlock::not_held&) {
        std::cout << "no ids without a number\n";
    }

    const dlock::worker again{one, "example-worker"};
    std::cout << "leased " << again.number() << " again\n";
    if (again.snowflake().next_id() > last) std::cout << "its ids go on behind the last\n";
}
