// dlock::port under C++20: coroutines that acquire, wait, are destroyed while they wait; a limiter; callbacks.
#include "check.h"

#include <dlock.hpp>

#include <algorithm>
#include <optional>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

// A coroutine that begins at once and belongs to its object, which destroys it wherever it is.
class task {
public:
    struct promise_type {
        task get_return_object() { return task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { thrown = std::current_exception(); }
        std::exception_ptr thrown;
    };

    explicit task(std::coroutine_handle<promise_type> coroutine) : coroutine_(coroutine) {}
    task(task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
    ~task() {
        if (coroutine_) coroutine_.destroy();
    }
    bool done() const { return coroutine_.done(); }
    void get() const {
        CHECK(done());
        if (coroutine_.promise().thrown) std::rethrow_exception(coroutine_.promise().thrown);
    }

private:
    std::coroutine_handle<promise_type> coroutine_;
};

dlock::client& shared_client() {
    static dlock::client client{server_url()};
    return client;
}

dlock::mutex make_mutex(const dlock::mutex_options& options = {}) {
    return {shared_client(), std::string("cpp/coroutines/") + check_case, options};
}

// Asks as another client would: a port's hold is nobody's in particular.
bool is_free(dlock::mutex& mutex) { return !mutex.inspect().holder; }

task add_one(dlock::port& port, dlock::mutex& mutex, int& inside, int& sum) {
    dlock::hold hold = co_await port.acquire(mutex);
    CHECK(hold.valid() && hold.token() > 0 && ++inside == 1);
    co_await port.extend(hold, 1min);
    CHECK(hold.remaining() > 40s);
    sum++, inside--;
    co_await port.release(std::move(hold));
}

void a_hundred_coroutines_take_turns() {
    dlock::port port;
    auto mutex = make_mutex();
    int inside = 0, sum = 0;
    std::vector<task> tasks;
    for (int i = 0; i < 100; i++) tasks.push_back(add_one(port, mutex, inside, sum));
    port.run();
    for (auto& each : tasks) each.get();
    CHECK(sum == 100 && inside == 0 && is_free(mutex));
}

task take(dlock::port& port, dlock::mutex& mutex, std::optional<dlock::hold>& into) {
    into = co_await port.acquire(mutex);
}

void a_coroutine_destroyed_while_it_waits_leaves_the_line() {
    dlock::port port;
    auto mutex = make_mutex();
    std::optional<dlock::hold> first, second, third;
    auto holding = take(port, mutex, first);
    port.run();
    holding.get();
    {
        auto waiting = take(port, mutex, second);
        CHECK(!waiting.done() && port.busy());
    }
    auto next = take(port, mutex, third);
    first->release();
    port.run();
    next.get();
    CHECK(!second && third && third->valid());
    third.reset();
    CHECK(is_free(mutex));
}

void what_was_granted_to_a_destroyed_coroutine_is_given_back() {
    dlock::port port;
    auto mutex = make_mutex();
    std::optional<dlock::hold> never;
    {
        auto granted = take(port, mutex, never);
        pollfd readable{port.fd(), POLLIN, 0};
        CHECK(poll(&readable, 1, 60000) == 1 && !is_free(mutex)); // it has the lock, and does not know yet
    }
    port.run();
    CHECK(!never && is_free(mutex));
}

void the_end_of_a_port_gives_back_what_it_got() {
    auto mutex = make_mutex();
    std::optional<dlock::hold> never;
    std::optional<dlock::port> port{std::in_place};
    auto granted = take(*port, mutex, never);
    pollfd readable{port->fd(), POLLIN, 0};
    CHECK(poll(&readable, 1, 60000) == 1);
    port.reset();
    CHECK(!granted.done() && !never);
    CHECK(mutex.try_lock_for(10s)); // given back in the background
    mutex.unlock();
}

task take_permits(dlock::port& port, dlock::counting_semaphore& of, bool& taken) {
    co_await port.acquire(of, 2);
    taken = true;
}

void permits_granted_to_a_destroyed_coroutine_are_brought_back() {
    dlock::port port;
    std::optional<dlock::counting_semaphore> slots{std::in_place, shared_client(), "cpp/coroutines/counting"};
    CHECK(slots->try_set_permits(2));
    bool taken = false;
    {
        auto granted = take_permits(port, *slots, taken);
        pollfd readable{port.fd(), POLLIN, 0};
        CHECK(poll(&readable, 1, 60000) == 1 && slots->available() == 0); // it has them, and does not know yet
        slots.reset();                                                    // the operation keeps what it needs
    }
    port.run();
    slots.emplace(shared_client(), "cpp/coroutines/counting");
    CHECK(!taken && slots->available() == 2);
    auto granted = take_permits(port, *slots, taken);
    port.run();
    granted.get();
    CHECK(taken && slots->available() == 0);
}

task work(dlock::port& port, dlock::queue& jobs, std::string& done) {
    for (int i = 0; i < 3; i++) {
        dlock::delivery job = co_await port.take(jobs);
        done += job.payload();
        co_await port.ack(std::move(job));
    }
}

task fill(dlock::port& port, dlock::queue& jobs) {
    for (const char* payload : {"a", "b", "c"}) CHECK((co_await port.put(jobs, payload)).is_new);
}

task take_job(dlock::port& port, dlock::queue& jobs, bool& taken) {
    const dlock::delivery job = co_await port.take(jobs);
    taken = true;
}

void jobs_are_awaited_and_go_back_from_a_destroyed_coroutine() {
    dlock::port port;
    dlock::queue jobs{shared_client(), std::string("cpp/coroutines/") + check_case};
    std::string done;
    const task working = work(port, jobs, done), filling = fill(port, jobs);
    port.run();
    working.get(), filling.get();
    CHECK(done == "abc" && jobs.counts().in_flight == 0);

    bool taken = false;
    { const task waits = take_job(port, jobs, taken); }
    port.run();
    jobs.put("x");
    {
        const task granted = take_job(port, jobs, taken);
        const auto until = std::chrono::steady_clock::now() + 30s;
        while (jobs.counts().in_flight == 0) CHECK(std::chrono::steady_clock::now() < until);
    }
    port.run(); // gives it back
    const auto job = jobs.take();
    CHECK(!taken && job.payload() == "x" && job.attempt() == 1);
    const auto bytes = job.bytes();
    CHECK(bytes.size() == 1 && bytes[0] == std::byte{'x'});
}

task wait_in_vain(dlock::port& port, dlock::mutex& mutex) {
    const auto at_once = co_await port.try_acquire(mutex);
    const auto soon = co_await port.try_acquire(mutex, 20ms);
    CHECK(!at_once && !soon);
    dlock::acquire_options options;
    options.wait = 20ms;
    co_await port.acquire(mutex, options);
}

template <class Error> void throws(const task& ended) {
    try {
        ended.get();
    } catch (const Error&) {
        return;
    }
    CHECK(!"the right exception");
}

void errors_are_thrown_where_they_are_awaited() {
    dlock::port port;
    auto mutex = make_mutex();
    dlock::hold hold = mutex.take();
    auto late = wait_in_vain(port, mutex);
    port.run();
    throws<dlock::acquire_timeout>(late);
    dlock::client closed{server_url()};
    dlock::mutex unusable{closed, "cpp/coroutines/closed"};
    closed.close();
    std::optional<dlock::hold> never;
    auto refused = take(port, unusable, never);
    port.run();
    throws<dlock::closed>(refused);
}

task spend(dlock::port& port, dlock::rate_limiter& limiter, int& allowed) {
    for (int i = 0; i < 3; i++)
        if (co_await port.acquire(limiter)) allowed++;
    if (!co_await port.acquire(limiter, 2, 0ms)) allowed += 100;
}

void a_limiter_is_awaited() {
    dlock::port port;
    dlock::rate_limiter limiter{shared_client(), "cpp/coroutines/limiter", {2, 1s, 2}};
    int allowed = 0;
    auto spending = spend(port, limiter, allowed);
    port.run();
    spending.get();
    CHECK(allowed == 103);
}

task open_and_watch(dlock::port& port, std::optional<dlock::loss>& lost) {
    dlock::client_options options; // not within the co_await: gcc 12 fails over the list
    options.options.emplace_back("lease", "10s");
    options.log_port = port.get();
    auto client = co_await port.open(server_url(), options);
    dlock::mutex mutex{client, std::string("cpp/coroutines/") + check_case};
    auto hold = co_await port.acquire(mutex, {std::nullopt, 300ms, nullptr});
    lost = co_await port.wait_lost(hold);
    co_await port.close(client);
}

task borrow(dlock::port& port, dlock::semaphore& permits, std::int64_t count, int& inside, int& most) {
    dlock::hold hold = co_await port.acquire(permits, count);
    CHECK(hold.valid() && hold.token() == 0 && hold.permits().size() == static_cast<std::size_t>(count));
    inside += static_cast<int>(count);
    most = std::max(most, inside);
    co_await port.extend(hold, 1min);
    inside -= static_cast<int>(count);
    co_await port.release(std::move(hold));
}

void permits_are_awaited() {
    dlock::port port;
    dlock::semaphore permits{shared_client(), std::string("cpp/coroutines/") + check_case, 3};
    int inside = 0, most = 0;
    std::vector<task> tasks;
    for (int i = 0; i < 60; i++) tasks.push_back(borrow(port, permits, 1 + i % 3, inside, most));
    port.run();
    for (const auto& each : tasks) each.get();
    CHECK(inside == 0 && most <= 3 && permits.inspect().available == 3);
}

void a_coroutine_destroyed_while_it_waits_for_permits_cancels() {
    dlock::port port;
    dlock::semaphore permits{shared_client(), std::string("cpp/coroutines/") + check_case, 2};
    std::optional<dlock::hold> held = permits.take();
    int inside = 0, most = 0;
    {
        task waiting = borrow(port, permits, 2, inside, most);
        while (shared_client().stats().semaphore.waiting == 0) (void)port.dispatch_for(1ms);
    }
    held.reset();
    bool nothing = true;
    port.try_acquire(permits, 3).then([&](dlock::result<std::optional<dlock::hold>> got) {
        CHECK(got.status() == DLOCK_INVALID_ARGUMENT);
    });
    port.try_acquire(permits, 2, 10s).then([&](dlock::result<std::optional<dlock::hold>> got) {
        nothing = !got.get();
    });
    port.run();
    CHECK(!nothing && inside == 0 && most == 0 && permits.inspect().available == 2);
}

void a_loss_is_awaited_and_logs_come_through_the_port() {
    dlock::port port;
    bool logged = false;
    port.on_log([&](dlock_log_level_t, std::string_view message, std::string_view) { logged = !message.empty(); });
    std::optional<dlock::loss> lost;
    auto watching = open_and_watch(port, lost);
    port.run();
    watching.get();
    CHECK(lost == dlock::loss::expired && logged);
}

void callbacks_need_no_coroutine() {
    dlock::port port;
    auto mutex = make_mutex();
    std::optional<dlock::hold> held;
    port.acquire(mutex).then([&](dlock::result<dlock::hold> got) { held = got.get(); });
    while (!held) port.dispatch_for(1min);
    auto waiting =
        port.acquire(mutex).then([&](dlock::result<dlock::hold> got) { CHECK(got.status() == DLOCK_CANCELLED); });
    CHECK(waiting.cancel() && !waiting.cancel());
    port.release(*std::move(held)).then([](dlock::result<void> done) { CHECK(done); });
    port.run();
    CHECK(is_free(mutex));
}

template <class Error, class Call> bool thrown(Call&& call) {
    try {
        call();
    } catch (const Error&) {
        return true;
    }
    return false;
}

void a_release_that_is_not_begun_releases() {
    std::optional<dlock::port> port{std::in_place};
    auto mutex = make_mutex();
    { [[maybe_unused]] auto never_begun = port->release(mutex.take()); }
    CHECK(is_free(mutex));
    auto too_late = port->release(mutex.take());
    port.reset();
    CHECK(thrown<dlock::error>([&] { std::move(too_late).then([](const dlock::result<void>&) {}); }) && is_free(mutex));
}

void a_second_thread_that_dispatches_is_refused() {
    dlock::port port;
    auto mutex = make_mutex();
    bool refused = false, nested = false;
    port.acquire(mutex).then([&](const dlock::result<dlock::hold>&) {
        std::thread([&] {
            refused = thrown<dlock::invalid_argument>([&] { port.dispatch(); }) &&
                      thrown<dlock::invalid_argument>([&] { port.dispatch_for(1min); }) &&
                      thrown<dlock::invalid_argument>([&] { port.run(); });
        }).join();
        nested = port.dispatch() == 0;
    });
    port.run();
    CHECK(refused && nested);
    std::thread([&] { CHECK(port.dispatch() == 0); }).join(); // one after the other
}

void a_log_function_may_replace_itself() {
    dlock::port port;
    const auto captured = std::make_shared<int>(1);
    bool alive = false, replaced = false;
    port.on_log([&, own = std::weak_ptr(captured), kept = captured](auto...) mutable {
        const auto before = own.use_count();
        port.on_log([&replaced](auto...) { replaced = true; });
        alive = !replaced && before == 2 && captured.use_count() == 2;
    });
    dlock::client_options options;
    options.log_port = port.get();
    dlock::client client{server_url(), options};
    dlock::mutex mutex{client, std::string("cpp/coroutines/") + check_case};
    for (int i = 0; i < 2; i++) {
        auto lost = mutex.take({std::nullopt, 300ms, nullptr});
        CHECK(lost.wait_lost(10s) == dlock::loss::expired);
        while (i == 0 ? !alive && captured.use_count() > 1 : !replaced) CHECK(port.dispatch_for(10s) > 0);
    }
    CHECK(alive && replaced && captured.use_count() == 1);
}

// Submits, and does not come back before the completion was dispatched, as another thread may do it meanwhile.
struct dispatched_at_once {
    std::shared_ptr<dlock::detail::port_state> port;
    const dlock_rate_limiter_t* limiter;
    std::function<void()> then;

    dlock_status_t operator()(const dlock_port_t* to, void* data, dlock_op_t** op, dlock_error_t* cause) const {
        const dlock_status_t begun = dlock_submit_rate_limit(to, limiter, 1, -1, data, op, cause);
        CHECK(begun == DLOCK_OK);
        const dlock::detail::dispatching call{port};
        while (call.busy()) call.await(-1), call.dispatch();
        then();
        return begun;
    }
};

void a_callback_ends_on_the_thread_that_dispatches() {
    const auto port = std::make_shared<dlock::detail::port_state>();
    dlock::rate_limiter limiter{shared_client(), "cpp/coroutines/ends", {50, 1s}};
    auto captured = std::make_shared<int>(1);
    const std::weak_ptr watched = captured;
    bool called = false;
    dispatched_at_once submit{port, limiter.get(), [&] { CHECK(called && watched.expired()); }};
    dlock::operation<dlock::decision, dispatched_at_once>{port, std::move(submit)}.then(
        [&called, captured = std::move(captured)](const dlock::result<dlock::decision>& got) { called = bool(got); });
    CHECK(called && watched.expired());
}

// Submits, and is not back before the coroutine that waits is destroyed.
struct destroyed_at_once {
    const dlock_lock_t* lock;
    std::function<void()> destroy;

    dlock_status_t operator()(const dlock_port_t* to, void* data, dlock_op_t** op, dlock_error_t* cause) const {
        const dlock_status_t begun = dlock_submit_acquire(to, lock, nullptr, data, op, cause);
        destroy();
        return begun;
    }
};

task wait_after(dlock::port& port, dlock::rate_limiter& first, std::shared_ptr<dlock::detail::port_state> then,
                destroyed_at_once submit) {
    CHECK((co_await port.acquire(first)).allowed);
    dlock::operation<dlock::hold, destroyed_at_once> acquiring(std::move(then), std::move(submit));
    co_await std::move(acquiring);
}

void a_coroutine_destroyed_while_it_submits_cancels() {
    dlock::port first;
    const auto port = std::make_shared<dlock::detail::port_state>();
    dlock::rate_limiter limiter{shared_client(), "cpp/coroutines/destroyed", {50, 1s}};
    auto mutex = make_mutex();
    const auto hold = mutex.take();
    std::optional<task> waiting;
    waiting.emplace(wait_after(first, limiter, port, {mutex.get(), [&] { waiting.reset(); }}));
    first.run();
    CHECK(!waiting && port->busy());
    pollfd readable{port->fd(), POLLIN, 0};
    CHECK(poll(&readable, 1, 10000) == 1 && port->dispatch_one() && !port->busy());
}

void an_open_is_cancelled_by_a_token_that_has_moved() {
    dlock::port port;
    dlock::cancel_token token;
    dlock::client_options options;
    options.cancel = &token;
    auto opening = port.open(server_url(), options);
    const dlock::cancel_token moved = std::move(token);
    moved.fire();
    dlock_status_t status = DLOCK_OK;
    std::move(opening).then([&](const dlock::result<dlock::client>& got) { status = got.status(); });
    port.run();
    CHECK(status == DLOCK_CANCELLED);
}

void what_was_moved_from_is_refused() {
    dlock::port port;
    auto mutex = make_mutex();
    auto acquiring = port.acquire(mutex);
    const auto ignore = [](const dlock::result<dlock::hold>&) {};
    std::move(acquiring).then(ignore);
    CHECK(thrown<dlock::invalid_argument>([&] { std::move(acquiring).then(ignore); })); // NOLINT: that is the test
    dlock::port moved = std::move(port);
    moved.run();
    CHECK(port.get() == nullptr); // NOLINT: that is the test
    CHECK(thrown<dlock::invalid_argument>([&] { (void)port.fd(); }));
    CHECK(thrown<dlock::invalid_argument>([&] { (void)port.busy(); }));
    CHECK(thrown<dlock::invalid_argument>([&] { port.run(); }) &&
          thrown<dlock::invalid_argument>([&] { port.dispatch(); }));
    CHECK(thrown<dlock::invalid_argument>([&] { port.on_log({}); }));
    CHECK(thrown<dlock::invalid_argument>([&] { (void)port.acquire(mutex); }));
}

void an_assignment_ends_the_port_before() {
    auto mutex = make_mutex();
    dlock::port port, next;
    const auto captured = std::make_shared<int>(1);
    const auto hold = mutex.take();
    port.acquire(mutex).then([captured](const dlock::result<dlock::hold>&) {});
    CHECK(captured.use_count() == 2);
    port = std::move(next);
    CHECK(captured.use_count() == 1 && !port.busy());
}

} // namespace

int main() {
    RUN(a_hundred_coroutines_take_turns);
    RUN(a_coroutine_destroyed_while_it_waits_leaves_the_line);
    RUN(what_was_granted_to_a_destroyed_coroutine_is_given_back);
    RUN(permits_granted_to_a_destroyed_coroutine_are_brought_back);
    RUN(the_end_of_a_port_gives_back_what_it_got);
    RUN(jobs_are_awaited_and_go_back_from_a_destroyed_coroutine);
    RUN(errors_are_thrown_where_they_are_awaited);
    RUN(a_limiter_is_awaited);
    RUN(permits_are_awaited);
    RUN(a_coroutine_destroyed_while_it_waits_for_permits_cancels);
    RUN(a_loss_is_awaited_and_logs_come_through_the_port);
    RUN(callbacks_need_no_coroutine);
    RUN(a_release_that_is_not_begun_releases);
    RUN(a_second_thread_that_dispatches_is_refused);
    RUN(a_log_function_may_replace_itself);
    RUN(a_callback_ends_on_the_thread_that_dispatches);
    RUN(a_coroutine_destroyed_while_it_submits_cancels);
    RUN(an_open_is_cancelled_by_a_token_that_has_moved);
    RUN(what_was_moved_from_is_refused);
    RUN(an_assignment_ends_the_port_before);
    shared_client().close();
}
