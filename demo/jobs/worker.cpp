// One C++ process of the demo's queues: puts COUNT jobs into the queue of NEXT, and does those of the queue of OWN.
//
//     worker URL NAME FOLDER WHO OWN NEXT COUNT
//
// To do a job is to make the file FOLDER/ID, which cannot be made twice. Prints `ready`, starts on a line of input,
// then prints its progress as JSON lines; stops when its input ends.

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <dlock.hpp>
#include <iostream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t concurrency = 4;
constexpr std::chrono::milliseconds inside{2};
constexpr std::chrono::milliseconds lease{2000};
constexpr std::chrono::milliseconds report_every{100};

struct arguments {
    std::string url, name, folder, who, own, next;
    long count;
};

struct progress {
    std::atomic<long> done{0}, repeated{0}, found_done{0};

    void add(bool made, std::int64_t attempt) {
        made ? done++ : found_done++;
        if (attempt > 1) repeated++;
    }
    void print() const {
        std::cout << "{\"done\": " + std::to_string(done) + ", \"repeated\": " + std::to_string(repeated) +
                         ", \"found_done\": " + std::to_string(found_done) + "}\n"
                  << std::flush;
    }
};

/// Does a job; false when it was done before.
bool make(const std::string& folder, const std::string& job, const std::string& who) {
    const int file = ::open((folder + "/" + job).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file < 0 && errno == EEXIST) return false;
    if (file < 0) throw std::system_error(errno, std::generic_category(), job);
    const bool written = ::write(file, who.data(), who.size()) == static_cast<ssize_t>(who.size());
    ::close(file);
    if (!written) throw std::runtime_error("cannot write " + job);
    return true;
}

void run(const arguments& given) {
    const dlock::client client{given.url};
    dlock::queue others{client, given.name + "-" + given.next};
    dlock::queue_options renewed;
    renewed.watchdog_lease = lease;
    dlock::queue mine{client, given.name + "-" + given.own, renewed};
    std::cout << "ready" << std::endl;
    std::string line;
    std::getline(std::cin, line);

    progress all;
    const auto work = [&](const dlock::delivery& job) {
        std::this_thread::sleep_for(inside);
        all.add(make(given.folder, job.id(), given.who), job.attempt());
    };
    dlock::consumer_options some;
    some.concurrency = concurrency;
    dlock::consumer workers{mine, work, some};
    std::atomic<bool> over{false};
    std::thread reports{[&] {
        while (!over) {
            std::this_thread::sleep_for(report_every);
            all.print();
        }
    }};
    std::vector<std::string> ids;
    for (long number = 0; number < given.count; number++) ids.push_back(given.who + "-" + std::to_string(number));
    std::vector<dlock::new_job> jobs;
    for (const auto& id : ids) {
        dlock::job_options named;
        named.id = id;
        jobs.push_back({id, named});
    }
    others.put_many(jobs);
    while (std::getline(std::cin, line)) {
    }
    workers.stop();
    over = true;
    reports.join();
    all.print();
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 8) {
        std::cerr << "usage: jobs-worker URL NAME FOLDER WHO OWN NEXT COUNT\n";
        return 2;
    }
    try {
        run({argv[1], argv[2], argv[3], argv[4], argv[5], argv[6], std::stol(argv[7])});
    } catch (const std::exception& error) {
        std::cerr << argv[4] << ": " << error.what() << '\n';
        return 1;
    }
    return 0;
}
