// dlock::lock_all under C++17: the standard's guards over several locks, tokens of each, holds that are objects, a lost
// lock that is named.
#include "check.hpp"

#include <list>
#include <mutex>
#include <set>
#include <thread>

namespace {

static_assert(is_timed_lockable<dlock::lock_all>::value, "TimedLockable");
static_assert(!is_shared_lockable<dlock::lock_all>::value);
static_assert(noexcept(std::declval<dlock::lock_all&>().unlock()), "guards need it");
static_assert(move_only<dlock::lock_all> && !std::is_default_constructible_v<dlock::lock_all>);
static_assert(std::is_constructible_v<dlock::lock_all, dlock::client&, std::vector<std::string>> &&
              std::is_constructible_v<dlock::lock_all, dlock::client&, std::list<const char*>> &&
              std::is_constructible_v<dlock::lock_all, dlock::client&, std::set<std::string_view>> &&
              !std::is_constructible_v<dlock::lock_all, dlock::client&, std::string> &&
              !std::is_constructible_v<dlock::lock_all, dlock::client&, std::vector<int>>);

std::string name(std::string_view of) { return std::string("cpp/lock_all/") + check_case + "/" + std::string(of); }
dlock::mutex one(std::string_view of, const dlock::client& client = shared_client()) { return {client, name(of)}; }
dlock::lock_all make(const std::vector<const char*>& of, const dlock::mutex_options& options = {},
                     const dlock::client& client = shared_client()) {
    std::vector<std::string> names;
    for (const auto* each : of) names.push_back(name(each));
    return {client, names, options};
}

bool others_may_lock(dlock::lock_all& set) {
    return elsewhere([&] { return std::unique_lock{set, std::try_to_lock}.owns_lock(); });
}
void await_free(const dlock::mutex& lock) {
    for (const auto until = now_ms() + 30000; lock.locked() || lock.inspect().queued != 0;) CHECK(now_ms() < until);
}

void the_standards_guards_hold_for_their_scope() {
    auto set = make({"b", "a", "b"});
    const auto a = one("a"), b = one("b");
    CHECK(set.names() == (std::vector{name("a"), name("b")}));
    (void)thrown<dlock::not_held>([&] { (void)set.tokens(); });
    {
        std::unique_lock guard{set};
        const auto tokens = set.tokens();
        CHECK(tokens.size() == 2 && tokens[0].first == name("a") && tokens[1].first == name("b"));
        CHECK(tokens[0].second == a.inspect().token && tokens[1].second == b.inspect().token);
        const auto held = set.held();
        CHECK(held.valid() && held.token() == 0 && held.owner().empty() && held.token(name("b")) == tokens[1].second);
        CHECK(!held.lost() && !held.lost_name() && held.permits().empty() && !others_may_lock(set));
        const auto refused = thrown<dlock::invalid_argument>([&] { (void)held.token("other"); });
        CHECK(says(refused, name("a")) && set.hold_count() == 1);
        set.extend(1min);
        CHECK(held.remaining() > 40s);
    }
    CHECK(!a.locked() && !b.locked());
    {
        dlock::mutex other = one("c");
        const std::scoped_lock all{other, set};
        CHECK(other.hold_count() == 1 && set.hold_count() == 1);
    }
    {
        std::unique_lock guard{set, 1s};
        CHECK(guard);
        set.lock(); // again
        CHECK(set.hold_count() == 2 && set.try_lock() && set.hold_count() == 3);
        set.unlock();
        set.unlock();
    }
    CHECK(!a.locked() && others_may_lock(set));
    const dlock::lock_all views{shared_client(), {"x", "y"}};
    CHECK(views.names() == (std::vector<std::string>{"x", "y"}));
}

void what_is_busy_is_named_and_nothing_is_kept() {
    auto set = make({"a", "b"});
    auto a = one("a"), b = one("b");
    const auto holding = b.take();
    const auto refused = thrown<dlock::acquire_timeout>([&] { (void)set.acquire({0ms, 0ms, nullptr}); });
    CHECK(refused.name() == name("b") && !a.locked() && !set.try_lock() && !set.try_take());
    const auto begun = now_ms();
    CHECK(!set.try_lock_for(50ms) && !set.try_take_for(50ms));
    CHECK(!set.try_lock_until(std::chrono::steady_clock::now() + 50ms));
    CHECK(now_ms() - begun >= 150 && now_ms() - begun < bound_ms(450));
    await_free(a);
    const auto first = a.acquire();
    CHECK(!set.try_lock()); // the thread has one of them; the other one is still held by nobody's thread
    a.release();
}

void a_thread_never_waits_for_itself() {
    auto set = make({"a", "b"});
    auto b = one("b");
    const std::unique_lock guard{b};
    (void)thrown<dlock::deadlock>([&] { set.lock(); });
    CHECK(!set.try_lock_for(10s)); // at once, as std::lock needs it
    CHECK(set.try_lock() && b.hold_count() == 2);
    set.unlock();
    CHECK(b.hold_count() == 1 && !one("a").locked());
}

void a_lost_lock_is_named() {
    dlock::client client{server_url()};
    auto set = make({"a", "b", "c"}, {}, client);
    auto held = set.acquire();
    CHECK(one("b").force_release() && held.wait_lost(10s) == dlock::loss::deleted);
    CHECK(held.lost_name() == name("b") && !held.valid() && one("a").locked());
    const auto over = thrown<dlock::not_held>([&] { set.release(); });
    CHECK(over.name() == name("b"));
    await_free(one("a"));
    auto taken = set.take({std::nullopt, 300ms, nullptr});
    CHECK(taken.wait_lost(10s) == dlock::loss::expired && taken.lost_name() == name("a"));
    (void)thrown<dlock::not_held>([&] { taken.release(); });
    taken = make({"a", "b"}, {300ms, std::nullopt, 0ms}, client).take(); // the option of each lock
    CHECK(taken.wait_lost(10s) == dlock::loss::expired);
}

void a_hold_belongs_to_its_object_and_to_no_thread() {
    auto set = make({"a", "b"});
    dlock::hold hold = set.take();
    CHECK(set.hold_count() == 0 && set.tokens(hold).size() == 2 && hold.view().token(name("a")) > 0);
    (void)thrown<dlock::invalid_argument>([&] { (void)hold.detach(); });
    (void)thrown<dlock::invalid_argument>([&] { hold.downgrade(); });
    hold.extend(1min);
    CHECK(hold && hold.remaining() > 40s && !set.try_take());
    std::thread([moved = std::move(hold)]() mutable { moved.release(); }).join();
    CHECK(!one("a").locked());
    {
        const auto again = set.try_take();
        CHECK(again && one("b").locked());
    }
    CHECK(!one("b").locked());
}

void names_that_make_no_set_are_refused() {
    std::vector<std::string> names;
    for (int at = 0; at < 101; at++) names.push_back(std::to_string(at));
    const auto many = thrown<dlock::invalid_argument>([&] { (void)dlock::lock_all(shared_client(), names); });
    CHECK(says(many, "101 names were given") && many.allowed() == "1 to 100 different names");
    names.back() = "0";
    CHECK(dlock::lock_all(shared_client(), names).names().size() == 100);
    (void)thrown<dlock::invalid_argument>([&] { (void)dlock::lock_all(shared_client(), std::vector<std::string>{}); });
    (void)thrown<dlock::invalid_name>([&] { (void)dlock::lock_all(shared_client(), {"a", ""}); });
    (void)thrown<dlock::invalid_name>([&] { (void)dlock::lock_all(shared_client(), {std::string_view{}}); });
    (void)thrown<dlock::invalid_argument>([&] { (void)make({"a"}, {1s, std::nullopt, 1s}); });
}

void a_cancel_token_ends_a_wait() {
    auto set = make({"a", "b"});
    auto b = one("b");
    dlock::cancel_token cancel;
    {
        const auto holding = b.take();
        auto waiting = std::async(std::launch::async, [&] { (void)set.acquire({std::nullopt, 0ms, &cancel}); });
        for (const auto until = now_ms() + 30000; !one("a").locked();) CHECK(now_ms() < until);
        cancel.fire();
        (void)thrown<dlock::cancelled>([&] { waiting.get(); });
    }
    await_free(one("a"));
    await_free(b);
}

void callbacks_get_sets() {
    auto set = make({"a", "b"});
    dlock::port port;
    std::optional<dlock::hold> first;
    int refused = 0;
    port.acquire(set).then([&](dlock::result<dlock::hold> got) {
        first.emplace(got.get());
        port.try_acquire(set).then([&](dlock::result<std::optional<dlock::hold>> none) { refused += !none.get(); });
        port.acquire(set, {300ms, 0ms, nullptr}).then([&](const dlock::result<dlock::hold>& late) {
            refused += late.status() == DLOCK_BUSY;
        });
    });
    port.run();
    CHECK(first && refused == 2 && set.tokens(*first).size() == 2);
    port.release(*std::move(first)).then([](dlock::result<void> done) { done.get(); });
    port.run();
    CHECK(!one("a").locked() && !one("b").locked());
}

} // namespace

int main() {
    RUN(the_standards_guards_hold_for_their_scope);
    RUN(what_is_busy_is_named_and_nothing_is_kept);
    RUN(a_thread_never_waits_for_itself);
    RUN(a_lost_lock_is_named);
    RUN(a_hold_belongs_to_its_object_and_to_no_thread);
    RUN(names_that_make_no_set_are_refused);
    RUN(a_cancel_token_ends_a_wait);
    RUN(callbacks_get_sets);
}
