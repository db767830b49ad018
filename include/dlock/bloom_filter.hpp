/*
 * dlock/bloom_filter.hpp: whether an item was added before, in a few bits for each. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::bloom_filter users{client, "users", 1'000'000, 0.01};
 *     users.add({"ada", "grace"});
 *     bool known = users.contains("ada");
 */
#ifndef DLOCK_BLOOM_FILTER_HPP
#define DLOCK_BLOOM_FILTER_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../dlock.h"
#include "client.hpp"
#include "detail.hpp"
#include "error.hpp"

namespace dlock {

/// A Bloom filter by name: Redisson's RBloomFilter, bit for bit. It is made on the server when the first item is added.
/// From then on a filter of another size or with other hashes throws dlock::wrong_type, whose text shows both, until
/// it is cleared. One that is not on the server contains nothing. Items are bytes.
class bloom_filter {
public:
    /// For `expected` items; `false_positive_rate`, above 0 and below 1, is the share of items that were not added and
    /// are found all the same, once so many were. The filter stays until it is cleared.
    bloom_filter(const client& client, std::string_view name, std::int64_t expected, double false_positive_rate)
        : bloom_filter(client, name, expected, false_positive_rate, DLOCK_BLOOM_NO_END) {}
    /// One that ends: `ttl`, 1 ms to 100 years, is how long it lives from its first item on.
    bloom_filter(const client& client, std::string_view name, std::int64_t expected, double false_positive_rate,
                 std::chrono::milliseconds ttl)
        : bloom_filter(client, name, expected, false_positive_rate, of(ttl)) {}

    /// Adds items, 0 to DLOCK_BATCH_MAX; of each whether it is new. False may be a false positive. One script adds them
    /// all, or one for each 16384 bits; an exception may leave a part of them added. dlock::outcome_unknown when a
    /// reply was lost and it is unknown which were new: adding them again adds what is missing.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    std::vector<bool> add(const std::vector<std::string_view>& items) { return each(items, dlock_bloom_filter_add); }
    /// The same.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    std::vector<bool> add(std::initializer_list<std::string_view> items) {
        return add(std::vector<std::string_view>(items));
    }
    /// Adds one item; whether it is new.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    bool add(std::string_view item) { return one(item, dlock_bloom_filter_add); }

    /// Looks for items; of each whether it was added. True may be a false positive, false is certain.
    [[nodiscard]] std::vector<bool> contains(const std::vector<std::string_view>& items) const {
        return each(items, dlock_bloom_filter_contains);
    }
    /// The same.
    [[nodiscard]] std::vector<bool> contains(std::initializer_list<std::string_view> items) const {
        return contains(std::vector<std::string_view>(items));
    }
    /// Looks for one item.
    [[nodiscard]] bool contains(std::string_view item) const { return one(item, dlock_bloom_filter_contains); }

    /// How many different items were added, as the bits that are set let expect; 2^53 - 1 when all are set. The server
    /// counts all bits: 50 ms for a filter of 512 MiB.
    [[nodiscard]] std::int64_t count() const { return number<std::int64_t>(dlock_bloom_filter_count); }
    /// The rate of false positives now, from 0 of an empty filter to 1 of a full one. Costs as count().
    [[nodiscard]] double false_positive_rate() const { return number<double>(dlock_bloom_filter_false_positive_rate); }
    /// Removes the filter, whatever configuration it has; false when it was not there.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    bool clear() { return number<bool>(dlock_bloom_filter_clear); }

    /// How many bits the filter has. No I/O.
    [[nodiscard]] std::int64_t size() const { return number<std::int64_t>(dlock_bloom_filter_size); }
    /// How many bits an item has. No I/O.
    [[nodiscard]] std::int64_t hashes() const { return number<std::int64_t>(dlock_bloom_filter_hashes); }
    [[nodiscard]] std::string name() const {
        return detail::text<DLOCK_NAME_SIZE>(
            [&](auto... into) { return dlock_bloom_filter_name(filter_.get(), into...); });
    }
    [[nodiscard]] const dlock_bloom_filter_t* get() const noexcept { return filter_.get(); }

private:
    using ask = dlock_status_t (*)(const dlock_bloom_filter_t*, const void* const*, const std::size_t*, std::size_t,
                                   bool*, dlock_error_t*);

    bloom_filter(const client& client, std::string_view name, std::int64_t expected, double false_positive_rate,
                 std::int64_t ttl_ms) {
        detail::check([&](auto* cause) {
            return dlock_bloom_filter_open(client.get(), name.data(), name.size(), expected, false_positive_rate,
                                           ttl_ms, filter_.out(), cause);
        });
    }

    /// A negative time is refused as any other that is out of range, and none of them means that there is none.
    static std::int64_t of(std::chrono::milliseconds ttl) { return ttl.count() < 0 ? 0 : std::int64_t{ttl.count()}; }

    [[nodiscard]] std::vector<bool> each(const std::vector<std::string_view>& items, ask call) const {
        std::vector<const void*> starts;
        std::vector<std::size_t> lengths;
        starts.reserve(items.size());
        lengths.reserve(items.size());
        for (const auto& item : items) {
            starts.push_back(item.data());
            lengths.push_back(item.size());
        }
        // One more, so that there is somewhere to put the answers of none.
        const auto answers = std::make_unique<bool[]>(items.size() + 1);
        detail::check([&](auto* cause) {
            return call(filter_.get(), starts.data(), lengths.data(), items.size(), answers.get(), cause);
        });
        // With braces it would be a list of two flags.
        return std::vector<bool>(answers.get(), answers.get() + items.size());
    }

    [[nodiscard]] bool one(std::string_view item, ask call) const {
        const void* start = item.data();
        const std::size_t length = item.size();
        bool answer = false;
        detail::check([&](auto* cause) { return call(filter_.get(), &start, &length, 1, &answer, cause); });
        return answer;
    }

    template <class T>
    [[nodiscard]] T number(dlock_status_t (*call)(const dlock_bloom_filter_t*, T*, dlock_error_t*)) const {
        T answer{};
        detail::check([&](auto* cause) { return call(filter_.get(), &answer, cause); });
        return answer;
    }

    detail::owned<dlock_bloom_filter_t, dlock_bloom_filter_free> filter_{};
};

} // namespace dlock

#endif
