/*
 * The verbs of several locks as one.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_LOCK_ALL_VERBS_HPP
#define SCENARIOS_LOCK_ALL_VERBS_HPP

#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "hold_verbs.hpp"
#include "step.hpp"

class lock_all_verbs final : public verbs {
public:
    lock_all_verbs(client_map& clients, hold_verbs& holds) : verbs(clients), holds_(holds) {}

    void add_to(verb_map& all) override {
        all["lock_all"] = [this](const step& step) { return open(step); };
        all["take_all"] = [this](const step& step) {
            auto hold = named(step).take(how(step));
            const auto told = values().add("count", named(step).tokens(hold).size());
            holds_.keep(step.objects.at(1), std::move(hold));
            return told;
        };
        all["token_of"] = [this](const step& step) {
            return values().add("token", holds_.find(step.objects.at(0)).view().token(step.objects.at(1)));
        };
        all["lost_of"] = [this](const step& step) {
            const auto& hold = holds_.find(step.objects.at(0));
            return values().add("name", hold.lost_name()).add("lost", word(hold.lost()));
        };
        all["enter_all"] = [this](const step& step) {
            (void)named(step).acquire(how(step));
            return values();
        };
        all["leave_all"] = [this](const step& step) {
            named(step).release();
            return values();
        };
        all["entered_all"] = [this](const step& step) { return values().add("count", named(step).hold_count()); };
    }
    void forget() override { sets_.clear(); }

private:
    values open(const step& step) {
        dlock::mutex_options options;
        options.lease = step.ms("lease_ms").value_or(milliseconds(0));
        options.watchdog_lease = step.ms("watchdog_lease_ms").value_or(milliseconds(0));
        if (step.options.count("reentrant") != 0) options.reentrant = step.option("reentrant") == "true";
        std::vector<std::string> names;
        std::istringstream given(step.option("names"));
        for (std::string name; std::getline(given, name, ',');) names.push_back(name);
        auto set = std::make_unique<dlock::lock_all>(client(step), names, options);
        const auto told = values().add("count", set->names().size());
        sets_[step.objects.at(1)] = std::move(set);
        return told;
    }
    static dlock::acquire_options how(const step& step) {
        dlock::acquire_options how;
        how.wait = step.ms("wait_ms");
        how.lease = step.ms("lease_ms").value_or(milliseconds(0));
        return how;
    }
    dlock::lock_all& named(const step& step) { return *sets_.at(step.objects.at(0)); }

    hold_verbs& holds_;
    std::map<std::string, std::unique_ptr<dlock::lock_all>> sets_;
};

#endif
