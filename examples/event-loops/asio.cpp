// The same around Asio: a stream descriptor waits for the completion port, callbacks run on the thread of the
// io_context.
//
//     c++ -std=c++17 asio.cpp -o asio $(pkg-config --cflags --libs dlock) -pthread && REDIS_URL=redis://127.0.0.1:6379
//     ./asio
#include <asio.hpp>
#include <chrono>
#include <cstdlib>
#include <dlock.hpp>
#include <functional>
#include <iostream>
#include <utility>

/// Dispatches a port whenever it has something. The port has to outlive it.
class dispatcher {
public:
    dispatcher(asio::io_context& loop, dlock::port& port) : port_{port}, wakes_{loop, port.fd()} { wait(); }
    dispatcher(const dispatcher&) = delete;
    dispatcher& operator=(const dispatcher&) = delete;
    /// The descriptor is the port's to close.
    ~dispatcher() { wakes_.release(); }

    /// Lets the loop end. On its thread.
    void stop() {
        stopped_ = true;
        wakes_.cancel();
    }

private:
    void wait() {
        wakes_.async_wait(asio::posix::stream_descriptor::wait_read, [this](asio::error_code stopped) {
            if (stopped) return;
            port_.dispatch();
            if (!stopped_) wait();
        });
    }

    dlock::port& port_;
    asio::posix::stream_descriptor wakes_;
    bool stopped_ = false;
};

int main() {
    constexpr int jobs = 3;
    const char* url = std::getenv("REDIS_URL");
    asio::io_context loop;
    dlock::port port;
    dispatcher wakes{loop, port};

    dlock::client client{url != nullptr ? url : "memory://"};
    dlock::mutex orders{client, "orders"};
    unsigned long long ticks = 0;
    int done = 0;
    asio::steady_timer timer{loop};
    std::function<void(asio::error_code)> tick = [&](asio::error_code stopped) {
        if (stopped || done == jobs) return;
        ticks++;
        timer.expires_after(std::chrono::milliseconds(10));
        timer.async_wait(tick);
    };
    timer.expires_after(std::chrono::milliseconds(10));
    timer.async_wait(tick);
    for (int job = 0; job < jobs; job++) {
        port.acquire(orders).then([&, job](dlock::result<dlock::hold> got) {
            dlock::hold hold = got.get(); // throws what went wrong
            std::cout << "job " << job << " works under token " << hold.token() << "\n";
            port.release(std::move(hold)).then([&](dlock::result<void> released) {
                released.get();
                if (++done < jobs) return;
                timer.cancel();
                wakes.stop();
            });
        });
    }
    loop.run();
    std::cout << "done after " << ticks << " ticks\n";
    return done == jobs ? 0 : 1;
}
