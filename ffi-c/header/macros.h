
/* NULL without a warning, whatever the language. */
#ifdef __cplusplus
#if __cplusplus >= 201103L
#define DLOCK_NULL nullptr
#endif
#endif
#ifndef DLOCK_NULL
#define DLOCK_NULL NULL
#endif

/* The struct with nothing said: start from it, then set what you need. */
#define DLOCK_ERROR_INIT \
  { \
    sizeof(dlock_error_t), DLOCK_OK, {0}, {0}, {0}, {0}, -1, -1, {0}, false \
  }
#define DLOCK_CLIENT_OPTIONS_INIT \
  { \
    sizeof(dlock_client_options_t), DLOCK_NULL, 0, DLOCK_NULL, DLOCK_NULL \
  }
#define DLOCK_LOCK_OPTIONS_INIT \
  { \
    sizeof(dlock_lock_options_t), 0, -1, 0 \
  }
#define DLOCK_ACQUIRE_OPTIONS_INIT \
  { \
    sizeof(dlock_acquire_options_t), -1, 0, DLOCK_NULL \
  }
#define DLOCK_INSPECTION_INIT \
  { \
    sizeof(dlock_inspection_t), false, false, -1, 0, {0}, 0 \
  }
#define DLOCK_SEMAPHORE_OPTIONS_INIT \
  { \
    sizeof(dlock_semaphore_options_t), 0, 0 \
  }
#define DLOCK_SEMAPHORE_INSPECTION_INIT \
  { \
    sizeof(dlock_semaphore_inspection_t), false, 0, 0, 0 \
  }
#define DLOCK_RW_LOCK_OPTIONS_INIT \
  { \
    sizeof(dlock_rw_lock_options_t), 0, -1, 0, -1 \
  }
#define DLOCK_RW_LOCK_INSPECTION_INIT \
  { \
    sizeof(dlock_rw_lock_inspection_t), false, false, 0, -1, 0, {0}, 0 \
  }
#define DLOCK_COUNTING_SEMAPHORE_INSPECTION_INIT \
  { \
    sizeof(dlock_counting_semaphore_inspection_t), false, 0, 0 \
  }
#define DLOCK_QUEUE_OPTIONS_INIT \
  { \
    sizeof(dlock_queue_options_t), 0, 0, DLOCK_QUEUE_ATTEMPTS_DEFAULT, DLOCK_QUEUE_PAYLOAD_DEFAULT, 0 \
  }
#define DLOCK_JOB_INIT \
  { \
    sizeof(dlock_job_t), DLOCK_NULL, 0, DLOCK_NULL, 0, 0, -1, 0 \
  }
#define DLOCK_PUT_INIT \
  { \
    sizeof(dlock_put_t), false, 0, {0} \
  }
#define DLOCK_DELIVERY_INIT \
  { \
    sizeof(dlock_delivery_t), DLOCK_NULL, 0, 0, {0}, 0, 0, 0 \
  }
#define DLOCK_QUEUE_COUNTS_INIT \
  { \
    sizeof(dlock_queue_counts_t), 0, 0, 0, 0, 0 \
  }
#define DLOCK_LISTED_JOB_INIT \
  { \
    sizeof(dlock_listed_job_t), DLOCK_NULL, 0, 0, {0}, 0, 0, false, 0, 0, {0} \
  }
#define DLOCK_WORKER_OPTIONS_INIT \
  { \
    sizeof(dlock_worker_options_t), DLOCK_WORKER_BITS_DEFAULT, 0, DLOCK_NULL \
  }
#define DLOCK_STATS_INIT \
  { \
    sizeof(dlock_stats_t), 0 \
  }
#define DLOCK_LOCK_STATS_INIT \
  { \
    sizeof(dlock_lock_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, {0}}, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_LIMITER_STATS_INIT \
  { \
    sizeof(dlock_limiter_stats_t), 0, 0, 0, 0, 0, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_SEMAPHORE_STATS_INIT \
  { \
    sizeof(dlock_semaphore_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, {0}}, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_RW_LOCK_STATS_INIT \
  { \
    sizeof(dlock_rw_lock_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, {0}}, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_COUNTING_SEMAPHORE_STATS_INIT \
  { \
    sizeof(dlock_counting_semaphore_stats_t), 0, 0, 0, 0, 0, 0, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_LATCH_STATS_INIT \
  { \
    sizeof(dlock_latch_stats_t), 0, 0, 0, 0, 0, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_WORKER_STATS_INIT \
  { \
    sizeof(dlock_worker_stats_t), 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, {0}}, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_QUEUE_STATS_INIT \
  { \
    sizeof(dlock_queue_stats_t), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0, 0, 0, 0, {0}}, { 0, 0, 0, 0, 0, 0, {0} } \
  }
#define DLOCK_DETACHED_INIT \
  { \
    sizeof(dlock_detached_t), 0, { 0 } \
  }
#define DLOCK_DECISION_INIT \
  { \
    sizeof(dlock_decision_t), false, 0, 0, 0, 0, 0, -1, 0, -1 \
  }
#define DLOCK_RATE_LIMITER_OPTIONS_INIT \
  { \
    sizeof(dlock_rate_limiter_options_t), false, 0, DLOCK_ABSENT_FAIL, 0, DLOCK_ALGORITHM_GCRA, DLOCK_NULL, 0, 0 \
  }
#define DLOCK_LAYOUT_INIT \
  { \
    sizeof(dlock_layout_t), 0, 0, 0, 0, 0 \
  }
#define DLOCK_SNOWFLAKE_OPTIONS_INIT \
  { \
    sizeof(dlock_snowflake_options_t), DLOCK_NULL, 0, -1 \
  }
#define DLOCK_ID_PARTS_INIT \
  { \
    sizeof(dlock_id_parts_t), 0, 0, 0, 0 \
  }
