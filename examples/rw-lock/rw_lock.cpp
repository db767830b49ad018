// Two clients share a read-write lock.
#include <dlock.hpp>

#include <cstdlib>
#include <iostream>
#include <mutex>
#include <shared_mutex>

int main() {
    const char* url = std::getenv("REDIS_URL");
    if (url == nullptr) url = "redis://127.0.0.1:6379";
    const dlock::client client{url}, another{url};
    dlock::shared_mutex first{client, "example-rw-lock"}, second{another, "example-rw-lock"};

    std::shared_lock first_reads{first}, second_reads{second};
    std::cout << "both clients read at the same time\n";

    second_reads.unlock();
    if (!second.try_lock()) std::cout << "the second client cannot write while the first reads\n";
    first_reads.unlock();

    second.lock();
    std::cout << "the second client writes alone\n";

    second.downgrade(); // from now on others may read too, and nobody has written in between
    second_reads = std::shared_lock{second, std::adopt_lock};
    first_reads.lock();
    std::cout << "it goes on as a reader, and the first client reads again\n";
}
