/* Every exported function, called with nothing but NULL and 0. run.py compares the list with what the library exports.
 */
#ifndef EXPORTS_H
#define EXPORTS_H

#include <dlock.h>

/* X(function, call): the call ends with `error` where the function takes one. */
// <api:exports> written by `python3 api/write.py` from include/dlock.h
#define EACH_FALLIBLE_EXPORT(X)                                                                                        \
    X(dlock_client_open, dlock_client_open(NULL, 0, NULL, NULL, error))                                                \
    X(dlock_client_close, dlock_client_close(NULL, false, error))                                                      \
    X(dlock_client_is_closed, dlock_client_is_closed(NULL, NULL, error))                                               \
    X(dlock_client_free, dlock_client_free(NULL))                                                                      \
    X(dlock_client_stats, dlock_client_stats(NULL, NULL, error))                                                       \
    X(dlock_client_lock_stats, dlock_client_lock_stats(NULL, NULL, error))                                             \
    X(dlock_client_limiter_stats, dlock_client_limiter_stats(NULL, NULL, error))                                       \
    X(dlock_client_semaphore_stats, dlock_client_semaphore_stats(NULL, NULL, error))                                   \
    X(dlock_lock_open, dlock_lock_open(NULL, NULL, 0, NULL, NULL, error))                                              \
    X(dlock_lock_free, dlock_lock_free(NULL))                                                                          \
    X(dlock_lock_name, dlock_lock_name(NULL, NULL, 0, NULL, error))                                                    \
    X(dlock_lock_acquire, dlock_lock_acquire(NULL, NULL, NULL, error))                                                 \
    X(dlock_lock_try_acquire, dlock_lock_try_acquire(NULL, NULL, error))                                               \
    X(dlock_lock_take, dlock_lock_take(NULL, NULL, NULL, error))                                                       \
    X(dlock_lock_release, dlock_lock_release(NULL, error))                                                             \
    X(dlock_lock_extend, dlock_lock_extend(NULL, 0, error))                                                            \
    X(dlock_lock_force_release, dlock_lock_force_release(NULL, NULL, error))                                           \
    X(dlock_lock_inspect, dlock_lock_inspect(NULL, NULL, error))                                                       \
    X(dlock_lock_hold_count, dlock_lock_hold_count(NULL, NULL, error))                                                 \
    X(dlock_lock_held, dlock_lock_held(NULL, NULL, error))                                                             \
    X(dlock_lock_detach, dlock_lock_detach(NULL, NULL, error))                                                         \
    X(dlock_lock_attach, dlock_lock_attach(NULL, NULL, 0, NULL, error))                                                \
    X(dlock_held_token, dlock_held_token(NULL, NULL, error))                                                           \
    X(dlock_held_owner, dlock_held_owner(NULL, NULL, 0, NULL, error))                                                  \
    X(dlock_held_is_valid, dlock_held_is_valid(NULL, NULL, error))                                                     \
    X(dlock_held_remaining_ms, dlock_held_remaining_ms(NULL, NULL, error))                                             \
    X(dlock_held_lost, dlock_held_lost(NULL, NULL, error))                                                             \
    X(dlock_held_wait_lost, dlock_held_wait_lost(NULL, 0, NULL, NULL, error))                                          \
    X(dlock_held_reenter, dlock_held_reenter(NULL, error))                                                             \
    X(dlock_held_hold_count, dlock_held_hold_count(NULL, NULL, error))                                                 \
    X(dlock_held_release, dlock_held_release(NULL, error))                                                             \
    X(dlock_held_extend, dlock_held_extend(NULL, 0, error))                                                            \
    X(dlock_held_detach, dlock_held_detach(NULL, NULL, error))                                                         \
    X(dlock_held_free, dlock_held_free(NULL))                                                                          \
    X(dlock_rate_limiter_open, dlock_rate_limiter_open(NULL, NULL, 0, 0, 0, NULL, NULL, error))                        \
    X(dlock_rate_limiter_free, dlock_rate_limiter_free(NULL))                                                          \
    X(dlock_rate_limiter_name, dlock_rate_limiter_name(NULL, NULL, 0, NULL, error))                                    \
    X(dlock_rate_limiter_acquire, dlock_rate_limiter_acquire(NULL, 0, 0, NULL, NULL, error))                           \
    X(dlock_rate_limiter_try_acquire, dlock_rate_limiter_try_acquire(NULL, 0, NULL, error))                            \
    X(dlock_rate_limiter_peek, dlock_rate_limiter_peek(NULL, NULL, error))                                             \
    X(dlock_rate_limiter_reset, dlock_rate_limiter_reset(NULL, error))                                                 \
    X(dlock_layout_named, dlock_layout_named(NULL, 0, NULL, error))                                                    \
    X(dlock_layout_decode, dlock_layout_decode(NULL, 0, NULL, error))                                                  \
    X(dlock_snowflake_open, dlock_snowflake_open(0, 0, NULL, NULL, error))                                             \
    X(dlock_snowflake_next_id, dlock_snowflake_next_id(NULL, NULL, error))                                             \
    X(dlock_snowflake_next_ids, dlock_snowflake_next_ids(NULL, NULL, 0, error))                                        \
    X(dlock_snowflake_decode, dlock_snowflake_decode(NULL, 0, NULL, error))                                            \
    X(dlock_snowflake_free, dlock_snowflake_free(NULL))                                                                \
    X(dlock_id_encode, dlock_id_encode(0, 0, NULL, 0, NULL, error))                                                    \
    X(dlock_id_parse, dlock_id_parse(NULL, 0, 0, NULL, error))                                                         \
    X(dlock_cancel_new, dlock_cancel_new(NULL, error))                                                                 \
    X(dlock_cancel_fire, dlock_cancel_fire(NULL, error))                                                               \
    X(dlock_cancel_free, dlock_cancel_free(NULL))                                                                      \
    X(dlock_port_new, dlock_port_new(NULL, error))                                                                     \
    X(dlock_port_fd, dlock_port_fd(NULL, NULL, error))                                                                 \
    X(dlock_port_drain, dlock_port_drain(NULL, NULL, 0, 0, NULL, error))                                               \
    X(dlock_op_cancel, dlock_op_cancel(NULL, NULL, error))                                                             \
    X(dlock_port_free, dlock_port_free(NULL))                                                                          \
    X(dlock_submit_client_open, dlock_submit_client_open(NULL, NULL, 0, NULL, NULL, NULL, error))                      \
    X(dlock_submit_client_close, dlock_submit_client_close(NULL, NULL, false, NULL, NULL, error))                      \
    X(dlock_submit_acquire, dlock_submit_acquire(NULL, NULL, NULL, NULL, NULL, error))                                 \
    X(dlock_submit_release, dlock_submit_release(NULL, NULL, NULL, NULL, error))                                       \
    X(dlock_submit_extend, dlock_submit_extend(NULL, NULL, 0, NULL, NULL, error))                                      \
    X(dlock_submit_detach, dlock_submit_detach(NULL, NULL, NULL, NULL, error))                                         \
    X(dlock_submit_attach, dlock_submit_attach(NULL, NULL, NULL, 0, NULL, NULL, error))                                \
    X(dlock_submit_force_release, dlock_submit_force_release(NULL, NULL, NULL, NULL, error))                           \
    X(dlock_submit_inspect, dlock_submit_inspect(NULL, NULL, NULL, NULL, error))                                       \
    X(dlock_submit_wait_lost, dlock_submit_wait_lost(NULL, NULL, 0, NULL, NULL, error))                                \
    X(dlock_submit_rate_limit, dlock_submit_rate_limit(NULL, NULL, 0, 0, NULL, NULL, error))                           \
    X(dlock_submit_rate_limit_reset, dlock_submit_rate_limit_reset(NULL, NULL, NULL, NULL, error))
// </api:exports>

#define EACH_EXPORT(X)                                                                                                 \
    EACH_FALLIBLE_EXPORT(X)                                                                                            \
    X(dlock_status_name, says(dlock_status_name(DLOCK_OK)))                                                            \
    X(dlock_version, says(dlock_version()))                                                                            \
    X(dlock_abi_version, dlock_abi_version() == DLOCK_ABI_VERSION ? DLOCK_OK : DLOCK_INTERNAL)

/* Ends the library, so it is called after all others. */
#define LAST_EXPORT(X) X(dlock_shutdown, dlock_shutdown(error))

/* For a function that answers with a text: a panic in it shows as a text that says nothing. */
static inline dlock_status_t says(const char* text) {
    return text[0] == '\0' || text[0] == 'U' ? DLOCK_INTERNAL : DLOCK_OK;
}

#endif
