// dlock::worker: a number that is given back with its object, generators under it, and its operations on a port.
#include "check.hpp"

#include <algorithm>
#include <utility>

namespace {

dlock::worker lease(const dlock::client& client, std::int64_t bits = DLOCK_WORKER_BITS_DEFAULT) {
    dlock::worker_options options;
    options.bits = bits;
    return {client, std::string("cpp/worker/") + check_case, options};
}

template <class Worker, class = void> struct makes_ids : std::false_type {};
template <class Worker>
struct makes_ids<Worker, std::void_t<decltype(std::declval<Worker>().snowflake())>> : std::true_type {};

void a_number_is_given_back_with_its_object() {
    static_assert(move_only<dlock::worker>);
    static_assert(makes_ids<dlock::worker&>::value && !makes_ids<dlock::worker>::value, "not of a temporary");
    std::optional<dlock::snowflake> ids;
    std::int64_t last = 0;
    {
        dlock::worker worker = lease(shared_client());
        CHECK(worker && worker.number() == 0 && worker.bits() == 10 && worker.valid() && !worker.lost());
        CHECK(worker.pool() == std::string("cpp/worker/") + check_case);
        CHECK(worker.remaining() > 0s && worker.remaining() <= 30s);
        ids = worker.snowflake();
        const auto batch = ids->next_ids(5000);
        CHECK(std::is_sorted(batch.begin(), batch.end()) && ids->decode(batch[0]).worker == 0);
        last = batch.back();
        const dlock::worker moved = std::move(worker);
        CHECK(!worker && moved.number() == 0); // NOLINT(bugprone-use-after-move): this is what is tested
        CHECK(lease(shared_client()).number() == 1);
        CHECK(ids->next_id() > last);
        last = ids->next_id();
    }
    thrown<dlock::not_held>([&] { (void)ids->next_id(); });
    dlock::worker again = lease(shared_client());
    CHECK(again.number() == 0 && again.snowflake(dlock::layout("default")).next_id() > last);
    again.release();
    CHECK(!again.valid() && again.number() == 0);
    thrown<dlock::not_held>([&] { again.release(); });
}

void a_closed_client_is_a_loss() {
    const dlock::client own{server_url()};
    const dlock::worker worker = lease(own);
    const dlock::snowflake ids = worker.snowflake();
    own.close_releasing();
    CHECK(worker.wait_lost(10s) == dlock::loss::closed && !worker.valid());
    thrown<dlock::lock_lost>([&] { (void)ids.next_id(); });
    thrown<dlock::lock_lost>([&] { (void)ids.next_ids(10); });
}

void what_cannot_be_throws() {
    for (const std::int64_t bits : {0, -1, 23}) thrown<dlock::invalid_argument>([&] { lease(shared_client(), bits); });
    thrown<dlock::invalid_name>([] { dlock::worker{shared_client(), ""}; });
    const dlock::worker one = lease(shared_client(), 1), two = lease(shared_client(), 1);
    const auto busy = thrown<dlock::acquire_timeout>([] { lease(shared_client(), 1); });
    CHECK(busy.retry_after().has_value());
    dlock::worker_options six;
    six.bits = 6;
    const dlock::worker wide{shared_client(), "cpp/worker/wide", six};
    const auto narrow = thrown<dlock::invalid_argument>([&] { (void)wide.snowflake(dlock::layout("js53")); });
    CHECK(says(narrow, "at most 5"));
}

void a_port_leases_and_releases() {
    dlock::port port;
    std::optional<dlock::worker> got;
    bool lost_without = false, released = false;
    const std::string pool = std::string("cpp/worker/") + check_case;
    port.lease_worker(shared_client(), pool).then([&](dlock::result<dlock::worker> of) { got = of.get(); });
    port.run();
    CHECK(got && got->number() == 0);
    const dlock::snowflake ids = got->snowflake();
    port.wait_lost(*got).then([&](dlock::result<std::optional<dlock::loss>> of) { lost_without = !of.get(); });
    port.release(*std::move(got)).then([&](dlock::result<void> of) { of.get(), released = true; });
    port.run();
    CHECK(released && lost_without);
    thrown<dlock::not_held>([&] { (void)ids.next_id(); });
    bool refused = false;
    dlock::worker_options wrong;
    wrong.bits = 23;
    port.lease_worker(shared_client(), pool, wrong).then([&](const dlock::result<dlock::worker>& of) {
        refused = of.status() == DLOCK_INVALID_ARGUMENT;
    });
    port.run();
    CHECK(refused);
}

} // namespace

int main() {
    RUN(a_number_is_given_back_with_its_object);
    RUN(a_closed_client_is_a_loss);
    RUN(what_cannot_be_throws);
    RUN(a_port_leases_and_releases);
}
