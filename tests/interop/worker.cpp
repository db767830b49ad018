/*
 * The C++ process of the interop tests: does what the lines on its input say, see worker.py for the protocol.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include <chrono>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
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
        } else if (verb == "permits") {
            int total = 0, count = 0;
            words >> total >> count;
            auto held = dlock::semaphore(client_, name, total).take(count);
            const auto acquired = now_us();
            std::string ids;
            for (const auto& id : held.permits()) ids += (ids.empty() ? "" : ",") + id;
            std::cout << "permits " << acquired << ' ' << ids << std::endl;
            permits_.insert_or_assign(name, std::move(held));
        } else if (verb == "give") {
            const auto called = now_us();
            permits_.at(name).release();
            std::cout << "gave " << called << std::endl;
        } else if (verb == "share") {
            int total = 0, rounds = 0;
            std::string wants;
            words >> total >> rounds >> wants;
            dlock::semaphore semaphore{client_, name, total};
            const auto hold = [&](const std::string& permits) { return semaphore.take(std::stoi(permits)); };
            const auto nothing = [](const dlock::hold&) { return ""; };
            std::cout << turns(rounds, wants, hold, nothing) << "done" << std::endl;
        } else if (verb == "side") {
            std::string side;
            words >> side;
            dlock::shared_mutex mutex{client_, name};
            auto held = take(mutex, side);
            std::cout << "side " << now_us() << ' ' << held.token() << std::endl;
            sides_.insert_or_assign(name, std::move(held));
        } else if (verb == "downgrade") {
            const auto called = now_us();
            sides_.at(name).downgrade();
            std::cout << "downgraded " << called << ' ' << sides_.at(name).token() << std::endl;
        } else if (verb == "leave") {
            const auto called = now_us();
            sides_.at(name).release();
            std::cout << "left " << called << std::endl;
        } else if (verb == "mix") {
            int rounds = 0;
            std::string sides;
            words >> rounds >> sides;
            dlock::shared_mutex mutex{client_, name};
            const auto hold = [&](const std::string& side) { return take(mutex, side); };
            const auto token = [](const dlock::hold& held) { return ' ' + std::to_string(held.token()); };
            std::cout << turns(rounds, sides, hold, token) << "done" << std::endl;
        } else if (verb == "number") {
            dlock::worker_options how;
            how.bits = 4;
            numbers_.insert_or_assign(name, dlock::worker{client_, name, how});
            generators_.insert_or_assign(name, numbers_.at(name).snowflake());
            std::cout << "number " << numbers_.at(name).number() << std::endl;
        } else if (verb == "ids") {
            std::size_t count = 0;
            words >> count;
            std::cout << "ids " << made(generators_.at(name), count) << std::endl;
        } else if (verb == "back") {
            numbers_.at(name).release();
            std::cout << "back" << std::endl;
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

    static std::string made(const dlock::snowflake& generator, std::size_t count) {
        try {
            std::string ids;
            for (const auto id : generator.next_ids(count)) ids += (ids.empty() ? "" : ",") + std::to_string(id);
            return ids;
        } catch (const dlock::lock_lost&) {
            return "none";
        } catch (const dlock::not_held&) {
            return "none";
        }
    }

    static dlock::hold take(dlock::shared_mutex& mutex, const std::string& side) {
        return side == "write" ? mutex.take() : mutex.take_shared();
    }

    /// What a caller for each word of `wants`, with commas, says of its turns, when all are done: `take` makes the hold
    /// of that word, and `of` says what else there is to say of it.
    template <class Take, class Of>
    static std::string turns(int rounds, const std::string& wants, const Take& take, const Of& of) {
        std::ostringstream said;
        std::mutex saying;
        std::vector<std::thread> threads;
        std::istringstream words(wants);
        for (std::string want; std::getline(words, want, ',');) {
            threads.emplace_back([&, want] {
                for (int round = 0; round < rounds; ++round) {
                    const auto asked = now_us();
                    auto held = take(want);
                    const auto begin = now_us();
                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    const auto end = now_us();
                    const auto more = of(held);
                    held.release();
                    const std::lock_guard guard(saying);
                    said << "turn " << want << ' ' << begin << ' ' << end << ' ' << asked << more << '\n';
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
    std::map<std::string, dlock::hold> permits_, sides_;
    std::map<std::string, dlock::worker> numbers_;
    std::map<std::string, dlock::snowflake> generators_;
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
