/*
 * The verbs of counting semaphores.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_COUNTING_SEMAPHORE_VERBS_HPP
#define SCENARIOS_COUNTING_SEMAPHORE_VERBS_HPP

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "beside.hpp"
#include "step.hpp"

class counting_semaphore_verbs final : public verbs {
public:
    using verbs::verbs;

    void add_to(verb_map& all) override {
        all["counting"] = [this](const step& step) {
            semaphores_[step.objects.at(2)] =
                std::make_shared<dlock::counting_semaphore>(client(step), step.objects.at(1));
            return values();
        };
        all["make_permits"] = [this](const step& step) {
            return values().add("made", named(step)->try_set_permits(permits(step)));
        };
        all["take_permits"] = [this](const step& step) {
            return values().add("taken", taken(*named(step), permits(step), step.ms("wait_ms"), nullptr));
        };
        all["begin_take"] = [this](const step& step) {
            takes_.begin(step.objects.at(1),
                         [semaphore = named(step), permits = permits(step), wait = step.ms("wait_ms")](
                             const auto& token) { return taken(*semaphore, permits, wait, &token); });
            return values();
        };
        all["end_take"] = [this](const step& step) { return values().add("taken", takes_.end(step.objects.at(0))); };
        all["give"] = [this](const step& step) {
            named(step)->release(permits(step));
            return values();
        };
        all["add_permits"] = [this](const step& step) {
            named(step)->add_permits(step.number("permits"));
            return values();
        };
        all["drain"] = [this](const step& step) { return values().add("drained", named(step)->drain()); };
        all["inspect_counting"] = [this](const step& step) {
            const auto seen = named(step)->inspect();
            return values().add("exists", seen.exists).add("available", seen.available).add("queued", seen.queued);
        };
        all["counted_takes"] = [this](const step& step) {
            const auto counted = client(step).stats().counting_semaphore;
            return values()
                .add("acquired", counted.acquired)
                .add("contended", counted.contended)
                .add("wait_timeouts", counted.wait_timeouts)
                .add("released", counted.released)
                .add("waiting", counted.waiting)
                .add("waits", counted.wait_time.count);
        };
    }
    void forget() override {
        takes_.forget();
        semaphores_.clear();
    }

private:
    static bool taken(dlock::counting_semaphore& of, std::int64_t permits, std::optional<milliseconds> wait,
                      const dlock::cancel_token* token) {
        if (wait) return of.try_acquire_for(*wait, permits, token);
        of.acquire(permits, token);
        return true;
    }

    std::shared_ptr<dlock::counting_semaphore> named(const step& step) { return semaphores_.at(step.objects.at(0)); }
    /// One, if the step names no number.
    static std::int64_t permits(const step& step) {
        return step.options.count("permits") == 0 ? 1 : step.number("permits");
    }

    std::map<std::string, std::shared_ptr<dlock::counting_semaphore>> semaphores_;
    beside takes_;
};

#endif
