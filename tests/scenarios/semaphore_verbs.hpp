/*
 * The verbs of semaphores.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_SEMAPHORE_VERBS_HPP
#define SCENARIOS_SEMAPHORE_VERBS_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "hold_verbs.hpp"
#include "step.hpp"

class semaphore_verbs final : public verbs {
public:
    semaphore_verbs(client_map& clients, hold_verbs& holds) : verbs(clients), holds_(holds) {}

    void add_to(verb_map& all) override {
        all["semaphore"] = [this](const step& step) { return semaphore(step); };
        all["acquire"] = [this](const step& step) { return acquire(step); };
        all["set_permits"] = [this](const step& step) {
            named(step).set_permits(permits(step));
            return values();
        };
        all["inspect_permits"] = [this](const step& step) {
            const auto seen = named(step).inspect();
            return values().add("permits", seen.permits).add("available", seen.available).add("queued", seen.queued);
        };
    }
    void forget() override { semaphores_.clear(); }

private:
    values semaphore(const step& step) {
        dlock::semaphore_options how;
        how.lease = step.ms("lease_ms").value_or(milliseconds(0));
        how.watchdog_lease = step.ms("watchdog_lease_ms").value_or(milliseconds(0));
        semaphores_[step.objects.at(2)] =
            std::make_unique<dlock::semaphore>(client(step), step.objects.at(1), permits(step), how);
        return {};
    }
    values acquire(const step& step) {
        dlock::acquire_options how;
        how.wait = step.ms("wait_ms");
        how.lease = step.ms("lease_ms").value_or(milliseconds(0));
        auto hold = named(step).take(permits(step), how);
        std::string ids;
        const auto those = hold.permits();
        for (const auto& id : those) ids += (ids.empty() ? "" : ",") + id;
        holds_.keep(step.objects.at(1), std::move(hold));
        return values().add("permits", those.size()).add("ids", ids);
    }

    dlock::semaphore& named(const step& step) { return *semaphores_.at(step.objects.at(0)); }
    /// One, if the step names no number.
    static std::int64_t permits(const step& step) {
        return step.options.count("permits") == 0 ? 1 : step.number("permits");
    }

    std::map<std::string, std::unique_ptr<dlock::semaphore>> semaphores_;
    hold_verbs& holds_;
};

#endif
