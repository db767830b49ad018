/*
 * Calls that wait beside the steps, each on a thread of its own, with a token that ends it.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_BESIDE_HPP
#define SCENARIOS_BESIDE_HPP

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <dlock.hpp>

class beside {
public:
    /// Starts `call`, which gives whether it got what it waited for.
    void begin(const std::string& name, std::function<bool(const dlock::cancel_token&)> call) {
        auto token = std::make_unique<dlock::cancel_token>();
        auto answer = std::async(std::launch::async, [call = std::move(call), &token = *token] { return call(token); });
        calls_.insert_or_assign(name, under_way{std::move(token), std::move(answer)});
    }
    /// What it gave, or the exception that it threw.
    bool end(const std::string& name) {
        auto call = std::move(calls_.at(name));
        calls_.erase(name);
        return call.answer.get();
    }
    /// Those that nobody has asked for end.
    void forget() {
        for (auto& [name, call] : calls_) call.token->fire();
        calls_.clear();
    }

private:
    struct under_way {
        std::unique_ptr<dlock::cancel_token> token;
        /// Its end waits for the call.
        std::future<bool> answer;
    };

    std::map<std::string, under_way> calls_;
};

#endif
