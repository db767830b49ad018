// Two clients transfer between the same accounts.
#include <dlock.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <mutex>

int main() {
    const char* url = std::getenv("REDIS_URL");
    if (url == nullptr) url = "redis://127.0.0.1:6379";
    const char *seven = "example-account/7", *forty_two = "example-account/42";
    const dlock::client client{url}, another{url};
    dlock::lock_all first{client, {seven, forty_two}}, second{another, {forty_two, seven, seven}};

    std::unique_lock transfer{first};
    const auto held = first.held();
    if (held.token(seven) > 0 && held.token(forty_two) > 0)
        std::cout << "both accounts are held, each with a token of its own\n";

    if (!second.try_lock()) std::cout << "a second client finds them busy, and takes neither\n";

    transfer.unlock();
    const std::unique_lock other{second, std::chrono::seconds{5}};
    if (other) std::cout << "it has both as soon as they are released\n";

    if (second.tokens().size() == 2) std::cout << "a name that is given twice counts once\n";
}
