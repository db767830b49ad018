/*
 * The C++ process of the interop tests: does what the lines on its input say, see worker.py for the protocol.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <dlock.hpp>

namespace {

/// CLOCK_MONOTONIC, which is one for all processes of the machine.
long long now_us() {
    using namespace std::chrono;
    return duration_cast<microseconds>(steady_clock::now().time_since_epoch()).count();
}

class worker {
public:
    explicit worker(const std::string& url) : client_(url) {}

    void run(const std::string& request) {
        std::istringstream words(request);
        std::string verb, name;
        words >> verb >> name;
        if (verb == "acquire") {
            const auto held = lock(name).acquire();
            std::cout << "acquired " << now_us() << ' ' << held.token() << std::endl;
        } else if (verb == "renew") {
            dlock::mutex_options how;
            int lease_ms = 0;
            words >> lease_ms;
            how.watchdog_lease = std::chrono::milliseconds(lease_ms);
            locks_[name] = std::make_unique<dlock::mutex>(client_, name, how);
            locks_[name]->lock();
            std::cout << "renewed" << std::endl;
        } else if (verb == "release") {
            const auto called = now_us();
            lock(name).release();
            std::cout << "released " << called << std::endl;
        } else if (verb == "contend") {
            int rounds = 0;
            words >> rounds;
            for (int round = 0; round < rounds; ++round) contend(lock(name));
            std::cout << "done" << std::endl;
        } else if (verb == "crowd") {
            int rounds = 0, callers = 0;
            words >> rounds >> callers;
            std::cout << crowd(lock(name), rounds, callers) << "done" << std::endl;
        } else if (verb == "watch") {
            int count = 0;
            words >> count;
            for (int number = 0; number < count; ++number) watch(lock(name + '-' + std::to_string(number)));
            std::cout << "watching" << std::endl;
        } else if (verb == "spend") {
            const auto decision = dlock::rate_limiter(client_, name, {10, std::chrono::hours(1)}).try_acquire();
            std::cout << "spent " << decision.allowed << ' ' << decision.remaining << std::endl;
        } else {
            throw std::runtime_error("cannot read " + request);
        }
    }

private:
    dlock::mutex& lock(const std::string& name) {
        auto& lock = locks_[name];
        if (!lock) lock = std::make_unique<dlock::mutex>(client_, name);
        return *lock;
    }

    static void contend(dlock::mutex& lock) {
        const auto held = lock.acquire();
        const auto acquired = now_us();
        std::cout << "hold " << held.token() << ' ' << acquired << ' ' << now_us() << '\n';
        lock.release();
    }

    /// What all callers say of their holds, when they are done.
    static std::string crowd(dlock::mutex& lock, int rounds, int callers) {
        std::ostringstream said;
        std::vector<std::thread> threads;
        for (int caller = 0; caller < callers; ++caller) {
            threads.emplace_back([&] {
                for (int round = 0; round < rounds; ++round) {
                    const auto asked = now_us();
                    const auto held = lock.acquire();
                    const auto begin = now_us();
                    // Guarded by the lock itself.
                    said << "hold " << held.token() << ' ' << begin << ' ' << now_us() << ' ' << asked << '\n';
                    lock.release();
                }
            });
        }
        for (auto& thread : threads) thread.join();
        return said.str();
    }

    /// Ends with the process.
    static void watch(dlock::mutex& lock) {
        auto held = std::make_shared<dlock::held>(lock.acquire());
        std::thread([held] {
            if (!held->wait_lost()) return;
            const auto us = std::chrono::microseconds(held->remaining()).count();
            std::cout << "lost " + std::to_string(us) + '\n' << std::flush;
        }).detach();
    }

    dlock::client client_;
    std::map<std::string, std::unique_ptr<dlock::mutex>> locks_;
};

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: worker URL\n";
        return 2;
    }
    try {
        worker worker(argv[1]);
        std::cout << "ready" << std::endl;
        for (std::string line; std::getline(std::cin, line);) worker.run(line);
    } catch (const std::exception& error) {
        std::cout << "failed " << error.what() << std::endl;
        return 1;
    }
}
