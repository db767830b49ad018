// dlock.hpp under C++17: what the standard's lock guards ask of a mutex, and exceptions by kind.
#include "check.h"

#include <dlock.hpp>

#include <future>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

using namespace std::chrono_literals;

namespace {

template <class T, class = void> struct is_basic_lockable : std::false_type {};
template <class T>
struct is_basic_lockable<T, std::void_t<decltype(std::declval<T&>().lock()), decltype(std::declval<T&>().unlock())>>
    : std::is_same<decltype(std::declval<T&>().unlock()), void> {};
template <class T, class = void> struct is_lockable : std::false_type {};
template <class T>
struct is_lockable<T, std::void_t<decltype(bool{std::declval<T&>().try_lock()})>> : is_basic_lockable<T> {};
template <class T, class = void> struct is_timed_lockable : std::false_type {};
template <class T>
struct is_timed_lockable<
    T, std::void_t<decltype(bool{std::declval<T&>().try_lock_for(1ms)}),
                   decltype(bool{std::declval<T&>().try_lock_until(std::chrono::steady_clock::now())})>>
    : is_lockable<T> {};

static_assert(is_lockable<dlock::mutex>::value, "Lockable");
static_assert(is_timed_lockable<dlock::mutex>::value, "TimedLockable");
static_assert(is_timed_lockable<std::recursive_timed_mutex>::value && !is_timed_lockable<std::mutex>::value,
              "the assertions above can tell");
static_assert(noexcept(std::declval<dlock::mutex&>().unlock()), "guards need it");
template <class T>
constexpr bool move_only = std::is_nothrow_move_constructible_v<T>&& std::is_move_assignable_v<T> &&
                           !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;
static_assert(move_only<dlock::client> && move_only<dlock::mutex> && move_only<dlock::held> &&
              move_only<dlock::cancel_token>);
static_assert(std::is_base_of_v<std::runtime_error, dlock::error> && std::is_base_of_v<dlock::error, dlock::not_held> &&
              !std::is_same_v<dlock::not_held, dlock::closed>);

dlock::client& shared_client() {
    static dlock::client client{server_url()};
    return client;
}

dlock::mutex make_mutex(const char* what, const dlock::mutex_options& options = {}) {
    return {shared_client(), std::string("cpp/") + check_case + "/" + what, options};
}

template <class Error, class Call> Error thrown(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    check_failed(__FILE__, __LINE__, "the right exception", nullptr);
    std::abort();
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
    (void)thrown<dlock::invalid_argument>([&] { CHECK(mutex.try_lock_for(48h)); });
    (void)thrown<dlock::invalid_argument>([&] { CHECK(mutex.try_lock_for(std::chrono::hours::max() - 1h)); });
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
    auto held = mutex.acquire({std::nullopt, 300ms, nullptr});
    CHECK(!held.wait_lost(1ms));
    (void)thrown<dlock::invalid_argument>([&] { (void)held.wait_lost(48h); });
    CHECK(held.wait_lost() == dlock::loss::expired && held.lost() == dlock::loss::expired);
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
    dlock::stats seen = client.stats();
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

} // namespace

int main() {
    RUN(a_unique_lock_holds_for_its_scope);
    RUN(a_scoped_lock_takes_two_without_deadlock);
    RUN(timed_tries_end_in_time);
    RUN(errors_are_exceptions_of_their_kind);
    RUN(a_hold_can_be_adopted_extended_and_handed_over);
    RUN(a_loss_is_told);
    RUN(a_cancel_token_ends_a_wait);
    RUN(a_client_counts);
    RUN(owners_move);
    shared_client().close();
}
