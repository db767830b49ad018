// One C++ process of the demo: threads that TIMES times between them wait for the rate limiter, take the lock, and
// change the shared file inside; and threads beside them that share a few permits, and others that read and write under
// a read-write lock, one a little while for every few turns.
//
//     worker URL NAME FILE TIMES WHO WORKER RATE BURST PERMITS [without-lock]
//
// Prints `ready`, starts on a line of input, then prints its progress as JSON lines.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <future>
#include <iostream>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "dlock.hpp"

namespace {

using steady = std::chrono::steady_clock;
using seconds = std::chrono::duration<double>;

constexpr int threads = 2;   // as many callers as each other worker of the demo has
constexpr int sharers = 2;   // the first takes one permit at a time, the second two
constexpr int rounds_in = 5; // a round for so many turns
constexpr int visitors = 2;
constexpr int writes_in = 4; // every fourth visit of each is a writer's
constexpr auto inside = std::chrono::milliseconds(1);
constexpr auto report_every = std::chrono::milliseconds(250);
constexpr int counter_width = 12; // digits on the file's first line

// Reads, changes and rewrites the shared file, in steps that nothing but the lock protects: the counter on its first
// line, and a line at its end. Says whether the file was last changed by somebody else.
bool change(const std::string& path, const std::string& line, const std::string& who) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.exceptions(std::ios::failbit | std::ios::badbit);
    std::string digits(counter_width, '0');
    file.read(digits.data(), counter_width);
    const long counter = std::stol(digits);
    file.seekg(0, std::ios::end);
    const auto size = static_cast<long>(file.tellg());
    std::string tail(static_cast<std::size_t>(std::min(size, 128L)), '\0');
    file.seekg(size - static_cast<long>(tail.size()));
    file.read(tail.data(), static_cast<std::streamsize>(tail.size()));
    const bool other = tail.size() < who.size() + 2 || tail.substr(tail.size() - who.size() - 2) != " " + who + "\n";
    file.seekp(0, std::ios::end);
    file << line << ' ' << who << '\n' << std::flush;
    std::snprintf(digits.data(), digits.size() + 1, "%0*ld", counter_width, counter + 1);
    file.seekp(0);
    file << digits << std::flush;
    return other;
}

// Of CLOCK_MONOTONIC, which is one for all processes.
long long now_us() {
    return std::chrono::duration_cast<std::chrono::microseconds>(steady::now().time_since_epoch()).count();
}

// One line at the end of that file, written as one: nothing protects it.
void write_round(const std::string& path, long long entered, const std::string& how, const std::string& who) {
    std::ofstream file(path, std::ios::out | std::ios::binary | std::ios::app);
    file.exceptions(std::ios::failbit | std::ios::badbit);
    const auto line = std::to_string(entered) + ' ' + std::to_string(now_us()) + ' ' + how;
    file << line + ' ' + who + '\n' << std::flush;
}

struct progress {
    long done = 0;
    long rounds = 0;
    long visits = 0;
    long handovers = 0;
    double waited = 0;
    double longest = 0;

    void print() const {
        std::printf("{\"done\": %ld, \"handovers\": %ld, \"waited\": %.6f, \"longest\": %.6f, \"rounds\": %ld, "
                    "\"visits\": %ld}\n",
                    done, handovers, waited, longest, rounds, visits);
        std::fflush(stdout);
    }
};

struct arguments {
    std::string url, name, path;
    long times;
    std::string who;
    long worker, rate, burst, permits;
    bool locked;
};

void run(const arguments& given) {
    const dlock::client client{given.url};
    dlock::mutex mutex{client, given.name};
    dlock::rate_limiter limiter{client, given.name + "-rate", {given.rate, std::chrono::seconds(1), given.burst}};
    dlock::semaphore semaphore{client, given.name + "-permits", given.permits};
    dlock::shared_mutex sides{client, given.name + "-sides"};
    const dlock::snowflake ids{0, given.worker};
    std::puts("ready");
    std::fflush(stdout);
    std::string line;
    std::getline(std::cin, line);

    std::mutex counting;
    long turns = given.times;
    progress all;
    auto reported = steady::now();
    const auto another_turn = [&] {
        const std::lock_guard guard{counting};
        return turns > 0 && turns-- > 0;
    };
    const auto take_turns = [&] {
        std::uint64_t invented = 0;
        while (another_turn()) {
            const auto granted = limiter.acquire().server_time.value().time_since_epoch().count();
            const auto asked = steady::now();
            std::unique_lock guard{mutex, std::defer_lock};
            if (given.locked) guard.lock();
            const double wait = seconds(steady::now() - asked).count();
            const auto token = given.locked ? mutex.held().token() : ++invented;
            const auto line =
                std::to_string(token) + ' ' + std::to_string(granted) + ' ' + std::to_string(ids.next_id());
            const bool other = change(given.path, line, given.who);
            if (given.locked) guard.unlock();
            const std::lock_guard counted{counting};
            all.done++;
            all.handovers += other;
            all.waited += wait;
            all.longest = std::max(all.longest, wait);
            if (steady::now() - reported > report_every) {
                all.print();
                reported = steady::now();
            }
        }
    };
    const auto share = [&](int permits) {
        for (long rounds = given.times / rounds_in / sharers; rounds > 0; rounds--) {
            std::optional<dlock::hold> held;
            if (given.locked) held = semaphore.take(permits);
            const auto entered = now_us();
            std::this_thread::sleep_for(inside);
            write_round(given.path + ".rounds", entered, std::to_string(permits), given.who);
            if (held) held->release();
            const std::lock_guard counted{counting};
            all.rounds++;
        }
    };
    const auto visit = [&] {
        for (long visit = 1; visit <= given.times / rounds_in / visitors; visit++) {
            const bool writes = visit % writes_in == 0;
            std::unique_lock writer{sides, std::defer_lock};
            std::shared_lock reader{sides, std::defer_lock};
            if (given.locked && writes) writer.lock();
            if (given.locked && !writes) reader.lock();
            const auto entered = now_us();
            std::this_thread::sleep_for(inside);
            write_round(given.path + ".visits", entered, writes ? "write" : "read", given.who);
            if (writer) writer.unlock();
            if (reader) reader.unlock();
            const std::lock_guard counted{counting};
            all.visits++;
        }
    };
    // What a thread throws comes out of get().
    std::vector<std::future<void>> running;
    for (int sharer = 0; sharer < sharers; sharer++)
        running.push_back(std::async(std::launch::async, share, 1 + sharer));
    for (int visitor = 0; visitor < visitors; visitor++) running.push_back(std::async(std::launch::async, visit));
    for (int thread = 0; thread < threads; thread++) running.push_back(std::async(std::launch::async, take_turns));
    for (auto& one : running) one.get();
    all.print();
}

} // namespace

int main(int argc, char** argv) {
    if (argc < 10) {
        std::cerr << "usage: worker URL NAME FILE TIMES WHO WORKER RATE BURST PERMITS [without-lock]\n";
        return 2;
    }
    try {
        run({argv[1], argv[2], argv[3], std::stol(argv[4]), argv[5], std::stol(argv[6]), std::stol(argv[7]),
             std::stol(argv[8]), std::stol(argv[9]), argc == 10});
    } catch (const std::exception& error) {
        std::cerr << argv[5] << ": " << error.what() << '\n';
        return 1;
    }
    return 0;
}
