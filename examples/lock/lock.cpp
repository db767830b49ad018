// Two clients take turns on one lock.
#include <dlock.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>

int main() {
    const char* given = std::getenv("REDIS_URL");
    const char* url = given ? given : "redis://127.0.0.1:6379";
    dlock::client first{url};
    dlock::client second{url};
    dlock::mutex mine{first, "example-lock"};
    dlock::mutex theirs{second, "example-lock"};

    std::unique_lock guard{mine, std::chrono::seconds(5)};
    if (!guard) return 1;
    std::cout << "the first client holds the lock\n";
    if (!theirs.try_lock()) std::cout << "the second client finds it busy\n";
    // Send the token with every write: the resource refuses one that is lower than the highest it has seen.
    const auto token = mine.held().token();
    guard.unlock();

    std::unique_lock next{theirs, std::chrono::seconds(5)};
    if (!next) return 1;
    if (theirs.held().token() > token) std::cout << "the second client holds it, with a larger token\n";
}
