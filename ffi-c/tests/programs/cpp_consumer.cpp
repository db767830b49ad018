// dlock::consumer: handlers that return and throw, what is in hand at a stop, and a queue that cannot be used any more.
#include "check.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <iostream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

std::string case_queue() { return std::string("cpp/consumer/") + check_case; }

dlock::queue open(const dlock::queue_options& options = {}) { return {shared_client(), case_queue(), options}; }

/// A condition that comes true in time.
template <class Condition> void eventually(Condition condition) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(bound_ms(10'000));
    while (!condition()) {
        CHECK(std::chrono::steady_clock::now() < until);
        std::this_thread::sleep_for(2ms);
    }
}

bool idle(const dlock::queue& queue) {
    const auto counts = queue.counts();
    return counts.ready + counts.delayed + counts.in_flight == 0;
}

/// Opens once; until then those that pass wait.
class gate {
public:
    void open() {
        const std::lock_guard lock{mutex_};
        open_ = true;
        changed_.notify_all();
    }
    void pass() {
        std::unique_lock lock{mutex_};
        changed_.wait(lock, [this] { return open_; });
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool open_ = false;
};

void jobs_are_done_several_at_a_time() {
    auto mails = open();
    std::atomic<int> done{0}, now{0}, most{0};
    dlock::consumer_options options;
    options.concurrency = 4;
    {
        dlock::consumer workers{mails,
                                [&](dlock::delivery& job) {
                                    CHECK(job.payload() == "x" && job.valid());
                                    const int at_once = ++now;
                                    for (int seen = most;
                                         seen < at_once && !most.compare_exchange_weak(seen, at_once);) {
                                    }
                                    std::this_thread::sleep_for(10ms);
                                    now--;
                                    done++;
                                },
                                options};
        mails.put_many(std::vector<std::string_view>(40, "x"));
        eventually([&] { return done == 40; });
        CHECK(workers.stop());
    }
    CHECK(most > 1 && most <= 4 && idle(mails) && mails.dead().list().empty());
}

void what_a_handler_throws_puts_its_job_back() {
    dlock::queue_options twice;
    twice.max_attempts = 2;
    auto mails = open(twice);
    mails.put("x");
    std::vector<std::int64_t> attempts;
    std::vector<std::string> told;
    std::mutex mutex;
    dlock::consumer_options options;
    options.backoff = options.longest_backoff = 20ms;
    options.on_error = [&](const std::exception_ptr& error, const dlock::delivery* job) {
        const std::lock_guard lock{mutex};
        CHECK(job != nullptr && job->payload() == "x");
        try {
            std::rethrow_exception(error);
        } catch (const std::exception& cause) {
            told.emplace_back(cause.what());
        }
        throw std::logic_error("nobody minds");
    };
    dlock::consumer workers{mails,
                            [&](dlock::delivery& job) {
                                const std::lock_guard lock{mutex};
                                attempts.push_back(job.attempt());
                                throw std::out_of_range("secret");
                            },
                            options};
    eventually([&] { return mails.counts().dead == 1; });
    CHECK(workers.stop());
    const std::vector<std::int64_t> both{1, 2};
    CHECK(attempts == both && told == std::vector<std::string>(2, "secret"));
    CHECK(mails.dead().list().at(0).reason == "std::out_of_range");
}

void the_text_of_what_is_thrown_is_kept_where_asked() {
    dlock::queue_options once;
    once.max_attempts = 1;
    auto mails = open(once);
    for (const char* id : {"0", "1", "2"}) {
        dlock::job_options with_id;
        with_id.id = id;
        mails.put("x", with_id);
    }
    dlock::consumer_options options;
    options.reason = dlock::failure_reason::text;
    dlock::consumer workers{mails,
                            [&](dlock::delivery& job) {
                                if (job.id() == "0") throw std::out_of_range("no route\nto \x1b[31mhost");
                                if (job.id() == "1") throw std::out_of_range("");
                                throw 2;
                            },
                            options};
    eventually([&] { return mails.counts().dead == 3; });
    CHECK(workers.stop());
    std::map<std::string, std::string> reasons;
    for (const auto& job : mails.dead().list()) reasons[job.id] = job.reason.value_or("none");
    CHECK(reasons["0"] == "std::out_of_range: no route\\nto \\u{1b}[31mhost");
    CHECK(reasons["1"] == "std::out_of_range" && reasons["2"] == "int");
}

void a_handler_may_end_its_delivery() {
    auto mails = open();
    mails.put("x");
    std::atomic<int> told{0}, calls{0};
    dlock::consumer_options options;
    options.on_error = [&](const std::exception_ptr&, const dlock::delivery*) { told++; };
    dlock::consumer workers{mails,
                            [&](dlock::delivery& job) {
                                if (++calls == 1) return job.nack();
                                job.ack();
                                throw std::runtime_error("after it was done");
                            },
                            options};
    eventually([&] { return calls == 2 && idle(mails); });
    CHECK(workers.stop() && calls == 2 && told == 1);
}

void a_stop_puts_back_what_is_not_done_in_time() {
    auto mails = open();
    mails.put_many({"x", "y"});
    gate finished;
    std::atomic<int> begun{0}, lost{0};
    {
        dlock::consumer_options options;
        options.concurrency = 2;
        dlock::consumer workers{mails,
                                [&](dlock::delivery& job) {
                                    begun++;
                                    finished.pass();
                                    if (!job.valid()) lost++;
                                },
                                options};
        eventually([&] { return begun == 2; });
        CHECK(!workers.stop(50ms) && mails.counts().in_flight == 0 && mails.counts().ready == 2);
        finished.open();
    }
    CHECK(lost == 2 && mails.counts().ready == 2);
    mails.purge();
}

/// The server answers nobody for a while.
void pause_server(std::chrono::milliseconds time) {
    const std::string url = server_url();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(url.rfind(':') + 1))));
    const int to = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(to >= 0 && connect(to, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    // As the user of private_redis.py who may do that.
    const std::string command =
        "AUTH private-admin any-password\r\nCLIENT PAUSE " + std::to_string(time.count()) + " ALL\r\n";
    CHECK(write(to, command.data(), command.size()) == static_cast<ssize_t>(command.size()));
    std::string reply;
    while (std::count(reply.begin(), reply.end(), '\n') < 2) {
        char part[64];
        const ssize_t length = read(to, part, sizeof part);
        CHECK(length > 0 || (length < 0 && errno == EINTR));
        reply.append(part, length > 0 ? static_cast<std::size_t>(length) : 0);
    }
    if (reply != "+OK\r\n+OK\r\n") std::cerr << "CLIENT PAUSE: " << reply;
    CHECK(reply == "+OK\r\n+OK\r\n");
    close(to);
}

void a_stop_does_not_wait_for_a_server_that_is_away() {
    auto mails = open();
    mails.put_many({"x", "y"});
    gate finished;
    std::atomic<int> begun{0};
    dlock::consumer_options options;
    options.concurrency = 2;
    dlock::consumer workers{mails,
                            [&](dlock::delivery&) {
                                begun++;
                                finished.pass();
                            },
                            options};
    eventually([&] { return begun == 2; });
    const auto away = 5s;
    pause_server(away);
    const auto start = std::chrono::steady_clock::now();
    CHECK(!workers.stop(50ms) && std::chrono::steady_clock::now() - start < away - 1s);
    finished.open();
    eventually([&] { return mails.counts().ready == 2; });
    mails.purge();
}

void a_handler_may_ask_for_the_stop() {
    auto mails = open();
    mails.put_many({"x", "y"});
    dlock::consumer* self = nullptr;
    gate made;
    dlock::consumer workers{mails, [&](dlock::delivery&) {
                                made.pass();
                                self->request_stop();
                            }};
    self = &workers;
    made.open();
    workers.wait();
    CHECK(workers.stop(0ms) && mails.counts().ready == 1 && mails.counts().in_flight == 0);
    mails.purge();
}

void an_error_that_stays_ends_it() {
    dlock::client own{server_url()};
    dlock::queue mails{own, case_queue()};
    dlock::consumer workers{mails, [](dlock::delivery&) {}};
    own.close();
    thrown<dlock::closed>([&] { workers.wait(); });
    CHECK(workers.stop());
}

void nonsense_is_refused() {
    auto mails = open();
    dlock::consumer_options options;
    options.concurrency = 0;
    thrown<dlock::invalid_argument>([&] { dlock::consumer{mails, [](dlock::delivery&) {}, options}; });
    options.concurrency = 10'001;
    thrown<dlock::invalid_argument>([&] { dlock::consumer{mails, [](dlock::delivery&) {}, options}; });
    options.concurrency = 1;
    options.backoff = -1ms;
    thrown<dlock::invalid_argument>([&] { dlock::consumer{mails, [](dlock::delivery&) {}, options}; });
    thrown<dlock::invalid_argument>([&] { dlock::consumer{mails, nullptr}; });
}

} // namespace

int main() {
    RUN(jobs_are_done_several_at_a_time);
    RUN(what_a_handler_throws_puts_its_job_back);
    RUN(the_text_of_what_is_thrown_is_kept_where_asked);
    RUN(a_handler_may_end_its_delivery);
    RUN(a_stop_puts_back_what_is_not_done_in_time);
    RUN(a_stop_does_not_wait_for_a_server_that_is_away);
    RUN(a_handler_may_ask_for_the_stop);
    RUN(an_error_that_stays_ends_it);
    RUN(nonsense_is_refused);
}
