// Two clients, of which one takes permits and the other brings them back.
#include <dlock.hpp>

#include <cstdlib>
#include <iostream>

int main() {
    const char* url = std::getenv("REDIS_URL");
    if (url == nullptr) url = "redis://127.0.0.1:6379";
    const dlock::client first{url}, second{url};
    const char* name = "example-counting-semaphore";
    dlock::counting_semaphore slots{first, name}, same{second, name};

    (void)slots.drain();
    slots.add_permits(2);
    slots.acquire(2);
    std::cout << "the first client has taken both permits\n";
    if (!same.try_acquire()) std::cout << "the second client finds none available\n";

    same.release(2); // by whomever: a permit has no owner
    std::cout << "the second client has brought " << slots.available() << " back\n";
}
