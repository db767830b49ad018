/*
 * dlock/error.hpp: the exceptions of dlock.hpp, one type for each kind of error.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef DLOCK_ERROR_HPP
#define DLOCK_ERROR_HPP

#include <stdexcept>
#include <string>

#include "../dlock.h"

namespace dlock {

/// What went wrong; the base of every exception of libdlock.
class error : public std::runtime_error {
public:
    explicit error(const dlock_error_t& cause)
        : std::runtime_error(describe(cause)), code_(cause.code), op_(cause.op), name_(cause.name) {}

    /// The frozen number, such as DLOCK_NOT_HELD.
    [[nodiscard]] dlock_status_t code() const noexcept { return code_; }
    /// The kind's name, such as "NOT_HELD".
    [[nodiscard]] const char* kind() const noexcept { return dlock_status_name(code_); }
    /// What was being done, such as "release".
    [[nodiscard]] const std::string& op() const noexcept { return op_; }
    /// The object it was done to; empty when there is none.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    static std::string describe(const dlock_error_t& cause) {
        std::string text = cause.op;
        if (cause.name[0] != '\0') text.append(" \"").append(cause.name).append("\"");
        return text.append(": ").append(cause.message);
    }

    dlock_status_t code_;
    std::string op_;
    std::string name_;
};

/// One kind of error.
template <dlock_status_t Code> class error_of : public error {
public:
    using error::error;
};

using acquire_timeout = error_of<DLOCK_BUSY>; ///< Not acquired within the wait.
using limited = error_of<DLOCK_LIMITED>;
using invalid_argument = error_of<DLOCK_INVALID_ARGUMENT>;
using invalid_name = error_of<DLOCK_INVALID_NAME>;
using not_held = error_of<DLOCK_NOT_HELD>;
using lock_lost = error_of<DLOCK_LOST>;
using deadlock = error_of<DLOCK_DEADLOCK>;
using connection_failed = error_of<DLOCK_CONNECTION>;
using outcome_unknown = error_of<DLOCK_OUTCOME_UNKNOWN>;
using server_error = error_of<DLOCK_SERVER>;
using wrong_type = error_of<DLOCK_WRONG_TYPE>;
using out_of_memory = error_of<DLOCK_OUT_OF_MEMORY>;
using no_permission = error_of<DLOCK_NO_PERMISSION>;
using cancelled = error_of<DLOCK_CANCELLED>;
using closed = error_of<DLOCK_CLOSED>;
using forked = error_of<DLOCK_FORKED>;
using clock_error = error_of<DLOCK_CLOCK>;
using internal_error = error_of<DLOCK_INTERNAL>;

namespace detail {

template <dlock_status_t... Codes> [[noreturn]] void raise_one_of(const dlock_error_t& cause) {
    ((cause.code == Codes ? throw error_of<Codes>(cause) : void()), ...);
    throw error(cause);
}

[[noreturn]] inline void raise(const dlock_error_t& cause) {
    raise_one_of<DLOCK_BUSY, DLOCK_LIMITED, DLOCK_INVALID_ARGUMENT, DLOCK_INVALID_NAME, DLOCK_NOT_HELD, DLOCK_LOST,
                 DLOCK_DEADLOCK, DLOCK_CONNECTION, DLOCK_OUTCOME_UNKNOWN, DLOCK_SERVER, DLOCK_WRONG_TYPE,
                 DLOCK_OUT_OF_MEMORY, DLOCK_NO_PERMISSION, DLOCK_CANCELLED, DLOCK_CLOSED, DLOCK_FORKED, DLOCK_CLOCK,
                 DLOCK_INTERNAL>(cause);
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
