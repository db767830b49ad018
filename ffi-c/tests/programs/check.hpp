// What the C++ test programs share beyond check.h: exceptions that are expected, calls on another thread, and the
// standard's named requirements of what its lock guards take.
#ifndef CHECK_HPP
#define CHECK_HPP

#include "check.h"

#include <dlock.hpp>

#include <future>
#include <string_view>
#include <type_traits>

using namespace std::chrono_literals;

inline dlock::client& shared_client() {
    static dlock::client client{server_url()};
    return client;
}

/// The exception that a call throws.
template <class Error, class Call> Error thrown(Call&& call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    check_failed(__FILE__, __LINE__, "the right exception", nullptr);
    std::abort();
}

inline bool says(const dlock::error& error, std::string_view text) {
    return std::string_view(error.what()).find(text) != std::string_view::npos;
}

template <class Call> auto elsewhere(Call&& call) { return std::async(std::launch::async, call).get(); }

template <class T>
constexpr bool move_only = std::is_nothrow_move_constructible_v<T>&& std::is_move_assignable_v<T> &&
                           !std::is_copy_constructible_v<T> && !std::is_copy_assignable_v<T>;

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
template <class T, class = void> struct is_shared_lockable : std::false_type {};
template <class T>
struct is_shared_lockable<
    T, std::void_t<decltype(std::declval<T&>().lock_shared()), decltype(std::declval<T&>().unlock_shared()),
                   decltype(bool{std::declval<T&>().try_lock_shared()})>>
    : std::is_same<decltype(std::declval<T&>().unlock_shared()), void> {};
template <class T, class = void> struct is_shared_timed_lockable : std::false_type {};
template <class T>
struct is_shared_timed_lockable<
    T, std::void_t<decltype(bool{std::declval<T&>().try_lock_shared_for(1ms)}),
                   decltype(bool{std::declval<T&>().try_lock_shared_until(std::chrono::steady_clock::now())})>>
    : is_shared_lockable<T> {};

#endif
