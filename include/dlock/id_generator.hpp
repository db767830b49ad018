/*
 * dlock/id_generator.hpp: ids that the server counts, which a process takes in blocks. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::id_generator orders{client, "orders"};
 *     std::int64_t order = orders.next_id();
 *     std::vector<std::int64_t> lines = orders.next_ids(100);
 */
#ifndef DLOCK_ID_GENERATOR_HPP
#define DLOCK_ID_GENERATOR_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../dlock.h"
#include "client.hpp"
#include "detail.hpp"
#include "error.hpp"

namespace dlock {

/// A generator of ids by name: each is given out once among all processes. A process takes a block of them at a time
/// and hands them out without asking the server; the next block is fetched when a fifth is left. What a process has of
/// a block is lost when its client is closed, with its last generator of the name, and when it ends: there are gaps.
class id_generator {
public:
    /// `block`, 1 to 2^53 - 1, is how many ids a process takes at a time, `start` the first of all. Both count only
    /// where the server knows none; block_size() says what does.
    id_generator(const client& client, std::string_view name, std::int64_t block = DLOCK_ID_BLOCK_DEFAULT,
                 std::int64_t start = 1) {
        detail::check([&](auto* cause) {
            return dlock_id_generator_open(client.get(), name.data(), name.size(), block, start, generator_.out(),
                                           cause);
        });
    }

    /// The next id, mostly without asking the server. Throws dlock::connection_failed when none is left and the server
    /// did not answer: the call may be repeated. dlock::unsupported when the ids are used up, at 2^63 - 1.
    // NOLINTNEXTLINE(modernize-use-nodiscard): a call for its effect
    std::int64_t next_id() {
        std::int64_t made = 0;
        detail::check([&](auto* cause) { return dlock_id_generator_next_id(generator_.get(), &made, cause); });
        return made;
    }
    /// The next `count` ids, 1 to DLOCK_BATCH_MAX, in increasing order, not always without gaps.
    [[nodiscard]] std::vector<std::int64_t> next_ids(std::size_t count) {
        // A count that is refused is refused before there is room for it.
        std::vector<std::int64_t> made(count <= DLOCK_BATCH_MAX && count > 0 ? count : 1);
        detail::check(
            [&](auto* cause) { return dlock_id_generator_next_ids(generator_.get(), made.data(), count, cause); });
        return made;
    }
    /// How many ids a block has: what the server said with the last one, and the constructor's before the first. No
    /// I/O.
    [[nodiscard]] std::int64_t block_size() const {
        std::int64_t size = 0;
        detail::check([&](auto* cause) { return dlock_id_generator_block_size(generator_.get(), &size, cause); });
        return size;
    }

    [[nodiscard]] std::string name() const {
        return detail::text<DLOCK_NAME_SIZE>(
            [&](auto... into) { return dlock_id_generator_name(generator_.get(), into...); });
    }
    [[nodiscard]] const dlock_id_generator_t* get() const noexcept { return generator_.get(); }

private:
    detail::owned<dlock_id_generator_t, dlock_id_generator_free> generator_{};
};

} // namespace dlock

#endif
