/*
 * The verbs of locks and their holds.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_LOCK_VERBS_HPP
#define SCENARIOS_LOCK_VERBS_HPP

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "step.hpp"

inline const char* word(std::optional<dlock::loss> reason) {
    if (!reason) return "none";
    switch (*reason) {
    case dlock::loss::expired:
        return "expired";
    case dlock::loss::taken:
        return "taken";
    case dlock::loss::deleted:
        return "deleted";
    case dlock::loss::server_changed:
        return "server_changed";
    case dlock::loss::closed:
        return "closed";
    default:
        return "internal";
    }
}

class lock_verbs final : public verbs {
public:
    using verbs::verbs;

    void add_to(verb_map& all) override {
        all["take"] = [this](const step& step) { return take(step); };
        all["attach"] = [this](const step& step) { return attach(step); };
        all["release"] = [this](const step& step) { return release(step); };
        all["extend"] = [this](const step& step) { return extend(step); };
        all["detach"] = [this](const step& step) { return detach(step); };
        all["see"] = [this](const step& step) { return see(step); };
        all["wait_lost"] = [this](const step& step) { return wait_lost(step); };
        all["inspect"] = [this](const step& step) { return inspect(step); };
        all["counted"] = [this](const step& step) { return counted(step); };
        all["force"] = [this](const step& step) { return force(step); };
    }
    void forget() override {
        holds_.clear();
        views_.clear();
    }

private:
    values take(const step& step) {
        dlock::mutex_options how;
        how.lease = step.ms("lease_ms").value_or(milliseconds(0));
        how.watchdog_lease = step.ms("watchdog_lease_ms").value_or(milliseconds(0));
        dlock::mutex mutex{client(step), step.objects.at(1), how};
        dlock::acquire_options acquire;
        acquire.wait = step.ms("wait_ms");
        return kept(step, mutex.take(acquire));
    }
    values attach(const step& step) {
        // The C++ class attaches for the calling thread, the one of this runner.
        auto mutex = std::make_unique<dlock::mutex>(client(step), step.objects.at(1));
        const auto held = mutex->attach(step.option("text"));
        views_[step.objects.at(2)] = std::move(mutex);
        return values().add("token", held.token()).add("owner", held.owner());
    }
    values release(const step& step) {
        if (auto* view = attached(step))
            view->release();
        else
            hold(step).release();
        return {};
    }
    values extend(const step& step) {
        const auto lease = milliseconds(step.number("lease_ms"));
        if (auto* view = attached(step))
            view->extend(lease);
        else
            hold(step).extend(lease);
        return {};
    }
    values detach(const step& step) {
        auto* view = attached(step);
        return values().add("text", view != nullptr ? view->detach() : hold(step).detach());
    }
    values see(const step& step) {
        const auto read = [](const dlock::held& held) {
            return values()
                .add("valid", held.valid())
                .add("remaining_ms", held.remaining().count())
                .add("lost", word(held.lost()));
        };
        if (auto* view = attached(step)) return read(view->held());
        return read(hold(step).view());
    }
    values wait_lost(const step& step) {
        const auto wait = milliseconds(step.number("wait_ms"));
        if (auto* view = attached(step)) return values().add("lost", word(view->held().wait_lost(wait)));
        return values().add("lost", word(hold(step).wait_lost(wait)));
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
    values counted(const step& step) {
        const auto lock = client(step).stats().lock;
        return values()
            .add("acquired", lock.acquired)
            .add("contended", lock.contended)
            .add("handed_over", lock.handed_over_local + lock.handed_over_remote)
            .add("wait_timeouts", lock.wait_timeouts)
            .add("lost", lock.lost)
            .add("released", lock.released)
            .add("waiting", lock.waiting)
            .add("held", lock.held)
            .add("waits", lock.wait_time.count)
            .add("holds", lock.hold_time.count);
    }
    values force(const step& step) {
        return values().add("was_held", dlock::mutex(client(step), step.objects.at(1)).force_release());
    }

    values kept(const step& step, dlock::hold taken) {
        const auto told = values().add("token", taken.token()).add("owner", taken.owner());
        holds_.insert_or_assign(step.objects.at(2), std::move(taken));
        return told;
    }
    dlock::hold& hold(const step& step) { return holds_.at(step.objects.at(0)); }
    dlock::mutex* attached(const step& step) {
        const auto found = views_.find(step.objects.at(0));
        return found == views_.end() ? nullptr : found->second.get();
    }

    std::map<std::string, dlock::hold> holds_;
    std::map<std::string, std::unique_ptr<dlock::mutex>> views_;
};

#endif
