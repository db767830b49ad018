/*
 * The verbs of read-write locks.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_RW_LOCK_VERBS_HPP
#define SCENARIOS_RW_LOCK_VERBS_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "hold_verbs.hpp"
#include "step.hpp"

class rw_lock_verbs final : public verbs {
public:
    rw_lock_verbs(client_map& clients, hold_verbs& holds) : verbs(clients), holds_(holds) {}

    void add_to(verb_map& all) override {
        all["rw_lock"] = [this](const step& step) { return open(step); };
        all["read"] = [this](const step& step) { return keep(step, named(step).take_shared(wait(step))); };
        all["write"] = [this](const step& step) { return keep(step, named(step).take(wait(step))); };
        all["downgrade"] = [this](const step& step) {
            auto& hold = holds_.find(step.objects.at(0));
            hold.downgrade();
            return keep(step, std::move(hold));
        };
        all["enter"] = [this](const step& step) {
            const auto held = writes(step) ? named(step).acquire(wait(step)) : named(step).acquire_shared(wait(step));
            return values().add("token", held.token());
        };
        all["leave"] = [this](const step& step) {
            writes(step) ? named(step).release() : named(step).release_shared();
            return values();
        };
        all["entered"] = [this](const step& step) {
            return values().add("count", writes(step) ? named(step).hold_count() : named(step).hold_count_shared());
        };
        all["step_down"] = [this](const step& step) { return values().add("token", named(step).downgrade().token()); };
        all["force_rw"] = [this](const step& step) { return values().add("was_held", named(step).force_release()); };
        all["inspect_rw"] = [this](const step& step) { return inspect(step); };
    }
    void forget() override { locks_.clear(); }

private:
    values open(const step& step) {
        dlock::shared_mutex_options how;
        how.lease = step.ms("lease_ms").value_or(milliseconds(0));
        how.watchdog_lease = step.ms("watchdog_lease_ms").value_or(milliseconds(0));
        if (step.options.count("reentrant") != 0) how.reentrant = step.option("reentrant") == "true";
        how.shared_age = step.ms("shared_age_ms");
        locks_[step.objects.at(2)] = std::make_unique<dlock::shared_mutex>(client(step), step.objects.at(1), how);
        return {};
    }
    values keep(const step& step, dlock::hold hold) {
        const auto told = values().add("token", hold.token()).add("owner", hold.owner());
        holds_.keep(step.objects.at(1), std::move(hold));
        return told;
    }
    values inspect(const step& step) {
        const auto seen = named(step).inspect();
        std::optional<std::int64_t> ttl;
        if (seen.ttl) ttl = seen.ttl->count();
        return values()
            .add("writer", seen.writer)
            .add("ours", seen.ours)
            .add("readers", seen.readers)
            .add("ttl_ms", ttl)
            .add("token", seen.token)
            .add("queued", seen.queued);
    }

    dlock::shared_mutex& named(const step& step) { return *locks_.at(step.objects.at(0)); }
    static bool writes(const step& step) { return step.option("side") == "write"; }
    static dlock::acquire_options wait(const step& step) {
        dlock::acquire_options how;
        how.wait = step.ms("wait_ms");
        return how;
    }

    std::map<std::string, std::unique_ptr<dlock::shared_mutex>> locks_;
    hold_verbs& holds_;
};

#endif
