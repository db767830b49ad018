/*
 * The verbs of holds, of whatever primitive, and what their clients have counted.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_HOLD_VERBS_HPP
#define SCENARIOS_HOLD_VERBS_HPP

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
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

class hold_verbs final : public verbs {
public:
    using verbs::verbs;

    void add_to(verb_map& all) override {
        all["release"] = [this](const step& step) { return release(step); };
        all["extend"] = [this](const step& step) { return extend(step); };
        all["detach"] = [this](const step& step) { return detach(step); };
        all["see"] = [this](const step& step) { return see(step); };
        all["wait_lost"] = [this](const step& step) { return wait_lost(step); };
        all["counted"] = [this](const step& step) { return counted(step); };
    }
    void forget() override {
        holds_.clear();
        views_.clear();
    }

    void keep(const std::string& name, dlock::hold hold) { holds_.insert_or_assign(name, std::move(hold)); }
    dlock::hold& find(const std::string& name) { return holds_.at(name); }
    /// What the calling thread holds of a mutex.
    void keep_attached(const std::string& name, std::unique_ptr<dlock::mutex> mutex) {
        views_[name] = std::move(mutex);
    }

private:
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
    values counted(const step& step) {
        const auto stats = client(step).stats();
        if (step.options.count("of") == 0) return values_of(stats.lock);
        if (step.option("of") == "semaphore") return values_of(stats.semaphore);
        if (step.option("of") == "rw_lock") return values_of(stats.rw_lock);
        throw std::runtime_error("nothing is counted of " + step.option("of"));
    }
    /// Each primitive has a record of its own, with the same fields.
    template <class Counted> static values values_of(const Counted& counted) {
        return values()
            .add("acquired", counted.acquired)
            .add("contended", counted.contended)
            .add("handed_over", counted.handed_over_local + counted.handed_over_remote)
            .add("wait_timeouts", counted.wait_timeouts)
            .add("lost", counted.lost)
            .add("released", counted.released)
            .add("waiting", counted.waiting)
            .add("held", counted.held)
            .add("waits", counted.wait_time.count)
            .add("holds", counted.hold_time.count);
    }

    dlock::hold& hold(const step& step) { return find(step.objects.at(0)); }
    dlock::mutex* attached(const step& step) {
        const auto found = views_.find(step.objects.at(0));
        return found == views_.end() ? nullptr : found->second.get();
    }

    std::map<std::string, dlock::hold> holds_;
    std::map<std::string, std::unique_ptr<dlock::mutex>> views_;
};

#endif
