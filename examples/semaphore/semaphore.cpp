// Two clients share three permits.
#include <dlock.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>

int main() {
    using namespace std::chrono_literals;
    const char* url = std::getenv("REDIS_URL");
    if (url == nullptr) url = "redis://127.0.0.1:6379";
    const dlock::client first{url}, second{url};
    dlock::semaphore semaphore{first, "example-semaphore", 3}, other{second, "example-semaphore", 3};

    {
        const dlock::hold hold = semaphore.take(2);
        std::cout << "the first client holds two of three permits\n";
        if (!other.try_acquire(2)) std::cout << "the second client finds no two available\n";
    } // released here; those of a process that dies come back when its lease ends

    if (other.try_acquire_for(5s, 2)) { // by this thread, which releases them
        std::cout << "the second client holds two\n";
        other.release();
    }
}
