// dlock::queue: jobs, deliveries that go back with their object, the dead list, and its operations on a port.
#include "check.hpp"

#include <thread>
#include <utility>

namespace {

std::string case_queue() { return std::string("cpp/queue/") + check_case; }

dlock::queue open(const dlock::queue_options& options = {}) { return {shared_client(), case_queue(), options}; }

dlock::delivery take(dlock::queue& queue) {
    auto taken = queue.try_take_for(std::chrono::milliseconds(bound_ms(10'000)));
    CHECK(taken.has_value());
    return *std::move(taken);
}

template <class Delivery, class = void> struct has_payload : std::false_type {};
template <class Delivery>
struct has_payload<Delivery, std::void_t<decltype(std::declval<Delivery>().payload())>> : std::true_type {};

void a_job_is_put_taken_and_acknowledged() {
    static_assert(move_only<dlock::queue> && move_only<dlock::delivery>);
    static_assert(has_payload<dlock::delivery&>::value && !has_payload<dlock::delivery>::value, "not of a temporary");
    auto mails = open();
    CHECK(mails.name() == case_queue() && !mails.try_take());
    dlock::job_options options;
    options.id = "one";
    options.priority = 7;
    const std::string payload("hel\0lo", 6);
    const auto put = mails.put(payload, options);
    CHECK(put.id == "one" && put.is_new && !mails.put("again", options).is_new);
    CHECK(mails.counts().ready == 1);

    auto job = take(mails);
    CHECK(job && job.payload() == payload && job.id() == "one" && job.attempt() == 1 && job.priority() == 7);
    CHECK(job.valid() && !job.lost() && job.token() > 0 && job.remaining() > 0s);
    CHECK(job.due() > std::chrono::system_clock::now() - 1h && job.due() < std::chrono::system_clock::now() + 1h);
    job.extend(60s);
    CHECK(job.remaining() > 30s && mails.counts().in_flight == 1);
    auto moved = std::move(job);
    CHECK(!job); // NOLINT(bugprone-use-after-move): this is what is tested
    thrown<dlock::invalid_argument>([&] { job.ack(); });
    moved.ack();
    CHECK(!moved.valid() && moved.payload() == payload && mails.counts().in_flight == 0);
    thrown<dlock::not_held>([&] { moved.ack(); });
    thrown<dlock::not_held>([&] { moved.nack(); });
    thrown<dlock::not_held>([&] { moved.give_back(); });
    thrown<dlock::not_held>([&] { moved.extend(60s); });
}

void what_is_not_acknowledged_goes_back() {
    auto mails = open();
    mails.put("x");
    try {
        const auto job = take(mails);
        throw std::runtime_error("the work failed");
    } catch (const std::runtime_error&) {
    }
    auto job = take(mails);
    CHECK(job.attempt() == 2);
    job = dlock::delivery(std::move(job)); // a hold moves through
    job.give_back();
    job = take(mails);
    CHECK(job.attempt() == 2);
    mails.put("y");
    job = take(mails); // the one before goes back
    CHECK(job.payload() == "y");
    auto before = take(mails);
    CHECK(before.payload() == "x" && before.attempt() == 3);
    before.nack(10ms, "later");
    before = take(mails);
    CHECK(before.attempt() == 4);
    before.ack();
    job.ack();
}

void jobs_come_in_order_and_in_batches() {
    auto mails = open();
    const dlock::cancel_token token;
    const auto at = [](int seconds, std::int64_t priority = 0) {
        dlock::job_options options;
        options.at = std::chrono::system_clock::time_point(std::chrono::seconds(seconds));
        options.priority = priority;
        return options;
    };
    dlock::job_options later;
    later.delay = 60s;
    const std::vector<dlock::new_job> jobs{{"d", at(2)}, {"b", at(1)}, {"c", at(1)}, {"a", at(3, 1)}, {"e", later}};
    const auto puts = mails.put_many(jobs);
    CHECK(puts.size() == 5 && puts[0].is_new && puts[0].id != puts[1].id);
    CHECK(mails.counts().ready == 4 && mails.counts().delayed == 1);
    std::string all;
    for (const std::size_t most : {3, 100})
        for (auto& job : mails.take_many(most, 0s, &token)) all += job.payload(), job.ack();
    CHECK(all == "abcd");
    CHECK(mails.take_many(10, 10ms).empty());
    CHECK(mails.put_many({"f", "g"}).size() == 2 && mails.put_many(std::vector<dlock::new_job>{}).empty());
    CHECK(mails.take_many(10).size() == 2); // and both go back, in a moment
    for (int tries = 0; mails.counts().ready != 2 && tries < 1000; ++tries) std::this_thread::sleep_for(10ms);
    auto both = mails.take_many(10);
    both[0].ack();
    CHECK(mails.ack_many(both) == std::vector<bool>({false, true}) && mails.ack_many({}).empty());
    dlock::queue other{shared_client(), "other mails"};
    other.put("theirs");
    const auto theirs = other.take_many(1);
    thrown<dlock::invalid_argument>([&] { mails.ack_many(theirs); });
    CHECK(theirs[0].valid());
    later.at = std::chrono::system_clock::time_point(-1h);
    thrown<dlock::invalid_argument>([&] { mails.put("both", later); });
    later.delay = 0ms;
    mails.put("before 1970", later);
    const auto job = take(mails);
    CHECK(job.payload() == "before 1970");
}

void a_take_waits_and_is_cancelled() {
    auto mails = open();
    const dlock::cancel_token stop;
    auto waiting = std::async(std::launch::async, [&] {
        int done = 0;
        try {
            for (;;) mails.take(&stop).ack(), done++;
        } catch (const dlock::cancelled&) {
            return done;
        }
    });
    mails.put_many({"a", "b", "c"});
    const auto until = std::chrono::steady_clock::now() + 30s;
    for (auto counts = mails.counts(); counts.ready + counts.in_flight > 0; counts = mails.counts())
        CHECK(std::chrono::steady_clock::now() < until);
    stop.fire();
    CHECK(waiting.get() == 3);
    mails.put("d");
    const auto job = take(mails);
    CHECK(job.payload() == "d");
}

void a_lost_delivery_is_not_acknowledged() {
    dlock::queue_options fixed;
    fixed.lease = 150ms;
    auto mails = open(fixed), renewed = open();
    mails.put("x");
    auto lost = take(mails);
    CHECK(lost.wait_lost(10s) == dlock::loss::expired);
    auto again = take(renewed);
    CHECK(!lost.valid() && lost.remaining() == 0s);
    thrown<dlock::not_held>([&] { lost.ack(); });
    CHECK(again.attempt() == 2 && mails.counts().in_flight == 1);
    again.ack();
}

void the_dead_list_is_listed_and_moved() {
    dlock::queue_options once;
    once.max_attempts = 1;
    auto mails = open(once);
    dlock::job_options named;
    for (const char* id : {"a", "b", "c"}) {
        named.id = id;
        mails.put(id, named);
        take(mails).nack(std::nullopt, "no route");
    }
    const auto dead = mails.dead().list();
    CHECK(dead.size() == 3 && dead[0].id == "a" && dead[0].payload == "a" && dead[0].attempts == 1);
    CHECK(dead[0].reason == "no route" && dead[0].dead_since && *dead[0].dead_since >= dead[0].due);
    CHECK(mails.dead().list(2).size() == 2 && mails.counts().dead == 3);
    CHECK(mails.dead().requeue("a") && !mails.dead().requeue("z"));
    CHECK(mails.dead().remove("b") && !mails.dead().remove("b"));
    CHECK(mails.dead().requeue_all() == 1 && mails.dead().purge() == 0);
    const auto waiting = mails.peek();
    CHECK(waiting.size() == 2 && waiting[0].id == "a" && !waiting[0].dead_since && !waiting[0].reason);
    CHECK(mails.cancel("a") && !mails.cancel("a"));
    auto job = take(mails);
    thrown<dlock::not_held>([&] { (void)mails.cancel("c"); });
    job.ack();
    CHECK(mails.purge() == 0);
}

void what_cannot_be_throws() {
    dlock::queue_options options;
    options.max_length = 1;
    options.max_payload = 3;
    auto mails = open(options);
    mails.put("abc");
    thrown<dlock::queue_full>([&] { mails.put("x"); });
    thrown<dlock::invalid_argument>([&] { mails.put("four"); });
    thrown<dlock::invalid_argument>([&] { (void)mails.take_many(0); });
    thrown<dlock::invalid_argument>([&] { (void)mails.take_many(101); });
    thrown<dlock::invalid_argument>([&] { (void)mails.peek(0); });
    thrown<dlock::invalid_argument>([&] { (void)mails.dead().list(1001); });
    dlock::job_options wrong;
    wrong.delay = -1ms;
    thrown<dlock::invalid_argument>([&] { mails.put("x", wrong); });
    wrong = {};
    wrong.id = "";
    thrown<dlock::invalid_argument>([&] { mails.put("x", wrong); });
    thrown<dlock::invalid_name>([] { dlock::queue{shared_client(), ""}; });
    options.max_attempts = 0;
    thrown<dlock::invalid_argument>([&] { open(options); });
    auto job = take(mails);
    thrown<dlock::invalid_argument>([&] { job.nack(-1ms); });
    CHECK(job.valid());
    job.ack();
    CHECK(dlock::backoff(1) >= 500ms && dlock::backoff(1) <= 1s && dlock::backoff(60) <= 5min);
    CHECK(dlock::backoff(3, 100ms, 10s) >= 200ms && dlock::backoff(3, 100ms, 10s) <= 400ms);
    thrown<dlock::invalid_argument>([] { (void)dlock::backoff(1, 2s, 1s); });
}

void a_port_puts_takes_and_ends() {
    auto mails = open();
    dlock::port port;
    std::optional<dlock::delivery> job;
    std::optional<dlock::put_result> put;
    port.take(mails).then([&](dlock::result<dlock::delivery> of) { job = of.get(); });
    dlock::job_options named;
    named.id = "one";
    port.put(mails, "payload", named).then([&](dlock::result<dlock::put_result> of) { put = of.get(); });
    port.run();
    CHECK(put && put->id == "one" && put->is_new && job && job->payload() == "payload");
    bool ended = false, extended = false, none = false, gone_back = false;
    port.extend(*job, 60s).then([&](dlock::result<void> of) { of.get(), extended = true; });
    port.run();
    CHECK(extended && job->remaining() > 30s);
    port.wait_lost(*job).then([&](dlock::result<std::optional<dlock::loss>> of) { none = !of.get(); });
    port.nack(*std::move(job), 0ms, "not now").then([&](dlock::result<void> of) { of.get(), gone_back = true; });
    port.run();
    CHECK(none && gone_back && !*job); // NOLINT(bugprone-use-after-move): this is what is tested
    port.try_take(mails, 10s).then([&](dlock::result<std::optional<dlock::delivery>> of) { job = of.get(); });
    port.run();
    CHECK(job && job->attempt() == 2);
    port.give_back(*std::move(job)).then([&](dlock::result<void> of) { of.get(); });
    port.run();
    job = take(mails);
    CHECK(job->attempt() == 2);
    port.ack(*std::move(job)).then([&](dlock::result<void> of) { of.get(), ended = true; });
    port.run();
    CHECK(ended && mails.counts().in_flight == 0);
    bool nothing = false;
    port.try_take(mails).then([&](dlock::result<std::optional<dlock::delivery>> of) { nothing = of && !of.get(); });
    port.run();
    CHECK(nothing);
}

void a_port_lists_and_moves() {
    dlock::queue_options once;
    once.max_attempts = 1;
    auto mails = open(once);
    mails.put("x");
    take(mails).nack(std::nullopt, "why");
    dlock::port port;
    std::vector<dlock::listed_job> dead, waiting;
    dlock::queue_counts counts;
    port.counts(mails).then([&](dlock::result<dlock::queue_counts> of) { counts = of.get(); });
    port.list_dead(mails).then([&](dlock::result<std::vector<dlock::listed_job>> of) { dead = of.get(); });
    port.run();
    CHECK(counts.dead == 1 && dead.size() == 1 && dead[0].reason == "why");
    const auto flag = [&](auto operation) {
        bool answer = false;
        std::move(operation).then([&](dlock::result<bool> of) { answer = of.get(); });
        port.run();
        return answer;
    };
    const auto number = [&](auto operation) {
        std::int64_t answer = -1;
        std::move(operation).then([&](dlock::result<std::int64_t> of) { answer = of.get(); });
        port.run();
        return answer;
    };
    CHECK(flag(port.requeue_dead(mails, dead[0].id)) && !flag(port.requeue_dead(mails, dead[0].id)));
    port.peek(mails).then([&](dlock::result<std::vector<dlock::listed_job>> of) { waiting = of.get(); });
    port.run();
    CHECK(waiting.size() == 1 && waiting[0].payload == "x" && flag(port.cancel(mails, waiting[0].id)));
    CHECK(!flag(port.remove_dead(mails, "none")) && number(port.requeue_all_dead(mails)) == 0);
    CHECK(number(port.purge_dead(mails)) == 0);
    mails.put("y");
    CHECK(number(port.purge(mails)) == 1);
}

void what_a_port_leaves_goes_back() {
    auto mails = open();
    mails.put("x");
    {
        dlock::port port;
        port.take(mails).then([](const dlock::result<dlock::delivery>&) { CHECK(false); });
        const auto until = std::chrono::steady_clock::now() + 30s;
        while (mails.counts().in_flight == 0) CHECK(std::chrono::steady_clock::now() < until);
    }
    auto job = take(mails);
    CHECK(job.attempt() == 1);
    dlock::port port;
    { const auto never_begun = port.ack(std::move(job)); }
    job = take(mails);
    CHECK(job.attempt() == 2);
    job.ack();
}

} // namespace

int main() {
    RUN(a_job_is_put_taken_and_acknowledged);
    RUN(what_is_not_acknowledged_goes_back);
    RUN(jobs_come_in_order_and_in_batches);
    RUN(a_take_waits_and_is_cancelled);
    RUN(a_lost_delivery_is_not_acknowledged);
    RUN(the_dead_list_is_listed_and_moved);
    RUN(what_cannot_be_throws);
    RUN(a_port_puts_takes_and_ends);
    RUN(a_port_lists_and_moves);
    RUN(what_a_port_leaves_goes_back);
}
