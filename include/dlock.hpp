/*
 * dlock.hpp: libdlock for C++17, header-only, on top of dlock.h. Link with -ldlock.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 *
 *     dlock::client client{"redis://127.0.0.1:6379"};
 *     dlock::mutex orders{client, "orders"};
 *     std::unique_lock guard{orders};                 // or scoped_lock, try_lock_for, ...
 *     write_to_database(orders.held().token());       // the fencing token
 *
 *     dlock::shared_mutex prices{client, "prices"};
 *     std::shared_lock reading{prices};               // many readers, or one std::unique_lock that writes
 *
 *     dlock::lock_all transfer{client, {"account/7", "account/42"}};
 *     const std::scoped_lock both{transfer};          // all of them or none, without deadlock
 *
 *     dlock::semaphore downloads{client, "downloads", 10};
 *     dlock::hold permit = downloads.take();          // one of at most ten at a time
 *
 *     dlock::latch ready{client, "ready"};
 *     ready.wait();                                   // until others have counted it down
 *
 *     dlock::id_generator ids{client, "orders"};
 *     std::int64_t order = ids.next_id();             // given out once, mostly without asking the server
 *
 *     dlock::bloom_filter seen{client, "seen", 1'000'000, 0.01};
 *     bool fresh = seen.add("ada");                   // false: it may have been added before
 *
 *     dlock::queue mails{client, "mails"};
 *     dlock::delivery job = mails.take();             // a job that is due; job.ack() when it is done
 *
 *     dlock::worker worker{client, "orders"};         // a number that no other process has
 *     std::int64_t id = worker.snowflake().next_id(); // unique, without asking the server
 *
 * A dlock::mutex is held by a thread, like a std::recursive_timed_mutex, but across processes and machines, and only
 * for as long as its lease is renewed: ask held().valid() or wait for held().lost(). Errors are exceptions derived from
 * dlock::error, one type a kind. Every class may be used by several threads at once, moves apart; a dlock::port is
 * dispatched by one thread at a time.
 */
#ifndef DLOCK_HPP
#define DLOCK_HPP

#include "dlock.h"
#include "dlock/bloom_filter.hpp"
#include "dlock/client.hpp"
#include "dlock/consumer.hpp"
#include "dlock/counting_semaphore.hpp"
#include "dlock/delivery.hpp"
#include "dlock/error.hpp"
#include "dlock/held.hpp"
#include "dlock/hold.hpp"
#include "dlock/id_generator.hpp"
#include "dlock/latch.hpp"
#include "dlock/lock_all.hpp"
#include "dlock/lockable.hpp"
#include "dlock/mutex.hpp"
#include "dlock/port.hpp"
#include "dlock/queue.hpp"
#include "dlock/rate_limiter.hpp"
#include "dlock/semaphore.hpp"
#include "dlock/shared_mutex.hpp"
#include "dlock/snowflake.hpp"
#include "dlock/stats.hpp"
#include "dlock/worker.hpp"
#if __cplusplus >= 202002L
#include "dlock/stop_on_loss.hpp"
#endif

namespace dlock {

/// Ends libdlock in this process; see dlock_shutdown(). Objects may be destroyed afterwards; any other call of theirs
/// throws dlock::closed. A new client or port starts the library again. False when a call of another thread has not
/// ended after 5 s, or the system refuses what the end needs: call it again. Throws nothing, as atexit handlers need
/// it.
inline bool shutdown() noexcept { return dlock_shutdown(nullptr) == DLOCK_OK; }

} // namespace dlock

#endif
