// A start that waits until two workers are ready.
#include <dlock.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <thread>

int main() {
    using namespace std::chrono_literals;
    const char* url = std::getenv("REDIS_URL");
    if (url == nullptr) url = "redis://127.0.0.1:6379";
    const dlock::client starter{url}, worker{url};
    dlock::latch ready{starter, "example-latch"}, mine{worker, "example-latch"};
    ready.try_set_count(2);

    std::cout << "the first worker is ready, " << mine.count_down() << " is left\n";
    if (!ready.wait_for(100ms)) std::cout << "not everybody is ready\n";

    std::thread second{[&] { mine.count_down(); }};
    ready.wait();
    std::cout << "everybody is ready\n";
    second.join();
}
