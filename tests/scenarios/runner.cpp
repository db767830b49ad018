/*
 * The runner of scenarios for C++, and with it for the C library below: see README.md and runner.py.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <dlock.hpp>
#include <dlock/rate_limiter.hpp>
#include <dlock/snowflake.hpp>

namespace {

using std::chrono::milliseconds;

/// A step taken apart.
struct step {
    std::string verb;
    std::vector<std::string> objects;
    std::map<std::string, std::string> options;

    explicit step(const std::string& line) {
        std::istringstream words(line);
        words >> verb;
        for (std::string word; words >> word;) {
            const auto at = word.find('=');
            if (at == std::string::npos)
                objects.push_back(word);
            else
                options[word.substr(0, at)] = word.substr(at + 1);
        }
    }

    [[nodiscard]] const std::string& option(const std::string& name) const { return options.at(name); }
    [[nodiscard]] std::int64_t number(const std::string& name) const { return std::stoll(option(name)); }
    [[nodiscard]] std::optional<milliseconds> ms(const std::string& name) const {
        if (options.count(name) == 0) return std::nullopt;
        return milliseconds(number(name));
    }
};

/// The values of an answer, as words.
class values {
public:
    values& add(const char* name, const std::string& value) {
        text_.append(" ").append(name).append("=").append(value);
        return *this;
    }
    values& add(const char* name, const char* value) { return add(name, std::string(value)); }
    values& add(const char* name, bool value) { return add(name, value ? "true" : "false"); }
    template <class Number> values& add(const char* name, Number value) { return add(name, std::to_string(value)); }
    template <class Value> values& add(const char* name, const std::optional<Value>& value) {
        return value ? add(name, *value) : add(name, "none");
    }
    [[nodiscard]] std::string text() const { return text_; }

private:
    std::string text_;
};

const char* word(std::optional<dlock::loss> reason) {
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

values decided(const dlock::decision& decision) {
    std::optional<std::int64_t> retry;
    if (decision.retry_after) retry = decision.retry_after->count();
    return values()
        .add("allowed", decision.allowed)
        .add("granted", decision.granted)
        .add("remaining", decision.remaining)
        .add("retry_after_us", retry)
        .add("reset_after_us", decision.reset_after.count())
        .add("limit", decision.limit);
}

values facts(const dlock::error& error) {
    const auto text = [](std::string given) {
        for (char& letter : given)
            if (letter == ' ') letter = '_';
        return given.empty() ? "none" : given;
    };
    std::optional<std::int64_t> remaining;
    if (error.remaining()) remaining = error.remaining()->count();
    return values()
        .add("holder", text(error.holder()))
        .add("remaining_ms", remaining)
        .add("allowed", text(error.allowed()))
        .add("retryable", error.retryable());
}

dlock::absent policy(const step& step) {
    const auto given = step.options.find("absent");
    if (given == step.options.end() || given->second == "fail") return dlock::absent::fail();
    if (given->second == "deny") return dlock::absent::deny();
    if (given->second == "allow") return dlock::absent::allow();
    return dlock::absent::local_share(step.number("share_of"));
}

class runner {
public:
    explicit runner(std::string url) : url_(std::move(url)) {}

    values run(const step& step) {
        const auto verb = verbs().find(step.verb);
        if (verb == verbs().end()) throw std::runtime_error("there is no verb " + step.verb);
        return verb->second(*this, step);
    }

private:
    using verb = std::function<values(runner&, const step&)>;

    static const std::map<std::string, verb>& verbs() {
        static const std::map<std::string, verb> all{
            {"forget", &runner::forget},       {"open", &runner::open},       {"close", &runner::close},
            {"take", &runner::take},           {"attach", &runner::attach},   {"release", &runner::release},
            {"extend", &runner::extend},       {"detach", &runner::detach},   {"see", &runner::see},
            {"wait_lost", &runner::wait_lost}, {"inspect", &runner::inspect}, {"force", &runner::force},
            {"limiter", &runner::limiter},     {"spend", &runner::spend},     {"peek", &runner::peek},
            {"reset", &runner::reset},         {"ids", &runner::ids},         {"generator", &runner::generator},
            {"decode", &runner::decode},       {"encode", &runner::encode},   {"parse", &runner::parse},
        };
        return all;
    }

    values forget(const step&) {
        holds_.clear();
        views_.clear();
        limiters_.clear();
        generators_.clear();
        clients_.clear();
        return {};
    }
    values open(const step& step) {
        std::string url = url_;
        for (const auto& [name, value] : step.options)
            url += (url.find('?') == std::string::npos ? "?" : "&") + name + '=' + value;
        clients_[step.objects.at(0)] = std::make_unique<dlock::client>(url);
        return {};
    }
    values close(const step& step) {
        if (step.options.count("release") != 0)
            client(step).close_releasing();
        else
            client(step).close();
        return {};
    }
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
            .add("ours", seen.ours)
            .add("ttl_ms", ttl)
            .add("token", seen.token)
            .add("queued", seen.queued);
    }
    values force(const step& step) {
        return values().add("was_held", dlock::mutex(client(step), step.objects.at(1)).force_release());
    }
    values limiter(const step& step) {
        dlock::rate rate{step.number("tokens"), std::chrono::microseconds(step.number("per_us"))};
        if (step.options.count("burst") != 0) rate.burst = step.number("burst");
        limiters_[step.objects.at(2)] =
            std::make_unique<dlock::rate_limiter>(client(step), step.objects.at(1), rate, policy(step));
        return {};
    }
    values spend(const step& step) {
        const auto wait = step.ms("wait_ms").value_or(milliseconds(0));
        return decided(limiter_of(step).try_acquire_for(step.number("cost"), wait));
    }
    values peek(const step& step) { return decided(limiter_of(step).peek()); }
    values reset(const step& step) {
        limiter_of(step).reset();
        return {};
    }
    values generator(const step& step) {
        dlock::snowflake_options how;
        if (step.options.count("layout") != 0) how.layout.emplace(step.option("layout"));
        generators_[step.objects.at(0)] =
            std::make_unique<dlock::snowflake>(step.number("datacenter"), step.number("worker"), how);
        return {};
    }
    values ids(const step& step) {
        const auto ids = generator_of(step).next_ids(static_cast<std::size_t>(step.number("count")));
        const auto unordered = std::adjacent_find(ids.begin(), ids.end(), std::greater_equal<std::int64_t>());
        return values().add("first", ids.front()).add("last", ids.back()).add("increasing", unordered == ids.end());
    }
    values decode(const step& step) {
        const auto parts = generator_of(step).decode(step.number("id"));
        return values().add("datacenter", parts.datacenter).add("worker", parts.worker).add("sequence", parts.sequence);
    }
    values encode(const step& step) {
        return values().add("text", dlock::encode_id(step.number("id"), static_cast<int>(step.number("base"))));
    }
    values parse(const step& step) {
        return values().add("id", dlock::parse_id(step.option("text"), static_cast<int>(step.number("base"))));
    }

    values kept(const step& step, dlock::hold taken) {
        const auto told = values().add("token", taken.token()).add("owner", taken.owner());
        holds_.insert_or_assign(step.objects.at(2), std::move(taken));
        return told;
    }
    dlock::client& client(const step& step) { return *clients_.at(step.objects.at(0)); }
    dlock::hold& hold(const step& step) { return holds_.at(step.objects.at(0)); }
    dlock::mutex* attached(const step& step) {
        const auto found = views_.find(step.objects.at(0));
        return found == views_.end() ? nullptr : found->second.get();
    }
    dlock::rate_limiter& limiter_of(const step& step) { return *limiters_.at(step.objects.at(0)); }
    dlock::snowflake& generator_of(const step& step) { return *generators_.at(step.objects.at(0)); }

    std::string url_;
    std::map<std::string, std::unique_ptr<dlock::client>> clients_;
    std::map<std::string, dlock::hold> holds_;
    std::map<std::string, std::unique_ptr<dlock::mutex>> views_;
    std::map<std::string, std::unique_ptr<dlock::rate_limiter>> limiters_;
    std::map<std::string, std::unique_ptr<dlock::snowflake>> generators_;
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
