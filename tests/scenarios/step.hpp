/*
 * A step, its answer, and the verbs of one primitive.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef SCENARIOS_STEP_HPP
#define SCENARIOS_STEP_HPP

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <dlock.hpp>

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

/// The clients of a scenario, by their names in it.
using client_map = std::map<std::string, std::unique_ptr<dlock::client>>;

/// The verbs by their names.
using verb_map = std::map<std::string, std::function<values(const step&)>>;

/// The verbs of one primitive, and its objects of one scenario.
class verbs {
public:
    explicit verbs(client_map& clients) : clients_(clients) {}
    verbs(const verbs&) = delete;
    verbs& operator=(const verbs&) = delete;
    virtual ~verbs() = default;

    /// Adds its verbs.
    virtual void add_to(verb_map& all) = 0;
    /// The scenario is over.
    virtual void forget() = 0;

protected:
    [[nodiscard]] dlock::client& client(const step& step) const { return *clients_.at(step.objects.at(0)); }

private:
    client_map& clients_;
};

#endif
