// dlock.hpp under C++17: what the standard's lock guards ask of a mutex, and exceptions by kind.
#include "check.hpp"

#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

static_assert(is_lockable<dlock::mutex>::value, "Lockable");
static_assert(is_timed_lockable<dlock::mutex>::value, "TimedLockable");
static_assert(is_timed_lockable<std::recursive_timed_mutex>::value && !is_timed_lockable<std::mutex>::value,
              "the assertions above can tell");
static_assert(noexcept(std::declval<dlock::mutex&>().unlock()), "guards need it");
static_assert(move_only<dlock::client> && move_only<dlock::mutex> && move_only<dlock::held> && move_only<dlock::hold> &&
              move_only<dlock::port> && move_only<dlock::cancel_token>);
static_assert(std::is_base_of_v<std::runtime_error, dlock::error> && std::is_base_of_v<dlock::error, dlock::not_held> &&
              !std::is_same_v<dlock::not_held, dlock::closed>);

dlock::mutex make_mutex(const char* what, const dlock::mutex_options& options = {}) {
    return {shared_client(), std::string("cpp/") + check_case + "/" + what, options};
}

bool free_for_others(dlock::mutex& mutex) {
    return std::async(std::launch::async,
                      [&] {
                          const bool got = mutex.try_lock();
                          if (got) mutex.unlock();
                          return got;
                      })
        .get();
}

void a_unique_lock_holds_for_its_scope() {
    auto mutex = make_mutex("m");
    {
        std::unique_lock guard{mutex};
        CHECK(mutex.held().valid() && mutex.held().token() > 0 && !mutex.held().lost());
        CHECK(mutex.held().remaining() > 0ms && mutex.hold_count() == 1);
        CHECK(!free_for_others(mutex));
        auto seen = mutex.inspect();
        CHECK(seen.ours && seen.holder == mutex.held().owner() && seen.token == mutex.held().token() && seen.ttl > 0ms);
    }
    CHECK(free_for_others(mutex));
    CHECK(!mutex.inspect().holder && !mutex.locked());
}

void a_scoped_lock_takes_two_without_deadlock() {
    auto one = make_mutex("one"), two = make_mutex("two");
    auto work = [](dlock::mutex& first, dlock::mutex& second) {
        for (int i = 0; i < 20; i++) {
            std::scoped_lock guard{first, second};
            CHECK(first.hold_count() == 1 && second.hold_count() == 1);
        }
    };
    std::thread other{[&] { work(two, one); }};
    work(one, two);
    other.join();
    CHECK(free_for_others(one) && free_for_others(two));
}

void the_standard_lock_functions_meet_an_owned_mutex() {
    auto own = make_mutex("own", {0ms, false}), other = make_mutex("other", {0ms, false});
    std::unique_lock guard{own};
    CHECK(!own.try_lock() && !own.try_lock_for(10s) && !own.try_lock_until(std::chrono::steady_clock::now() + 10s));
    CHECK(!own.try_lock_for(std::chrono::hours::max()) &&
          !own.try_lock_until(std::chrono::steady_clock::time_point::max()));
    CHECK(std::try_lock(other, own) == 1 && free_for_others(other));
    // A mutex that one holds cannot be waited for; all that was taken is given back.
    (void)thrown<dlock::deadlock>([&] { std::lock(other, own); });
    (void)thrown<dlock::deadlock>([&] { std::lock(own, other); });
    CHECK(free_for_others(other) && own.hold_count() == 1);
    // One that another thread holds is.
    auto both = std::async(std::launch::async, [&] {
        std::scoped_lock taken{other, own};
        return own.hold_count() == 1 && other.hold_count() == 1;
    });
    CHECK(both.wait_for(50ms) == std::future_status::timeout);
    guard.unlock();
    CHECK(both.get());
}

void a_hold_belongs_to_its_object_and_to_no_thread() {
    auto mutex = make_mutex("m");
    dlock::hold hold = mutex.take();
    CHECK(hold && hold.valid() && hold.token() > 0 && mutex.hold_count() == 0);
    CHECK(!mutex.try_take() && !mutex.try_take_for(20ms) && !mutex.try_lock());
    (void)thrown<dlock::acquire_timeout>([&] { (void)mutex.take({20ms, 0ms, nullptr}); });
    hold.extend(1min);
    CHECK(hold.remaining() > 40s);
    std::thread([&, moved = std::move(hold)]() mutable { moved.release(); }).join();
    CHECK(!hold && free_for_others(mutex)); // NOLINT: moved from is empty
    {
        auto taken = mutex.try_take();
        CHECK(taken && !free_for_others(mutex));
        *taken = dlock::hold::adopt(nullptr); // what was in it is released
        CHECK(free_for_others(mutex));
        taken = mutex.try_take();
        CHECK(taken);
    }
    CHECK(free_for_others(mutex));
    auto lost = mutex.take({std::nullopt, 300ms, nullptr});
    CHECK(lost.wait_lost(10s) == dlock::loss::expired);
    (void)thrown<dlock::not_held>([&] { lost.release(); });
    std::string text = mutex.take().detach();
    mutex.attach(text);
    mutex.unlock();
}

void extend_only_prolongs_and_asks_the_server() {
    auto mutex = make_mutex("m");
    auto held = mutex.acquire({std::nullopt, 1min, nullptr});
    mutex.extend(2min);
    CHECK(held.remaining() > 90s && mutex.inspect().ttl > 90s);
    mutex.extend(1s);
    CHECK(held.remaining() > 90s && mutex.inspect().ttl > 90s);
    dlock::client operator_client{server_url()};
    CHECK((dlock::mutex{operator_client, mutex.name()}.force_release()));
    (void)thrown<dlock::not_held>([&] { mutex.extend(1s); });
}

void errors_carry_facts() {
    auto mutex = make_mutex("m");
    std::unique_lock guard{mutex};
    dlock::client other_client{server_url()};
    dlock::mutex other{other_client, mutex.name()};
    const auto busy = thrown<dlock::acquire_timeout>([&] { other.acquire({0ms, 0ms, nullptr}); });
    CHECK(busy.holder() == mutex.held().owner() && busy.retryable());
    CHECK(busy.remaining() > 20s && busy.remaining() <= 30s && !busy.retry_after() && busy.allowed().empty());
    const auto refused = thrown<dlock::invalid_argument>([&] { make_mutex("n", {5ms}); });
    CHECK(refused.allowed() == "100 ms to 24 h" && !refused.retryable() && !refused.remaining());
    const auto away = thrown<dlock::connection_failed>([&] { dlock::client{"redis://127.0.0.1:1"}; });
    const auto wrong = thrown<dlock::connection_failed>(
        [&] { dlock::client{std::string(server_url()) + separator() + "user=nobody&password=wrong"}; });
    CHECK(away.retryable() && !wrong.retryable());
}

void families_catch_their_kinds() {
    auto mutex = make_mutex("m");
    (void)thrown<dlock::hold_ended>([&] { mutex.release(); });
    (void)thrown<dlock::usage_error>([&] { make_mutex("n", {5ms}); });
    (void)thrown<dlock::unavailable>([&] { dlock::client{"redis://127.0.0.1:1", {{{"connect_timeout", "300ms"}}}}; });
    static_assert(!std::is_base_of_v<dlock::usage_error, dlock::acquire_timeout>);
    static_assert(std::is_base_of_v<dlock::unavailable, dlock::no_permission>);
}

void timed_tries_end_in_time() {
    auto mutex = make_mutex("m");
    CHECK(mutex.try_lock_for(1s));
    std::thread other{[&] {
        const auto begun = now_ms();
        CHECK(!mutex.try_lock_for(50ms));
        CHECK(!mutex.try_lock_until(std::chrono::system_clock::now() + 50ms));
        CHECK(!mutex.try_lock_for(-1h) && !mutex.try_lock_until(std::chrono::steady_clock::time_point::min()));
        CHECK(now_ms() - begun >= 100 && now_ms() - begun < bound_ms(300));
    }};
    other.join();
    // As long as the caller likes.
    CHECK(mutex.try_lock_for(48h));
    CHECK(mutex.try_lock_for(std::chrono::hours::max() - 1h));
    CHECK(mutex.hold_count() == 3);
    mutex.unlock(), mutex.unlock();
    (void)thrown<dlock::invalid_argument>([&] { mutex.acquire({-1ms, 0ms, nullptr}); });
    (void)thrown<dlock::invalid_argument>([&] { mutex.acquire({-5ms, 0ms, nullptr}); });
    mutex.unlock();
    // For ever, as the standard library says it.
    CHECK(mutex.try_lock_for(std::chrono::hours::max()));
    CHECK(mutex.try_lock_until(std::chrono::steady_clock::time_point::max()));
    CHECK(mutex.try_lock_for(std::chrono::duration<double>::max()));
    CHECK(mutex.hold_count() == 3);
    mutex.unlock(), mutex.unlock(), mutex.unlock();
    std::unique_lock guard{mutex, 1s};
    CHECK(guard.owns_lock());
}

void errors_are_exceptions_of_their_kind() {
    auto mutex = make_mutex("m", {0ms, false});
    auto error = thrown<dlock::not_held>([&] { mutex.release(); });
    CHECK(error.code() == DLOCK_NOT_HELD && std::string(error.kind()) == "NOT_HELD" && error.op() == "release");
    CHECK(error.name() == mutex.name() && std::string(error.what()).find(mutex.name()) != std::string::npos);
    mutex.unlock(); // says nothing
    std::unique_lock guard{mutex};
    (void)thrown<dlock::deadlock>([&] { mutex.lock(); });
    (void)thrown<dlock::error>([&] { mutex.lock(); });
    (void)thrown<dlock::invalid_name>([&] { dlock::mutex bad{shared_client(), "a{"}; });
    (void)thrown<dlock::connection_failed>([] { dlock::client none{"redis://127.0.0.1:1"}; });
    (void)thrown<dlock::acquire_timeout>([&] {
        std::async(std::launch::async, [&] { mutex.acquire({20ms, 0ms, nullptr}); }).get();
    });
    dlock::client other{server_url()};
    dlock::mutex theirs{other, "cpp/closed"};
    CHECK(!other.is_closed());
    other.close();
    CHECK(other.is_closed());
    (void)thrown<dlock::closed>([&] { theirs.lock(); });
}

void a_hold_can_be_adopted_extended_and_handed_over() {
    auto mutex = make_mutex("m");
    auto held = mutex.acquire({1s, 5s, nullptr});
    std::unique_lock guard{mutex, std::adopt_lock};
    mutex.extend(1min);
    CHECK(held.remaining() > 30s);
    guard.release();
    const auto text = mutex.detach();
    std::thread other{[&] {
        auto taken = mutex.attach(text);
        CHECK(taken.token() >= held.token());
        mutex.release();
    }};
    other.join();
    CHECK(free_for_others(mutex));
}

void a_loss_is_told() {
    auto mutex = make_mutex("m");
    auto held = mutex.acquire({std::nullopt, std::chrono::milliseconds{lease_ms(300)}, nullptr});
    CHECK(!held.wait_lost(1ms));
    CHECK(held.wait_lost(48h) == dlock::loss::expired && held.lost() == dlock::loss::expired);
    CHECK(held.wait_lost() == dlock::loss::expired);
    (void)thrown<dlock::not_held>([&] { mutex.release(); });
}

void a_cancel_token_ends_a_wait() {
    auto mutex = make_mutex("m");
    std::unique_lock guard{mutex};
    dlock::cancel_token cancel;
    auto waiter = std::async(std::launch::async, [&] { mutex.acquire({std::nullopt, 0ms, &cancel}); });
    cancel.fire();
    (void)thrown<dlock::cancelled>([&] { waiter.get(); });
}

void a_client_counts() {
    dlock::client client{server_url()};
    dlock::mutex mutex{client, std::string("cpp/") + check_case};
    { std::unique_lock guard{mutex}; }
    dlock::lock_stats seen = client.stats().lock;
    CHECK(seen.acquired == 1 && seen.released == 1 && seen.held == 0 && seen.contended == 0);
    CHECK(seen.wait_time.count == 1 && seen.wait_time.sum == seen.wait_time.max);
    CHECK(seen.wait_time.max >= seen.wait_time.p50);
    std::uint64_t counted = 0;
    for (std::uint64_t each : seen.hold_time.buckets) counted += each;
    CHECK(counted == 1 && seen.hold_time.buckets.size() == DLOCK_HISTOGRAM_BUCKETS);
    CHECK(mutex.inspect().queued == 0);
}

void owners_move() {
    dlock::client first{server_url(), {{{"lease", "10s"}, {"client_name", "cpp17"}}, nullptr, nullptr}};
    dlock::client second = std::move(first);
    std::vector<dlock::mutex> mutexes;
    for (int i = 0; i < 5; i++) mutexes.emplace_back(second, "cpp/moved/" + std::to_string(i));
    second = dlock::client{server_url()}; // the mutexes keep the first client alive
    for (auto& mutex : mutexes) std::unique_lock guard{mutex};
    CHECK(mutexes[3].name() == "cpp/moved/3");
}

// The last case: static objects are still there, and are destroyed later.
void objects_outlive_a_shutdown() {
    dlock::port port;
    dlock::client client{server_url()};
    dlock::mutex mutex{client, "cpp/shutdown"};
    auto hold = mutex.take();
    static_assert(noexcept(dlock::shutdown()), "atexit handlers need it");
    CHECK(dlock::shutdown() && dlock::shutdown());
    (void)thrown<dlock::closed>([&] { mutex.lock(); });
    (void)thrown<dlock::closed>([&] { hold.release(); });
    (void)thrown<dlock::closed>([&] { port.acquire(mutex).then([](dlock::result<dlock::hold>) {}); });
    dlock::client again{"memory://"};
    dlock::mutex fresh{again, "cpp/shutdown"};
    CHECK(fresh.try_lock());
    (void)thrown<dlock::closed>([&] { mutex.lock(); });
    mutex.unlock();
    fresh.release();
}

} // namespace

int main() {
    RUN(a_unique_lock_holds_for_its_scope);
    RUN(a_scoped_lock_takes_two_without_deadlock);
    RUN(the_standard_lock_functions_meet_an_owned_mutex);
    RUN(a_hold_belongs_to_its_object_and_to_no_thread);
    RUN(extend_only_prolongs_and_asks_the_server);
    RUN(timed_tries_end_in_time);
    RUN(errors_carry_facts);
    RUN(families_catch_their_kinds);
    RUN(errors_are_exceptions_of_their_kind);
    RUN(a_hold_can_be_adopted_extended_and_handed_over);
    RUN(a_loss_is_told);
    RUN(a_cancel_token_ends_a_wait);
    RUN(a_client_counts);
    RUN(owners_move);
    shared_client().close();
    RUN(objects_outlive_a_shutdown);
}
