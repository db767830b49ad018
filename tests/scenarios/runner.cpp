/*
 * The runner of scenarios for C++, and with it for the C library below: see README.md and runner.py.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "bloom_filter_verbs.hpp"
#include "counting_semaphore_verbs.hpp"
#include "hold_verbs.hpp"
#include "id_generator_verbs.hpp"
#include "ids_verbs.hpp"
#include "latch_verbs.hpp"
#include "lock_all_verbs.hpp"
#include "lock_verbs.hpp"
#include "queue_verbs.hpp"
#include "rate_limiter_verbs.hpp"
#include "rw_lock_verbs.hpp"
#include "semaphore_verbs.hpp"
#include "step.hpp"
#include "worker_verbs.hpp"

namespace {

values facts(const dlock::error& error) {
    const auto text = [](std::string given) {
        for (char& letter : given)
            if (letter == ' ') letter = '_';
        return given.empty() ? "none" : given;
    };
    std::optional<std::int64_t> remaining, retry;
    if (error.remaining()) remaining = error.remaining()->count();
    if (error.retry_after()) retry = error.retry_after()->count();
    return values()
        .add("holder", text(error.holder()))
        .add("remaining_ms", remaining)
        .add("retry_after_us", retry)
        .add("allowed", text(error.allowed()))
        .add("retryable", error.retryable());
}

class runner {
public:
    explicit runner(std::string url) : url_(std::move(url)) {
        all_["forget"] = [this](const step&) { return forget(); };
        all_["open"] = [this](const step& step) { return open(step); };
        all_["close"] = [this](const step& step) { return close(step); };
        for (verbs* each : kinds()) each->add_to(all_);
    }

    values run(const step& step) {
        const auto verb = all_.find(step.verb);
        if (verb == all_.end()) throw std::runtime_error("there is no verb " + step.verb);
        return verb->second(step);
    }

private:
    [[nodiscard]] std::vector<verbs*> kinds() {
        return {&holds_,         &locks_,   &sets_,   &rw_locks_, &semaphores_, &counting_, &latches_,
                &id_generators_, &filters_, &queues_, &limiters_, &ids_,        &workers_};
    }

    values forget() {
        for (verbs* each : kinds()) each->forget();
        clients_.clear();
        return {};
    }
    values open(const step& step) {
        std::string url = step.options.count("at") != 0 ? step.option("at") : url_;
        for (const auto& [name, value] : step.options)
            if (name != "at") url += (url.find('?') == std::string::npos ? "?" : "&") + name + '=' + value;
        clients_[step.objects.at(0)] = std::make_unique<dlock::client>(url);
        return {};
    }
    values close(const step& step) {
        auto& client = *clients_.at(step.objects.at(0));
        if (step.options.count("release") != 0)
            client.close_releasing();
        else
            client.close();
        return {};
    }

    std::string url_;
    client_map clients_;
    hold_verbs holds_{clients_};
    lock_verbs locks_{clients_, holds_};
    lock_all_verbs sets_{clients_, holds_};
    rw_lock_verbs rw_locks_{clients_, holds_};
    semaphore_verbs semaphores_{clients_, holds_};
    counting_semaphore_verbs counting_{clients_};
    latch_verbs latches_{clients_};
    id_generator_verbs id_generators_{clients_};
    bloom_filter_verbs filters_{clients_};
    queue_verbs queues_{clients_};
    rate_limiter_verbs limiters_{clients_};
    ids_verbs ids_{clients_};
    worker_verbs workers_{clients_, ids_};
    verb_map all_;
};

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: runner URL\n";
        return 2;
    }
    runner runner(argv[1]);
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) {
        try {
            const auto told = runner.run(step(line)).text();
            std::cout << "ok" << told << std::endl;
        } catch (const dlock::error& error) {
            std::cout << "error " << error.kind() << facts(error).text() << " : " << error.what() << std::endl;
        }
    }
}
