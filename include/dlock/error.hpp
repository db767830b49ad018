/*
 * dlock/error.hpp: the exceptions of dlock.hpp, one type for each kind of error.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DLOCK_ERROR_HPP
#define DLOCK_ERROR_HPP

#if __cplusplus < 201703L
#error                                                                                                                 \
    "the C++ headers of libdlock need C++17: compile with -std=c++17 or later, or use dlock.h, which needs only C++98"
#elif !defined(__cpp_exceptions) && !defined(_CPPUNWIND)
#error "the C++ headers of libdlock need exceptions: compile without -fno-exceptions, or use dlock.h, which needs none"
#else
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>

#include "../dlock.h"

namespace dlock {

/// What went wrong; the base of every exception of libdlock.
class error : public std::runtime_error {
public:
    explicit error(const dlock_error_t& cause)
        : std::runtime_error(describe(cause)), code_(cause.code), op_(cause.op), name_(cause.name),
          holder_(cause.holder), allowed_(cause.allowed), remaining_ms_(cause.remaining_ms),
          retry_after_us_(cause.retry_after_us), retryable_(cause.retryable) {}

    /// The frozen number, such as DLOCK_NOT_HELD.
    [[nodiscard]] dlock_status_t code() const noexcept { return code_; }
    /// The kind's name, such as "NOT_HELD".
    [[nodiscard]] const char* kind() const noexcept { return dlock_status_name(code_); }
    /// What was being done, such as "release".
    [[nodiscard]] const std::string& op() const noexcept { return op_; }
    /// The object it was done to; empty when there is none.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    /// The owner in the way, as it stands on the server; empty when none is known.
    [[nodiscard]] const std::string& holder() const noexcept { return holder_; }
    /// How much of that holder's lease was left when it was seen, if that is known; the holder may renew it.
    [[nodiscard]] std::optional<std::chrono::milliseconds> remaining() const {
        return known<std::chrono::milliseconds>(remaining_ms_);
    }
    /// After how long asking again can succeed, at the soonest: of a clock_error, until the clock is no longer behind.
    /// A limiter's refusal is not thrown: see decision::retry_after.
    [[nodiscard]] std::optional<std::chrono::microseconds> retry_after() const {
        return known<std::chrono::microseconds>(retry_after_us_);
    }
    /// What is allowed in place of the value that was refused, such as "100 ms to 24 h"; empty when that is not said.
    [[nodiscard]] const std::string& allowed() const noexcept { return allowed_; }
    /// Whether the same call, made again later, can succeed although the program changes nothing: of a
    /// connection_failed, where the server cannot be reached, but not with a wrong password.
    [[nodiscard]] bool retryable() const noexcept { return retryable_; }

private:
    template <class Unit> [[nodiscard]] static std::optional<Unit> known(std::int64_t count) {
        if (count < 0) return std::nullopt;
        return Unit(count);
    }

    static std::string describe(const dlock_error_t& cause) {
        std::string text = cause.op;
        if (cause.name[0] != '\0') text.append(" \"").append(cause.name).append("\"");
        return text.append(": ").append(cause.message);
    }

    dlock_status_t code_;
    std::string op_;
    std::string name_;
    std::string holder_;
    std::string allowed_;
    std::int64_t remaining_ms_;
    std::int64_t retry_after_us_;
    bool retryable_;
};

// <api:families> written by `python3 api/write.py` from api/errors.json
/// The program asks for something that cannot be; it has to be changed.
class usage_error : public error {
public:
    using error::error;
};
/// The server, or the way to it, does not do what was asked.
class unavailable : public error {
public:
    using error::error;
};
/// The caller does not hold what it acts on, or not any more.
class hold_ended : public error {
public:
    using error::error;
};

namespace detail {

/// The class above that of a kind.
template <dlock_status_t Code> struct above { using type = error; };
template <> struct above<DLOCK_INVALID_ARGUMENT> { using type = usage_error; };
template <> struct above<DLOCK_INVALID_NAME> { using type = usage_error; };
template <> struct above<DLOCK_DEADLOCK> { using type = usage_error; };
template <> struct above<DLOCK_WRONG_TYPE> { using type = usage_error; };
template <> struct above<DLOCK_FORKED> { using type = usage_error; };
template <> struct above<DLOCK_UNSUPPORTED> { using type = usage_error; };
template <> struct above<DLOCK_CONNECTION> { using type = unavailable; };
template <> struct above<DLOCK_OUTCOME_UNKNOWN> { using type = unavailable; };
template <> struct above<DLOCK_SERVER> { using type = unavailable; };
template <> struct above<DLOCK_OUT_OF_MEMORY> { using type = unavailable; };
template <> struct above<DLOCK_NO_PERMISSION> { using type = unavailable; };
template <> struct above<DLOCK_FULL> { using type = unavailable; };
template <> struct above<DLOCK_NOT_HELD> { using type = hold_ended; };
template <> struct above<DLOCK_LOST> { using type = hold_ended; };

} // namespace detail
// </api:families>

/// One kind of error, below its family if it has one.
template <dlock_status_t Code> class error_of : public detail::above<Code>::type {
    using base = typename detail::above<Code>::type;

public:
    using base::base;
};

// <api:classes> written by `python3 api/write.py` from api/errors.json
/// Not acquired within the wait; for a wait for a loss, not lost within it.
using acquire_timeout = error_of<DLOCK_BUSY>;
/// A rate limiter refused for now.
using limited = error_of<DLOCK_LIMITED>;
/// A value was refused before any I/O; the message says which, and what is allowed.
using invalid_argument = error_of<DLOCK_INVALID_ARGUMENT>;
/// A name was refused before any I/O: empty, longer than 512 bytes, not UTF-8, with a NUL, with braces that are
/// no cluster's hash tag, or the name of a companion key such as `dlock_seen:{a}`.
using invalid_name = error_of<DLOCK_INVALID_NAME>;
/// Release or extend by a caller that does not hold it, or not any more.
using not_held = error_of<DLOCK_NOT_HELD>;
/// What was held was lost: its lease ran out, or it was taken away.
using lock_lost = error_of<DLOCK_LOST>;
/// The holder would wait for itself: it acquires again what is not re-entrant, or it reads and wants to write.
using deadlock = error_of<DLOCK_DEADLOCK>;
/// The server cannot be reached or did not answer in time, or refuses the connection or the password; what was
/// asked for was not done there, or is undone.
using connection_failed = error_of<DLOCK_CONNECTION>;
/// The request was sent and no reply came: it may or may not have been carried out.
using outcome_unknown = error_of<DLOCK_OUTCOME_UNKNOWN>;
/// The server answered with an error that has no kind of its own.
using server_error = error_of<DLOCK_SERVER>;
/// The key holds something else; it was left untouched.
using wrong_type = error_of<DLOCK_WRONG_TYPE>;
/// The server is at its memory limit and refused to write.
using out_of_memory = error_of<DLOCK_OUT_OF_MEMORY>;
/// The server's access list forbids the command, key or channel; the message names the missing rule.
using no_permission = error_of<DLOCK_NO_PERMISSION>;
/// The caller cancelled the operation.
using cancelled = error_of<DLOCK_CANCELLED>;
/// The object was closed or freed.
using closed = error_of<DLOCK_CLOSED>;
/// An object from before a fork was used in the child; connect again there.
using forked = error_of<DLOCK_FORKED>;
/// A clock is behind or jumps by more than the call waits for, or is past the end of a layout's time.
using clock_error = error_of<DLOCK_CLOCK>;
/// A defect in libdlock; panics end here too.
using internal_error = error_of<DLOCK_INTERNAL>;
/// This server, or this version of libdlock, cannot do it; the message says what can.
using unsupported = error_of<DLOCK_UNSUPPORTED>;
/// The queue holds as many jobs as it may; nothing was put.
using queue_full = error_of<DLOCK_FULL>;
// </api:classes>

namespace detail {

template <dlock_status_t... Codes> [[noreturn]] void raise_one_of(const dlock_error_t& cause) {
    ((cause.code == Codes ? throw error_of<Codes>(cause) : void()), ...);
    throw error(cause);
}

[[noreturn]] inline void raise(const dlock_error_t& cause) {
    // <api:raised> written by `python3 api/write.py` from api/errors.json
    raise_one_of<DLOCK_BUSY, DLOCK_LIMITED, DLOCK_INVALID_ARGUMENT, DLOCK_INVALID_NAME, DLOCK_NOT_HELD, DLOCK_LOST,
                 DLOCK_DEADLOCK, DLOCK_CONNECTION, DLOCK_OUTCOME_UNKNOWN, DLOCK_SERVER, DLOCK_WRONG_TYPE,
                 DLOCK_OUT_OF_MEMORY, DLOCK_NO_PERMISSION, DLOCK_CANCELLED, DLOCK_CLOSED, DLOCK_FORKED, DLOCK_CLOCK,
                 DLOCK_INTERNAL, DLOCK_UNSUPPORTED, DLOCK_FULL>(cause);
    // </api:raised>
}

/// What the classes refuse by themselves, as an invalid argument.
[[noreturn]] inline void refuse(const char* op, const char* message) {
    dlock_error_t cause = DLOCK_ERROR_INIT;
    cause.code = DLOCK_INVALID_ARGUMENT;
    std::snprintf(cause.op, sizeof cause.op, "%s", op);
    std::snprintf(cause.message, sizeof cause.message, "%s", message);
    raise(cause);
}

/// Calls `call` with an error to fill in; true when done, false when busy, otherwise throws.
template <class Call> [[nodiscard]] bool done_or_busy(Call&& call) {
    dlock_error_t cause = DLOCK_ERROR_INIT;
    const dlock_status_t status = call(&cause);
    if (status != DLOCK_OK && status != DLOCK_BUSY) raise(cause);
    return status == DLOCK_OK;
}

/// Calls `call` with an error to fill in; throws when it is.
template <class Call> void check(Call&& call) {
    dlock_error_t cause = DLOCK_ERROR_INIT;
    if (call(&cause) != DLOCK_OK) raise(cause);
}

} // namespace detail

} // namespace dlock

#endif

#endif
