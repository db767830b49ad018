/*
 * The verbs of latches.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_LATCH_VERBS_HPP
#define SCENARIOS_LATCH_VERBS_HPP

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "beside.hpp"
#include "step.hpp"

class latch_verbs final : public verbs {
public:
    using verbs::verbs;

    void add_to(verb_map& all) override {
        all["latch"] = [this](const step& step) {
            latches_[step.objects.at(2)] = std::make_shared<dlock::latch>(client(step), step.objects.at(1));
            return values();
        };
        all["set_count"] = [this](const step& step) {
            return values().add("set", named(step)->try_set_count(step.number("count")));
        };
        all["count_down"] = [this](const step& step) {
            const auto latch = named(step);
            const bool by_one = step.options.count("by") == 0;
            return values().add("left", by_one ? latch->count_down() : latch->count_down(step.number("by")));
        };
        all["count"] = [this](const step& step) { return values().add("count", named(step)->count()); };
        all["wait"] = [this](const step& step) {
            return values().add("opened", opened(*named(step), step.ms("wait_ms"), nullptr));
        };
        all["begin_wait"] = [this](const step& step) {
            waits_.begin(step.objects.at(1), [latch = named(step), wait = step.ms("wait_ms")](const auto& token) {
                return opened(*latch, wait, &token);
            });
            return values();
        };
        all["end_wait"] = [this](const step& step) { return values().add("opened", waits_.end(step.objects.at(0))); };
        all["remove_latch"] = [this](const step& step) { return values().add("removed", named(step)->remove()); };
        all["counted_latches"] = [this](const step& step) {
            const auto counted = client(step).stats().latch;
            return values()
                .add("counted_down", counted.counted_down)
                .add("opened", counted.opened)
                .add("wait_timeouts", counted.wait_timeouts)
                .add("waiting", counted.waiting)
                .add("waits", counted.wait_time.count);
        };
    }
    void forget() override {
        waits_.forget();
        latches_.clear();
    }

private:
    static bool opened(const dlock::latch& latch, std::optional<milliseconds> wait, const dlock::cancel_token* token) {
        if (wait) return latch.wait_for(*wait, token);
        latch.wait(token);
        return true;
    }

    std::shared_ptr<dlock::latch> named(const step& step) { return latches_.at(step.objects.at(0)); }

    std::map<std::string, std::shared_ptr<dlock::latch>> latches_;
    beside waits_;
};

#endif
