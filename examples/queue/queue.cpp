// A job for later, one that fails and comes again, and a dead one.
#include <dlock.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>

int main() {
    using namespace std::chrono_literals;
    const char* url = std::getenv("REDIS_URL");
    if (url == nullptr) url = "redis://127.0.0.1:6379";
    const dlock::client client{url};
    dlock::queue_options twice;
    twice.max_attempts = 2;
    dlock::queue mails{client, "example-queue", twice};
    std::cout << std::boolalpha;

    dlock::job_options later;
    later.id = "ada-1";
    later.delay = 100ms;
    mails.put("to: ada", later);
    std::cout << "put a second time: " << mails.put("to: ada", later).is_new << "\n";
    std::cout << "due at once: " << mails.try_take().has_value() << "\n";

    auto job = mails.take();
    std::cout << job.payload() << ", attempt " << job.attempt() << "\n";
    job.nack(50ms, "no route");

    job = mails.take();
    std::cout << job.payload() << ", attempt " << job.attempt() << "\n";
    job.nack(std::nullopt, "still no route");

    for (const auto& dead : mails.dead().list())
        std::cout << "dead after " << dead.attempts << " attempts: " << *dead.reason << "\n";

    mails.dead().requeue("ada-1");
    job = mails.take();
    job.ack();
    std::cout << "left: " << mails.counts().ready << "\n";
}
