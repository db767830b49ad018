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
    X(dlock_client_rw_lock_stats, dlock_client_rw_lock_stats(NULL, NULL, error))                                       \
    X(dlock_client_counting_semaphore_stats, dlock_client_counting_semaphore_stats(NULL, NULL, error))                 \
    X(dlock_client_latch_stats, dlock_client_latch_stats(NULL, NULL, error))                                           \
    X(dlock_client_worker_stats, dlock_client_worker_stats(NULL, NULL, error))                                         \
    X(dlock_client_queue_stats, dlock_client_queue_stats(NULL, NULL, error))                                           \
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
    X(dlock_held_permits, dlock_held_permits(NULL, NULL, 0, NULL, error))                                              \
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
    X(dlock_held_downgrade, dlock_held_downgrade(NULL, NULL, error))                                                   \
    X(dlock_held_free, dlock_held_free(NULL))                                                                          \
    X(dlock_lock_all_open, dlock_lock_all_open(NULL, NULL, NULL, 0, NULL, NULL, error))                                \
    X(dlock_lock_all_free, dlock_lock_all_free(NULL))                                                                  \
    X(dlock_lock_all_len, dlock_lock_all_len(NULL, NULL, error))                                                       \
    X(dlock_lock_all_name, dlock_lock_all_name(NULL, 0, NULL, 0, NULL, error))                                         \
    X(dlock_lock_all_acquire, dlock_lock_all_acquire(NULL, NULL, NULL, error))                                         \
    X(dlock_lock_all_try_acquire, dlock_lock_all_try_acquire(NULL, NULL, error))                                       \
    X(dlock_lock_all_take, dlock_lock_all_take(NULL, NULL, NULL, error))                                               \
    X(dlock_lock_all_release, dlock_lock_all_release(NULL, error))                                                     \
    X(dlock_lock_all_extend, dlock_lock_all_extend(NULL, 0, error))                                                    \
    X(dlock_lock_all_hold_count, dlock_lock_all_hold_count(NULL, NULL, error))                                         \
    X(dlock_lock_all_held, dlock_lock_all_held(NULL, NULL, error))                                                     \
    X(dlock_held_token_of, dlock_held_token_of(NULL, NULL, 0, NULL, error))                                            \
    X(dlock_held_tokens, dlock_held_tokens(NULL, NULL, 0, NULL, error))                                                \
    X(dlock_held_lost_name, dlock_held_lost_name(NULL, NULL, 0, NULL, NULL, error))                                    \
    X(dlock_rate_limiter_open, dlock_rate_limiter_open(NULL, NULL, 0, 0, 0, NULL, NULL, error))                        \
    X(dlock_rate_limiter_free, dlock_rate_limiter_free(NULL))                                                          \
    X(dlock_rate_limiter_name, dlock_rate_limiter_name(NULL, NULL, 0, NULL, error))                                    \
    X(dlock_rate_limiter_acquire, dlock_rate_limiter_acquire(NULL, 0, 0, NULL, NULL, error))                           \
    X(dlock_rate_limiter_try_acquire, dlock_rate_limiter_try_acquire(NULL, 0, NULL, error))                            \
    X(dlock_rate_limiter_peek, dlock_rate_limiter_peek(NULL, NULL, error))                                             \
    X(dlock_rate_limiter_reset, dlock_rate_limiter_reset(NULL, error))                                                 \
    X(dlock_rate_limiter_acquire_keyed, dlock_rate_limiter_acquire_keyed(NULL, NULL, 0, 0, 0, NULL, NULL, error))      \
    X(dlock_rate_limiter_try_acquire_keyed, dlock_rate_limiter_try_acquire_keyed(NULL, NULL, 0, 0, NULL, error))       \
    X(dlock_rate_limiter_peek_keyed, dlock_rate_limiter_peek_keyed(NULL, NULL, 0, NULL, error))                        \
    X(dlock_rate_limiter_reset_keyed, dlock_rate_limiter_reset_keyed(NULL, NULL, 0, error))                            \
    X(dlock_rate_limiter_reserve, dlock_rate_limiter_reserve(NULL, 0, 0, NULL, error))                                 \
    X(dlock_rate_limiter_penalty, dlock_rate_limiter_penalty(NULL, 0, error))                                          \
    X(dlock_rate_limiter_reward, dlock_rate_limiter_reward(NULL, 0, error))                                            \
    X(dlock_rate_limiter_block, dlock_rate_limiter_block(NULL, 0, error))                                              \
    X(dlock_rate_limiter_reserve_keyed, dlock_rate_limiter_reserve_keyed(NULL, NULL, 0, 0, 0, NULL, error))            \
    X(dlock_rate_limiter_penalty_keyed, dlock_rate_limiter_penalty_keyed(NULL, NULL, 0, 0, error))                     \
    X(dlock_rate_limiter_reward_keyed, dlock_rate_limiter_reward_keyed(NULL, NULL, 0, 0, error))                       \
    X(dlock_rate_limiter_block_keyed, dlock_rate_limiter_block_keyed(NULL, NULL, 0, 0, error))                         \
    X(dlock_rate_limiter_try_acquire_many,                                                                             \
      dlock_rate_limiter_try_acquire_many(NULL, NULL, 0, NULL, NULL, error, error))                                    \
    X(dlock_semaphore_open, dlock_semaphore_open(NULL, NULL, 0, 0, NULL, NULL, error))                                 \
    X(dlock_semaphore_free, dlock_semaphore_free(NULL))                                                                \
    X(dlock_semaphore_name, dlock_semaphore_name(NULL, NULL, 0, NULL, error))                                          \
    X(dlock_semaphore_acquire, dlock_semaphore_acquire(NULL, 0, NULL, NULL, error))                                    \
    X(dlock_semaphore_try_acquire, dlock_semaphore_try_acquire(NULL, 0, NULL, error))                                  \
    X(dlock_semaphore_take, dlock_semaphore_take(NULL, 0, NULL, NULL, error))                                          \
    X(dlock_semaphore_release, dlock_semaphore_release(NULL, NULL, error))                                             \
    X(dlock_semaphore_extend, dlock_semaphore_extend(NULL, NULL, 0, error))                                            \
    X(dlock_semaphore_hold_count, dlock_semaphore_hold_count(NULL, NULL, error))                                       \
    X(dlock_semaphore_held, dlock_semaphore_held(NULL, NULL, error))                                                   \
    X(dlock_semaphore_set_permits, dlock_semaphore_set_permits(NULL, 0, error))                                        \
    X(dlock_semaphore_inspect, dlock_semaphore_inspect(NULL, NULL, error))                                             \
    X(dlock_rw_lock_open, dlock_rw_lock_open(NULL, NULL, 0, 0, NULL, NULL, error))                                     \
    X(dlock_rw_lock_free, dlock_rw_lock_free(NULL))                                                                    \
    X(dlock_rw_lock_name, dlock_rw_lock_name(NULL, NULL, 0, NULL, error))                                              \
    X(dlock_rw_lock_acquire, dlock_rw_lock_acquire(NULL, NULL, NULL, error))                                           \
    X(dlock_rw_lock_try_acquire, dlock_rw_lock_try_acquire(NULL, NULL, error))                                         \
    X(dlock_rw_lock_take, dlock_rw_lock_take(NULL, NULL, NULL, error))                                                 \
    X(dlock_rw_lock_release, dlock_rw_lock_release(NULL, error))                                                       \
    X(dlock_rw_lock_downgrade, dlock_rw_lock_downgrade(NULL, NULL, error))                                             \
    X(dlock_rw_lock_extend, dlock_rw_lock_extend(NULL, 0, error))                                                      \
    X(dlock_rw_lock_hold_count, dlock_rw_lock_hold_count(NULL, NULL, error))                                           \
    X(dlock_rw_lock_held, dlock_rw_lock_held(NULL, NULL, error))                                                       \
    X(dlock_rw_lock_force_release, dlock_rw_lock_force_release(NULL, NULL, error))                                     \
    X(dlock_rw_lock_inspect, dlock_rw_lock_inspect(NULL, NULL, error))                                                 \
    X(dlock_latch_open, dlock_latch_open(NULL, NULL, 0, NULL, error))                                                  \
    X(dlock_latch_free, dlock_latch_free(NULL))                                                                        \
    X(dlock_latch_name, dlock_latch_name(NULL, NULL, 0, NULL, error))                                                  \
    X(dlock_latch_try_set_count, dlock_latch_try_set_count(NULL, 0, NULL, error))                                      \
    X(dlock_latch_count_down, dlock_latch_count_down(NULL, 0, NULL, error))                                            \
    X(dlock_latch_count, dlock_latch_count(NULL, NULL, error))                                                         \
    X(dlock_latch_wait, dlock_latch_wait(NULL, 0, NULL, NULL, error))                                                  \
    X(dlock_latch_delete, dlock_latch_delete(NULL, NULL, error))                                                       \
    X(dlock_id_generator_open, dlock_id_generator_open(NULL, NULL, 0, 0, 0, NULL, error))                              \
    X(dlock_id_generator_free, dlock_id_generator_free(NULL))                                                          \
    X(dlock_id_generator_name, dlock_id_generator_name(NULL, NULL, 0, NULL, error))                                    \
    X(dlock_id_generator_block_size, dlock_id_generator_block_size(NULL, NULL, error))                                 \
    X(dlock_id_generator_next_id, dlock_id_generator_next_id(NULL, NULL, error))                                       \
    X(dlock_id_generator_next_ids, dlock_id_generator_next_ids(NULL, NULL, 0, error))                                  \
    X(dlock_bloom_filter_open, dlock_bloom_filter_open(NULL, NULL, 0, 0, 0, 0, NULL, error))                           \
    X(dlock_bloom_filter_free, dlock_bloom_filter_free(NULL))                                                          \
    X(dlock_bloom_filter_name, dlock_bloom_filter_name(NULL, NULL, 0, NULL, error))                                    \
    X(dlock_bloom_filter_size, dlock_bloom_filter_size(NULL, NULL, error))                                             \
    X(dlock_bloom_filter_hashes, dlock_bloom_filter_hashes(NULL, NULL, error))                                         \
    X(dlock_bloom_filter_add, dlock_bloom_filter_add(NULL, NULL, NULL, 0, NULL, error))                                \
    X(dlock_bloom_filter_contains, dlock_bloom_filter_contains(NULL, NULL, NULL, 0, NULL, error))                      \
    X(dlock_bloom_filter_count, dlock_bloom_filter_count(NULL, NULL, error))                                           \
    X(dlock_bloom_filter_false_positive_rate, dlock_bloom_filter_false_positive_rate(NULL, NULL, error))               \
    X(dlock_bloom_filter_clear, dlock_bloom_filter_clear(NULL, NULL, error))                                           \
    X(dlock_counting_semaphore_open, dlock_counting_semaphore_open(NULL, NULL, 0, NULL, error))                        \
    X(dlock_counting_semaphore_free, dlock_counting_semaphore_free(NULL))                                              \
    X(dlock_counting_semaphore_name, dlock_counting_semaphore_name(NULL, NULL, 0, NULL, error))                        \
    X(dlock_counting_semaphore_try_set_permits, dlock_counting_semaphore_try_set_permits(NULL, 0, NULL, error))        \
    X(dlock_counting_semaphore_acquire, dlock_counting_semaphore_acquire(NULL, 0, 0, NULL, error))                     \
    X(dlock_counting_semaphore_try_acquire, dlock_counting_semaphore_try_acquire(NULL, 0, error))                      \
    X(dlock_counting_semaphore_release, dlock_counting_semaphore_release(NULL, 0, error))                              \
    X(dlock_counting_semaphore_add_permits, dlock_counting_semaphore_add_permits(NULL, 0, error))                      \
    X(dlock_counting_semaphore_drain, dlock_counting_semaphore_drain(NULL, NULL, error))                               \
    X(dlock_counting_semaphore_inspect, dlock_counting_semaphore_inspect(NULL, NULL, error))                           \
    X(dlock_queue_open, dlock_queue_open(NULL, NULL, 0, NULL, NULL, error))                                            \
    X(dlock_queue_followed_by, dlock_queue_followed_by(NULL, NULL, NULL, error))                                       \
    X(dlock_queue_free, dlock_queue_free(NULL))                                                                        \
    X(dlock_queue_name, dlock_queue_name(NULL, NULL, 0, NULL, error))                                                  \
    X(dlock_queue_put, dlock_queue_put(NULL, NULL, NULL, error))                                                       \
    X(dlock_queue_put_many, dlock_queue_put_many(NULL, NULL, 0, NULL, error))                                          \
    X(dlock_queue_take, dlock_queue_take(NULL, 0, NULL, NULL, error))                                                  \
    X(dlock_queue_take_many, dlock_queue_take_many(NULL, 0, 0, NULL, NULL, NULL, error))                               \
    X(dlock_backoff_ms, dlock_backoff_ms(0, 0, 0, NULL, error))                                                        \
    X(dlock_delivery_job, dlock_delivery_job(NULL, NULL, error))                                                       \
    X(dlock_delivery_queue, dlock_delivery_queue(NULL, NULL, 0, NULL, error))                                          \
    X(dlock_delivery_ack, dlock_delivery_ack(NULL, error))                                                             \
    X(dlock_queue_ack_many, dlock_queue_ack_many(NULL, NULL, 0, NULL, error))                                          \
    X(dlock_delivery_nack, dlock_delivery_nack(NULL, 0, NULL, 0, error))                                               \
    X(dlock_delivery_give_back, dlock_delivery_give_back(NULL, error))                                                 \
    X(dlock_queue_counts, dlock_queue_counts(NULL, NULL, error))                                                       \
    X(dlock_queue_peek, dlock_queue_peek(NULL, 0, NULL, error))                                                        \
    X(dlock_queue_dead, dlock_queue_dead(NULL, 0, NULL, error))                                                        \
    X(dlock_jobs_len, dlock_jobs_len(NULL, NULL, error))                                                               \
    X(dlock_jobs_get, dlock_jobs_get(NULL, 0, NULL, error))                                                            \
    X(dlock_jobs_free, dlock_jobs_free(NULL))                                                                          \
    X(dlock_queue_cancel, dlock_queue_cancel(NULL, NULL, 0, NULL, error))                                              \
    X(dlock_queue_purge, dlock_queue_purge(NULL, NULL, error))                                                         \
    X(dlock_queue_remove_dead, dlock_queue_remove_dead(NULL, NULL, 0, NULL, error))                                    \
    X(dlock_queue_purge_dead, dlock_queue_purge_dead(NULL, NULL, error))                                               \
    X(dlock_queue_requeue_dead, dlock_queue_requeue_dead(NULL, NULL, 0, NULL, error))                                  \
    X(dlock_queue_requeue_all_dead, dlock_queue_requeue_all_dead(NULL, NULL, error))                                   \
    X(dlock_layout_named, dlock_layout_named(NULL, 0, NULL, error))                                                    \
    X(dlock_layout_decode, dlock_layout_decode(NULL, 0, NULL, error))                                                  \
    X(dlock_snowflake_open, dlock_snowflake_open(0, 0, NULL, NULL, error))                                             \
    X(dlock_snowflake_next_id, dlock_snowflake_next_id(NULL, NULL, error))                                             \
    X(dlock_snowflake_next_ids, dlock_snowflake_next_ids(NULL, NULL, 0, error))                                        \
    X(dlock_snowflake_decode, dlock_snowflake_decode(NULL, 0, NULL, error))                                            \
    X(dlock_snowflake_free, dlock_snowflake_free(NULL))                                                                \
    X(dlock_id_encode, dlock_id_encode(0, 0, NULL, 0, NULL, error))                                                    \
    X(dlock_id_parse, dlock_id_parse(NULL, 0, 0, NULL, error))                                                         \
    X(dlock_worker_lease, dlock_worker_lease(NULL, NULL, 0, NULL, NULL, error))                                        \
    X(dlock_worker_number, dlock_worker_number(NULL, NULL, error))                                                     \
    X(dlock_worker_bits, dlock_worker_bits(NULL, NULL, error))                                                         \
    X(dlock_worker_pool, dlock_worker_pool(NULL, NULL, 0, NULL, error))                                                \
    X(dlock_worker_snowflake, dlock_worker_snowflake(NULL, NULL, NULL, error))                                         \
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
    X(dlock_submit_attach, dlock_submit_attach(NULL, NULL, NULL, 0, NULL, NULL, error))                                \
    X(dlock_submit_force_release, dlock_submit_force_release(NULL, NULL, NULL, NULL, error))                           \
    X(dlock_submit_inspect, dlock_submit_inspect(NULL, NULL, NULL, NULL, error))                                       \
    X(dlock_submit_release, dlock_submit_release(NULL, NULL, NULL, NULL, error))                                       \
    X(dlock_submit_extend, dlock_submit_extend(NULL, NULL, 0, NULL, NULL, error))                                      \
    X(dlock_submit_detach, dlock_submit_detach(NULL, NULL, NULL, NULL, error))                                         \
    X(dlock_submit_downgrade, dlock_submit_downgrade(NULL, NULL, NULL, NULL, error))                                   \
    X(dlock_submit_wait_lost, dlock_submit_wait_lost(NULL, NULL, 0, NULL, NULL, error))                                \
    X(dlock_submit_semaphore_acquire, dlock_submit_semaphore_acquire(NULL, NULL, 0, NULL, NULL, NULL, error))          \
    X(dlock_submit_semaphore_set_permits, dlock_submit_semaphore_set_permits(NULL, NULL, 0, NULL, NULL, error))        \
    X(dlock_submit_semaphore_inspect, dlock_submit_semaphore_inspect(NULL, NULL, NULL, NULL, error))                   \
    X(dlock_submit_rw_lock_acquire, dlock_submit_rw_lock_acquire(NULL, NULL, NULL, NULL, NULL, error))                 \
    X(dlock_submit_rw_lock_force_release, dlock_submit_rw_lock_force_release(NULL, NULL, NULL, NULL, error))           \
    X(dlock_submit_rw_lock_inspect, dlock_submit_rw_lock_inspect(NULL, NULL, NULL, NULL, error))                       \
    X(dlock_submit_lock_all_acquire, dlock_submit_lock_all_acquire(NULL, NULL, NULL, NULL, NULL, error))               \
    X(dlock_submit_rate_limit, dlock_submit_rate_limit(NULL, NULL, 0, 0, NULL, NULL, error))                           \
    X(dlock_submit_rate_limit_reset, dlock_submit_rate_limit_reset(NULL, NULL, NULL, NULL, error))                     \
    X(dlock_submit_rate_limit_keyed, dlock_submit_rate_limit_keyed(NULL, NULL, NULL, 0, 0, 0, NULL, NULL, error))      \
    X(dlock_submit_rate_limit_reset_keyed,                                                                             \
      dlock_submit_rate_limit_reset_keyed(NULL, NULL, NULL, 0, NULL, NULL, error))                                     \
    X(dlock_submit_rate_limit_reserve, dlock_submit_rate_limit_reserve(NULL, NULL, 0, 0, NULL, NULL, error))           \
    X(dlock_submit_rate_limit_penalty, dlock_submit_rate_limit_penalty(NULL, NULL, 0, NULL, NULL, error))              \
    X(dlock_submit_rate_limit_reward, dlock_submit_rate_limit_reward(NULL, NULL, 0, NULL, NULL, error))                \
    X(dlock_submit_rate_limit_block, dlock_submit_rate_limit_block(NULL, NULL, 0, NULL, NULL, error))                  \
    X(dlock_submit_rate_limit_reserve_keyed,                                                                           \
      dlock_submit_rate_limit_reserve_keyed(NULL, NULL, NULL, 0, 0, 0, NULL, NULL, error))                             \
    X(dlock_submit_rate_limit_penalty_keyed,                                                                           \
      dlock_submit_rate_limit_penalty_keyed(NULL, NULL, NULL, 0, 0, NULL, NULL, error))                                \
    X(dlock_submit_rate_limit_reward_keyed,                                                                            \
      dlock_submit_rate_limit_reward_keyed(NULL, NULL, NULL, 0, 0, NULL, NULL, error))                                 \
    X(dlock_submit_rate_limit_block_keyed,                                                                             \
      dlock_submit_rate_limit_block_keyed(NULL, NULL, NULL, 0, 0, NULL, NULL, error))                                  \
    X(dlock_submit_latch_try_set_count, dlock_submit_latch_try_set_count(NULL, NULL, 0, NULL, NULL, error))            \
    X(dlock_submit_latch_count_down, dlock_submit_latch_count_down(NULL, NULL, 0, NULL, NULL, error))                  \
    X(dlock_submit_latch_count, dlock_submit_latch_count(NULL, NULL, NULL, NULL, error))                               \
    X(dlock_submit_latch_wait, dlock_submit_latch_wait(NULL, NULL, 0, NULL, NULL, error))                              \
    X(dlock_submit_latch_delete, dlock_submit_latch_delete(NULL, NULL, NULL, NULL, error))                             \
    X(dlock_submit_id_generator_next_id, dlock_submit_id_generator_next_id(NULL, NULL, NULL, NULL, error))             \
    X(dlock_submit_bloom_filter_add, dlock_submit_bloom_filter_add(NULL, NULL, NULL, 0, NULL, NULL, error))            \
    X(dlock_submit_bloom_filter_contains, dlock_submit_bloom_filter_contains(NULL, NULL, NULL, 0, NULL, NULL, error))  \
    X(dlock_submit_bloom_filter_count, dlock_submit_bloom_filter_count(NULL, NULL, NULL, NULL, error))                 \
    X(dlock_submit_bloom_filter_clear, dlock_submit_bloom_filter_clear(NULL, NULL, NULL, NULL, error))                 \
    X(dlock_submit_counting_semaphore_try_set_permits,                                                                 \
      dlock_submit_counting_semaphore_try_set_permits(NULL, NULL, 0, NULL, NULL, error))                               \
    X(dlock_submit_counting_semaphore_acquire,                                                                         \
      dlock_submit_counting_semaphore_acquire(NULL, NULL, 0, 0, NULL, NULL, error))                                    \
    X(dlock_submit_counting_semaphore_release,                                                                         \
      dlock_submit_counting_semaphore_release(NULL, NULL, 0, NULL, NULL, error))                                       \
    X(dlock_submit_counting_semaphore_add_permits,                                                                     \
      dlock_submit_counting_semaphore_add_permits(NULL, NULL, 0, NULL, NULL, error))                                   \
    X(dlock_submit_counting_semaphore_drain, dlock_submit_counting_semaphore_drain(NULL, NULL, NULL, NULL, error))     \
    X(dlock_submit_counting_semaphore_inspect, dlock_submit_counting_semaphore_inspect(NULL, NULL, NULL, NULL, error)) \
    X(dlock_submit_queue_put, dlock_submit_queue_put(NULL, NULL, NULL, NULL, NULL, error))                             \
    X(dlock_submit_queue_take, dlock_submit_queue_take(NULL, NULL, 0, NULL, NULL, error))                              \
    X(dlock_submit_queue_counts, dlock_submit_queue_counts(NULL, NULL, NULL, NULL, error))                             \
    X(dlock_submit_queue_peek, dlock_submit_queue_peek(NULL, NULL, 0, NULL, NULL, error))                              \
    X(dlock_submit_queue_dead, dlock_submit_queue_dead(NULL, NULL, 0, NULL, NULL, error))                              \
    X(dlock_submit_queue_cancel, dlock_submit_queue_cancel(NULL, NULL, NULL, 0, NULL, NULL, error))                    \
    X(dlock_submit_queue_remove_dead, dlock_submit_queue_remove_dead(NULL, NULL, NULL, 0, NULL, NULL, error))          \
    X(dlock_submit_queue_requeue_dead, dlock_submit_queue_requeue_dead(NULL, NULL, NULL, 0, NULL, NULL, error))        \
    X(dlock_submit_queue_purge, dlock_submit_queue_purge(NULL, NULL, NULL, NULL, error))                               \
    X(dlock_submit_queue_purge_dead, dlock_submit_queue_purge_dead(NULL, NULL, NULL, NULL, error))                     \
    X(dlock_submit_queue_requeue_all_dead, dlock_submit_queue_requeue_all_dead(NULL, NULL, NULL, NULL, error))         \
    X(dlock_submit_delivery_ack, dlock_submit_delivery_ack(NULL, NULL, NULL, NULL, error))                             \
    X(dlock_submit_delivery_nack, dlock_submit_delivery_nack(NULL, NULL, 0, NULL, 0, NULL, NULL, error))               \
    X(dlock_submit_delivery_give_back, dlock_submit_delivery_give_back(NULL, NULL, NULL, NULL, error))                 \
    X(dlock_submit_worker_lease, dlock_submit_worker_lease(NULL, NULL, NULL, 0, NULL, NULL, NULL, error))
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
