// Three requests a minute for everybody: the fourth is told when to come back.
#include <dlock.hpp>
#include <dlock/rate_limiter.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>

int main() {
    using namespace std::chrono_literals;
    const char* url = std::getenv("REDIS_URL");
    dlock::client client{url ? url : "redis://127.0.0.1:6379"};
    dlock::rate_limiter api{client, "example-api", {3, 60s}};
    api.reset(); // earlier runs have spent tokens

    for (int request = 1; request <= 4; request++) {
        const dlock::decision decision = api.try_acquire();
        if (decision) {
            std::cout << "request " << request << " is allowed, " << decision.remaining << " left\n";
        } else if (decision.retry_after && *decision.retry_after <= 20s) {
            std::cout << "request " << request << " is refused, and may come back within 20 s\n";
        }
    }
}
