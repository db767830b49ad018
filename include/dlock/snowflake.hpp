/*
 * dlock/snowflake.hpp: ids without a server. Part of dlock.hpp; needs no client.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::snowflake ids{1, 7};                     // datacenter and worker: this process's alone; or lease
 *                                                     // a number: worker.hpp
 *     std::int64_t id = ids.next_id();
 *     std::string text = dlock::encode_id(id, 62);
 */
#ifndef DLOCK_SNOWFLAKE_HPP
#define DLOCK_SNOWFLAKE_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../dlock.h"
#include "detail.hpp"
#include "error.hpp"

namespace dlock {

/// What an id says.
struct id_parts {
    std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds> time{};
    std::uint32_t datacenter = 0;
    std::uint32_t worker = 0;
    std::uint32_t sequence = 0;
};

namespace detail {

/// The parts that `call` tells.
template <class Call> [[nodiscard]] id_parts parts(Call&& call) {
    dlock_id_parts_t told = DLOCK_ID_PARTS_INIT;
    check([&](auto* cause) { return call(&told, cause); });
    id_parts answer;
    answer.time += std::chrono::milliseconds(told.time_ms);
    answer.datacenter = told.datacenter;
    answer.worker = told.worker;
    answer.sequence = told.sequence;
    return answer;
}

} // namespace detail

/// Which bits of an id hold what; see dlock_layout_t. Checked where it is used.
class layout {
public:
    /// A layout by name: "default", "twitter", "js53".
    explicit layout(std::string_view name) {
        detail::check([&](auto* cause) { return dlock_layout_named(name.data(), name.size(), &layout_, cause); });
    }
    /// A layout of one's own.
    explicit layout(const dlock_layout_t& given) noexcept : layout_(given) {}

    /// Takes an id apart without a generator.
    [[nodiscard]] id_parts decode(std::int64_t id) const {
        return detail::parts([&](auto* parts, auto* cause) { return dlock_layout_decode(&layout_, id, parts, cause); });
    }
    [[nodiscard]] const dlock_layout_t& get() const noexcept { return layout_; }

private:
    dlock_layout_t layout_ = DLOCK_LAYOUT_INIT;
};

/// How to make a generator.
struct snowflake_options {
    /// Nothing: the layout "default".
    std::optional<dlock::layout> layout = std::nullopt;
    /// How far ids may run ahead of the clock instead of waiting for the next millisecond, at most 10 ms.
    std::chrono::milliseconds borrow_ahead{0};
    /// How long the start may wait for a clock that was set back, at most a minute; nothing: a second.
    std::optional<std::chrono::milliseconds> start_wait = std::nullopt;
};

/// A generator of ids for one datacenter and worker; those of one process share their state. Any thread may use it.
class snowflake {
public:
    snowflake(std::int64_t datacenter, std::int64_t worker, const snowflake_options& options = {}) {
        dlock_snowflake_options_t how = DLOCK_SNOWFLAKE_OPTIONS_INIT;
        how.layout = options.layout ? &options.layout->get() : nullptr;
        how.borrow_ahead_ms = options.borrow_ahead.count();
        if (options.start_wait) how.start_wait_ms = options.start_wait->count();
        detail::check(
            [&](auto* cause) { return dlock_snowflake_open(datacenter, worker, &how, snowflake_.out(), cause); });
    }

    /// The next id: larger than every one before it. Sleeps, for less than a millisecond, when those of this one are
    /// used up.
    [[nodiscard]] std::int64_t next_id() const {
        std::int64_t id = 0;
        detail::check([&](auto* cause) { return dlock_snowflake_next_id(snowflake_.get(), &id, cause); });
        return id;
    }
    /// The next `count` ids, 1 to 1,000,000, in increasing order.
    [[nodiscard]] std::vector<std::int64_t> next_ids(std::size_t count) const {
        // A count that is refused is not made room for.
        std::vector<std::int64_t> ids(count <= DLOCK_BATCH_MAX ? count : 0);
        std::int64_t nowhere = 0;
        auto* to = ids.empty() ? &nowhere : ids.data();
        detail::check([&](auto* cause) { return dlock_snowflake_next_ids(snowflake_.get(), to, count, cause); });
        return ids;
    }
    /// Takes an id of its layout apart.
    [[nodiscard]] id_parts decode(std::int64_t id) const {
        return detail::parts(
            [&](auto* parts, auto* cause) { return dlock_snowflake_decode(snowflake_.get(), id, parts, cause); });
    }
    [[nodiscard]] const dlock_snowflake_t* get() const noexcept { return snowflake_.get(); }

private:
    friend class worker;
    snowflake() noexcept = default;

    /// The generator that `call` gives.
    template <class Call> [[nodiscard]] static snowflake from(Call&& call) {
        snowflake made;
        detail::check([&](auto* cause) { return call(made.snowflake_.out(), cause); });
        return made;
    }

    detail::owned<dlock_snowflake_t, dlock_snowflake_free> snowflake_{};
};

/// An id as text in base 10, 32, 36, 58 or 62.
[[nodiscard]] inline std::string encode_id(std::int64_t id, std::int32_t base) {
    char text[DLOCK_ID_TEXT_SIZE];
    std::size_t length = 0;
    detail::check([&](auto* cause) { return dlock_id_encode(id, base, text, sizeof text, &length, cause); });
    return {text, length};
}

/// The id that a text says; the inverse of encode_id().
[[nodiscard]] inline std::int64_t parse_id(std::string_view text, std::int32_t base) {
    std::int64_t id = 0;
    detail::check([&](auto* cause) { return dlock_id_parse(text.data(), text.size(), base, &id, cause); });
    return id;
}

} // namespace dlock

#endif
