/*
 * dlock/stop_on_loss.hpp: the loss of a hold as a std::stop_token. Included by dlock.hpp under C++20, where the library
 * has std::jthread.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DLOCK_STOP_ON_LOSS_HPP
#define DLOCK_STOP_ON_LOSS_HPP

#include <version>

#ifdef __cpp_lib_jthread
#include <stop_token>
#include <thread>

#include "../dlock.h"
#include "client.hpp"
#include "held.hpp"

namespace dlock {

/// Requests a stop when a hold is lost. A thread of its own waits for that; the hold's view must live as long as this.
///
///     auto held = orders.held();
///     dlock::stop_on_loss loss{held};
///     work(loss.token());
class stop_on_loss {
public:
    explicit stop_on_loss(const held& hold)
        : thread_([this, held = hold.get()] {
              dlock_loss_t reason = DLOCK_LOSS_NONE;
              const auto status = dlock_held_wait_lost(held, -1, cancel_.get(), &reason, nullptr);
              if (status == DLOCK_OK && reason != DLOCK_LOSS_NONE) source_.request_stop();
          }) {}
    stop_on_loss(const stop_on_loss&) = delete;
    stop_on_loss& operator=(const stop_on_loss&) = delete;
    /// Ends the wait; the thread, the last member, is joined before what it uses goes.
    ~stop_on_loss() { dlock_cancel_fire(cancel_.get(), nullptr); }

    [[nodiscard]] std::stop_token token() const noexcept { return source_.get_token(); }

private:
    cancel_token cancel_{};
    std::stop_source source_{};
    std::jthread thread_;
};

} // namespace dlock
#endif

#endif
