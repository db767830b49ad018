/*
 * The verbs of locks.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_LOCK_VERBS_HPP
#define SCENARIOS_LOCK_VERBS_HPP

#include <memory>
#include <optional>
#include <utility>

#include "hold_verbs.hpp"
#include "step.hpp"

class lock_verbs final : public verbs {
public:
    lock_verbs(client_map& clients, hold_verbs& holds) : verbs(clients), holds_(holds) {}

    void add_to(verb_map& all) override {
        all["take"] = [this](const step& step) { return take(step); };
        all["attach"] = [this](const step& step) { return attach(step); };
        all["inspect"] = [this](const step& step) { return inspect(step); };
        all["force"] = [this](const step& step) { return force(step); };
    }
    void forget() override {}

private:
    values take(const step& step) {
        dlock::mutex_options how;
        how.lease = step.ms("lease_ms").value_or(milliseconds(0));
        how.watchdog_lease = step.ms("watchdog_lease_ms").value_or(milliseconds(0));
        dlock::mutex mutex{client(step), step.objects.at(1), how};
        dlock::acquire_options acquire;
        acquire.wait = step.ms("wait_ms");
        auto hold = mutex.take(acquire);
        const auto told = values().add("token", hold.token()).add("owner", hold.owner());
        holds_.keep(step.objects.at(2), std::move(hold));
        return told;
    }
    values attach(const step& step) {
        // The C++ class attaches for the calling thread, the one of this runner.
        auto mutex = std::make_unique<dlock::mutex>(client(step), step.objects.at(1));
        const auto held = mutex->attach(step.option("text"));
        holds_.keep_attached(step.objects.at(2), std::move(mutex));
        return values().add("token", held.token()).add("owner", held.owner());
    }
    values inspect(const step& step) {
        const auto seen = dlock::mutex(client(step), step.objects.at(1)).inspect();
        std::optional<std::int64_t> ttl;
        if (seen.ttl) ttl = seen.ttl->count();
        return values()
            .add("held", seen.holder.has_value())
            .add("holder", seen.holder)
            .add("ours", seen.ours)
            .add("ttl_ms", ttl)
            .add("token", seen.token)
            .add("queued", seen.queued);
    }
    values force(const step& step) {
        return values().add("was_held", dlock::mutex(client(step), step.objects.at(1)).force_release());
    }

    hold_verbs& holds_;
};

#endif
