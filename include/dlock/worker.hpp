/*
 * dlock/worker.hpp: worker numbers, leased from a pool, and generators of ids under them. Part of dlock.hpp.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::worker worker{client, "orders"};         // a number that no other process has; given back with the object
 *     dlock::snowflake ids = worker.snowflake();
 *     std::int64_t order = ids.next_id();
 */
#ifndef DLOCK_WORKER_HPP
#define DLOCK_WORKER_HPP

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "../dlock.h"
#include "client.hpp"
#include "detail.hpp"
#include "error.hpp"
#include "hold.hpp"
#include "snowflake.hpp"

namespace dlock {

/// How to lease a worker number.
struct worker_options {
    /// How many bits the numbers of the pool have, 1 to 22, the same for all who use it; at most as many as the
    /// datacenter and the worker of the layout have together.
    std::int64_t bits = DLOCK_WORKER_BITS_DEFAULT;
    /// For how long the number stays taken when this process dies; renewed every third of it. Zero: the client's.
    std::chrono::milliseconds lease{0};
    const cancel_token* cancel = nullptr;
};

namespace detail {

[[nodiscard]] inline dlock_worker_options_t how(const worker_options& options) {
    dlock_worker_options_t how = DLOCK_WORKER_OPTIONS_INIT;
    how.bits = options.bits;
    how.lease_ms = options.lease.count();
    how.cancel = options.cancel != nullptr ? options.cancel->get() : nullptr;
    return how;
}

} // namespace detail

/// A worker number that no other process has as long as it is valid, so ids that are made under it are unique. The
/// client renews its lease. Its end gives the number back, with one round trip, and says nothing if that fails;
/// release() does. Generators made under it make no ids from then on. Released it still says which number it was; moved
/// from it is empty. Any thread may use it.
class worker : private hold {
public:
    /// Leases the lowest free number of the pool. All processes whose ids have to differ use one pool. Throws
    /// dlock::acquire_timeout, without a wait, when all numbers are taken: its retry_after() says when the next may be
    /// free.
    worker(const client& client, std::string_view pool, const worker_options& options = {})
        : worker(hold::from([&](auto** out, auto* cause) {
              const dlock_worker_options_t how = detail::how(options);
              return dlock_worker_lease(client.get(), pool.data(), pool.size(), &how, out, cause);
          })) {}

    /// Takes over a hold of a worker number, as dlock_worker_lease() and ports give it.
    [[nodiscard]] static worker adopt(dlock_held_t* handle) noexcept { return worker{hold::adopt(handle)}; }

    using hold::get;
    using hold::lost;
    using hold::remaining;
    using hold::valid;
    using hold::view;
    using hold::wait_lost;
    /// False when it was moved from.
    using hold::operator bool;

    /// The number, from 0.
    [[nodiscard]] std::int64_t number() const {
        std::int64_t number = 0;
        detail::check([&](auto* cause) { return dlock_worker_number(get(), &number, cause); });
        return number;
    }
    /// How many bits the numbers of its pool have.
    [[nodiscard]] std::int64_t bits() const {
        std::int64_t bits = 0;
        detail::check([&](auto* cause) { return dlock_worker_bits(get(), &bits, cause); });
        return bits;
    }
    /// The name of its pool.
    [[nodiscard]] std::string pool() const {
        return detail::text<DLOCK_NAME_SIZE>([&](auto... into) { return dlock_worker_pool(get(), into...); });
    }
    /// A generator of ids under this number; nothing: of the layout "default". The low bits of the number are the
    /// layout's worker, those above them its datacenter; throws dlock::invalid_argument when it has more bits than
    /// these. Generators of one layout share their state. No I/O.
    ///
    /// Its ids are unique whatever the clocks of the machines do. It throws dlock::lost when the lease is over, also in
    /// the middle of a batch, and dlock::not_held after the release, which the end of this object is.
    [[nodiscard]] dlock::snowflake snowflake(const std::optional<layout>& layout = std::nullopt) const& {
        const auto* how = layout ? &layout->get() : nullptr;
        return dlock::snowflake::from(
            [&](auto** out, auto* cause) { return dlock_worker_snowflake(get(), how, out, cause); });
    }
    /// The number would be given back before the generator's first id.
    dlock::snowflake snowflake(const std::optional<layout>& layout = std::nullopt) && = delete;

    /// Gives the number back now; its generators make no ids from then on. Throws dlock::not_held when it was released
    /// before, or lost.
    void release() {
        detail::check([&](auto* cause) { return dlock_held_release(get(), cause); });
    }
    /// The hold of the number, to keep it among holds of other kinds.
    [[nodiscard]] hold into_hold() && noexcept { return std::move(*this); }

private:
    explicit worker(hold&& leased) noexcept : hold(std::move(leased)) {}
};

} // namespace dlock

#endif
