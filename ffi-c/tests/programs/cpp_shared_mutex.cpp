// dlock::shared_mutex under C++17: the verbs of the standard's for its guards, holds that are objects, a writer that
// goes on as a reader.
#include "check.hpp"

#include <mutex>
#include <shared_mutex>
#include <thread>

namespace {

static_assert(is_timed_lockable<dlock::shared_mutex>::value, "TimedLockable");
static_assert(is_shared_timed_lockable<dlock::shared_mutex>::value, "SharedTimedLockable");
static_assert(is_shared_timed_lockable<std::shared_timed_mutex>::value &&
                  !is_shared_timed_lockable<std::shared_mutex>::value && is_shared_lockable<std::shared_mutex>::value &&
                  !is_shared_lockable<dlock::mutex>::value,
              "the assertions above can tell");
static_assert(noexcept(std::declval<dlock::shared_mutex&>().unlock()) && noexcept(
                  std::declval<dlock::shared_mutex&>().unlock_shared()),
              "guards need it");
static_assert(move_only<dlock::shared_mutex> && !std::is_default_constructible_v<dlock::shared_mutex>);

dlock::shared_mutex make(const char* what, const dlock::shared_mutex_options& options = {},
                         const dlock::client& client = shared_client()) {
    return {client, std::string("cpp/shared_mutex/") + check_case + "/" + what, options};
}

bool others_may_read(dlock::shared_mutex& mutex) {
    return elsewhere([&] { return std::shared_lock{mutex, std::try_to_lock}.owns_lock(); });
}
bool others_may_write(dlock::shared_mutex& mutex) {
    return elsewhere([&] { return std::unique_lock{mutex, std::try_to_lock}.owns_lock(); });
}
bool is_free(const dlock::shared_mutex& mutex) {
    const auto seen = mutex.inspect();
    return !seen.writer && seen.readers == 0 && !seen.ttl;
}

void the_standards_guards_hold_for_their_scope() {
    auto mutex = make("m");
    {
        std::shared_lock reading{mutex};
        CHECK(mutex.held_shared().valid() && mutex.held_shared().token() > 0 && mutex.hold_count_shared() == 1);
        CHECK(mutex.hold_count() == 0 && others_may_read(mutex) && !others_may_write(mutex));
        CHECK(mutex.inspect().readers == 1 && mutex.inspect().ttl > 20s && !mutex.inspect().writer);
        (void)thrown<dlock::not_held>([&] { (void)mutex.held(); });
    }
    CHECK(others_may_write(mutex));
    {
        std::unique_lock writing{mutex};
        const auto seen = mutex.inspect();
        CHECK(seen.writer == mutex.held().owner() && seen.ours && seen.token == mutex.held().token());
        CHECK(seen.readers == 0 && seen.queued == 0 && !others_may_read(mutex) && !others_may_write(mutex));
        mutex.extend(1min);
        CHECK(mutex.held().remaining() > 40s);
    }
    {
        const std::lock_guard writing{mutex};
        CHECK(!others_may_read(mutex));
    }
    {
        std::shared_lock reading{mutex, 1s};
        CHECK(reading);
        mutex.extend_shared(1min);
        CHECK(mutex.held_shared().remaining() > 40s);
    }
    CHECK(is_free(mutex) && mutex.name().find("guards_hold") != std::string::npos);
}

void a_scoped_lock_takes_both_kinds_without_deadlock() {
    auto prices = make("prices"), rates = make("rates");
    dlock::mutex orders{shared_client(), std::string("cpp/shared_mutex/orders/") + check_case};
    const auto work = [&](dlock::shared_mutex& first, dlock::shared_mutex& second) {
        for (int i = 0; i < 10; i++) {
            const std::scoped_lock all{first, orders, second};
            CHECK(first.hold_count() == 1 && second.hold_count() == 1 && orders.hold_count() == 1);
        }
    };
    std::thread other{[&] { work(rates, prices); }};
    work(prices, rates);
    other.join();
    // The read side of one with another lock, in whatever order.
    std::shared_lock reading{prices, std::defer_lock};
    std::unique_lock ordering{orders, std::defer_lock};
    std::lock(ordering, reading);
    CHECK(prices.hold_count_shared() == 1 && orders.hold_count() == 1);
}

void a_thread_meets_what_it_holds_itself() {
    auto mutex = make("m");
    std::shared_lock reading{mutex};
    // What it cannot wait for, as std::lock needs it; and never for as long as it was told.
    CHECK(!mutex.try_lock() && !mutex.try_lock_for(10s) && !mutex.try_lock_for(std::chrono::hours::max()));
    CHECK(!mutex.try_lock_until(std::chrono::steady_clock::time_point::max()));
    const auto refused = thrown<dlock::deadlock>([&] { mutex.lock(); });
    CHECK(says(refused, "release the read side first") && refused.name() == mutex.name());
    mutex.lock_shared(); // again, as the standard's cannot
    CHECK(mutex.hold_count_shared() == 2);
    mutex.unlock_shared();
    reading.unlock();
    std::unique_lock writing{mutex};
    mutex.lock();
    CHECK(mutex.hold_count() == 2 && mutex.try_lock_shared() && mutex.hold_count_shared() == 1);
    mutex.unlock_shared();
    mutex.unlock();
    writing.unlock();
    CHECK(is_free(mutex));
    auto strict = make("strict", {0ms, false, 0ms, std::nullopt});
    reading = std::shared_lock{strict};
    CHECK(!strict.try_lock_shared());
    (void)thrown<dlock::deadlock>([&] { strict.lock_shared(); });
}

void a_writer_goes_on_as_a_reader() {
    auto mutex = make("m");
    (void)thrown<dlock::not_held>([&] { (void)mutex.downgrade(); });
    mutex.lock();
    const auto written = mutex.held().token();
    auto waiting = std::async(std::launch::async, [&] {
        std::shared_lock reading{mutex};
        return mutex.held_shared().token();
    });
    while (shared_client().stats().rw_lock.waiting == 0) std::this_thread::yield();
    const auto held = mutex.downgrade();
    {
        const std::shared_lock reading{mutex, std::adopt_lock};
        CHECK(held.valid() && held.token() > written && mutex.hold_count() == 0 && mutex.hold_count_shared() == 1);
        CHECK(waiting.get() > written && !others_may_write(mutex));
    }
    CHECK(!held.valid() && is_free(mutex));
    auto taken = mutex.take();
    const auto token = taken.token();
    taken.downgrade();
    CHECK(taken.valid() && taken.token() > token && mutex.inspect().readers == 1);
    (void)thrown<dlock::invalid_argument>([&] { taken.downgrade(); });
    CHECK(taken.valid() && !others_may_write(mutex));
    taken.release();
    CHECK(is_free(mutex));
    taken = mutex.take({std::nullopt, 300ms, nullptr});
    CHECK(taken.wait_lost(10s) == dlock::loss::expired);
    (void)thrown<dlock::hold_ended>([&] { taken.downgrade(); });
    CHECK(mutex.try_lock_for(10s) && mutex.hold_count_shared() == 0); // when the lease has run out
    mutex.unlock();
}

void a_hold_belongs_to_its_object_and_to_no_thread() {
    auto mutex = make("m");
    dlock::hold first = mutex.take_shared();
    auto second = mutex.try_take_shared();
    CHECK(first && second && first.token() > 0 && first.permits().empty() && mutex.hold_count_shared() == 0);
    CHECK(!mutex.try_take() && !mutex.try_take_for(300ms) && !mutex.try_lock_for(300ms));
    (void)thrown<dlock::acquire_timeout>([&] { (void)mutex.take({300ms, 0ms, nullptr}); });
    (void)thrown<dlock::not_held>([&] { mutex.release_shared(); });
    (void)thrown<dlock::invalid_argument>([&] { (void)first.detach(); });
    first.extend(1min);
    CHECK(first && first.remaining() > 40s);
    std::thread([moved = std::move(first)]() mutable { moved.release(); }).join();
    second.reset();
    CHECK(is_free(mutex));
    {
        const auto writing = mutex.take();
        CHECK(!mutex.try_take_shared_for(300ms) && mutex.inspect().writer == writing.owner());
        (void)thrown<dlock::acquire_timeout>([&] { (void)mutex.acquire_shared({300ms, 0ms, nullptr}); });
    }
    const auto held = mutex.acquire_shared({1s, 5s, nullptr});
    CHECK(held.remaining() <= 5s);
    mutex.release_shared();
    CHECK(is_free(mutex));
    (void)thrown<dlock::not_held>([&] { mutex.release(); });
}

void timed_tries_end_in_time() {
    auto mutex = make("m");
    const auto holding = mutex.take();
    const auto begun = now_ms();
    CHECK(!mutex.try_lock_shared_for(50ms) && !mutex.try_lock_for(50ms));
    CHECK(!mutex.try_lock_shared_until(std::chrono::system_clock::now() + 50ms));
    CHECK(!mutex.try_lock_shared_for(-1h) && !mutex.try_lock_until(std::chrono::steady_clock::time_point::min()));
    CHECK(!mutex.try_lock_shared_until(std::chrono::steady_clock::time_point::min()));
    CHECK(now_ms() - begun >= 150 && now_ms() - begun < bound_ms(450));
    auto free = make("free");
    CHECK(free.try_lock_shared_for(std::chrono::hours::max()) && free.try_lock_shared_for(48h));
    CHECK(free.try_lock_shared_until(std::chrono::steady_clock::time_point::max()) && free.hold_count_shared() == 3);
    for (int i = 0; i < 3; i++) free.unlock_shared();
    CHECK(is_free(free));
    (void)thrown<dlock::invalid_argument>([&] { (void)free.acquire_shared({-1ms, 0ms, nullptr}); });
}

void options_are_those_of_both_sides() {
    auto brief = make("brief", {300ms, std::nullopt, 0ms, std::nullopt});
    const auto read = brief.acquire_shared();
    CHECK(read.wait_lost(48h) == dlock::loss::expired);
    (void)thrown<dlock::not_held>([&] { brief.release_shared(); });
    auto taken = brief.take();
    CHECK(taken.wait_lost(10s) == dlock::loss::expired);
    (void)thrown<dlock::not_held>([&] { taken.release(); });
    brief.lock();
    CHECK(brief.held().wait_lost(10s) == dlock::loss::expired);
    (void)thrown<dlock::lock_lost>([&] { brief.lock_shared(); }); // told once, whichever side asks

    auto shared = make("shared", {0ms, std::nullopt, 0ms, 10s}), each = make("each", {0ms, std::nullopt, 0ms, 0ms});
    const auto token = [](dlock::shared_mutex& of) {
        return elsewhere([&] {
            const std::shared_lock reading{of};
            return of.held_shared().token();
        });
    };
    const std::shared_lock first{shared}, second{each};
    CHECK(token(shared) == shared.held_shared().token() && token(each) > each.held_shared().token());

    const auto refused = thrown<dlock::invalid_argument>([] { (void)make("x", {0ms, {}, 0ms, 11s}); });
    CHECK(refused.allowed() == "0 to 10 s");
    (void)thrown<dlock::invalid_argument>([] { (void)make("x", {0ms, {}, 0ms, -1ms}); });
    (void)thrown<dlock::invalid_argument>([] { (void)make("x", {1s, {}, 1s, {}}); });
    (void)thrown<dlock::invalid_name>([] { (void)dlock::shared_mutex(shared_client(), "a{"); });
}

void a_cancel_token_ends_a_wait_for_either_side() {
    auto mutex = make("m");
    dlock::cancel_token cancel;
    const auto holding = mutex.take();
    auto writer = std::async(std::launch::async, [&] { (void)mutex.acquire({std::nullopt, 0ms, &cancel}); });
    auto reader = std::async(std::launch::async, [&] { (void)mutex.take_shared({std::nullopt, 0ms, &cancel}); });
    cancel.fire();
    (void)thrown<dlock::cancelled>([&] { writer.get(); });
    (void)thrown<dlock::cancelled>([&] { reader.get(); });
    // The places in the queue go in the background.
    for (const auto until = now_ms() + 30000; mutex.inspect().queued != 0;) CHECK(now_ms() < until);
}

void a_forced_release_ends_every_hold() {
    dlock::client client{server_url()};
    auto mutex = make("m"), theirs = make("m", {}, client);
    CHECK(!mutex.force_release());
    const auto held = theirs.acquire_shared();
    const auto taken = theirs.take_shared();
    CHECK(mutex.force_release() && is_free(mutex));
    CHECK(held.wait_lost(10s) == dlock::loss::deleted && taken.wait_lost(10s) == dlock::loss::deleted);
    (void)thrown<dlock::not_held>([&] { theirs.release_shared(); });
}

void a_client_counts() {
    dlock::client client{server_url()};
    auto mutex = make("m", {}, client);
    { const auto hold = mutex.take_shared(); }
    mutex.lock();
    mutex.unlock();
    const dlock::stats seen = client.stats();
    CHECK(seen.rw_lock.acquired == 2 && seen.rw_lock.released == 2 && seen.rw_lock.held == 0);
    CHECK(seen.rw_lock.wait_time.count == 2 && seen.rw_lock.hold_time.count == 2 && seen.lock.acquired == 0);
    client.close();
    (void)thrown<dlock::closed>([&] { mutex.lock_shared(); });
}

void callbacks_get_sides() {
    auto mutex = make("m");
    dlock::port port;
    std::optional<dlock::hold> first, second;
    int refused = 0;
    port.acquire_shared(mutex).then([&](dlock::result<dlock::hold> got) {
        first.emplace(got.get());
        port.try_acquire_shared(mutex).then([&](dlock::result<std::optional<dlock::hold>> more) {
            second = more.get();
            port.try_acquire(mutex, 300ms).then([&](dlock::result<std::optional<dlock::hold>> none) {
                refused += !none.get();
            });
            port.acquire(mutex, {300ms, 0ms, nullptr}).then([&](const dlock::result<dlock::hold>& late) {
                refused += late.status() == DLOCK_BUSY;
            });
        });
    });
    port.run();
    CHECK(first && second && first->token() > 0 && refused == 2 && mutex.inspect().readers > 0);
    port.release(*std::move(first)).then([](dlock::result<void> done) { done.get(); });
    port.release(*std::move(second)).then([](dlock::result<void> done) { done.get(); });
    port.run();
    CHECK(is_free(mutex));
    port.acquire(mutex).then([&](dlock::result<dlock::hold> got) { first = got.get(); });
    port.run();
    CHECK(first && mutex.inspect().writer == first->owner());
    port.downgrade(*first).then([&](dlock::result<dlock::hold> got) { second = got.get(); });
    port.run();
    CHECK(second && second->valid() && !first->valid() && mutex.inspect().readers == 1);
}

} // namespace

int main() {
    RUN(the_standards_guards_hold_for_their_scope);
    RUN(a_scoped_lock_takes_both_kinds_without_deadlock);
    RUN(a_thread_meets_what_it_holds_itself);
    RUN(a_writer_goes_on_as_a_reader);
    RUN(a_hold_belongs_to_its_object_and_to_no_thread);
    RUN(timed_tries_end_in_time);
    RUN(options_are_those_of_both_sides);
    RUN(a_cancel_token_ends_a_wait_for_either_side);
    RUN(a_forced_release_ends_every_hold);
    RUN(a_client_counts);
    RUN(callbacks_get_sides);
}
