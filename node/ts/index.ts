/**
 * Distributed locks on Redis or Valkey, with fencing tokens; read-write locks, semaphores and rate limits, and ids without a server.
 *
 * ```js
 * import { connect } from "libdlock";
 *
 * const client = await connect("redis://127.0.0.1:6379");
 * await client.withLock("report", { waitMs: 2000 }, async (held) => {
 *   await writeReport({ fence: held.token, signal: held.signal });
 * });
 * await client.close();
 * ```
 *
 * @packageDocumentation
 */

/// <reference types="node" preserve="true" />
/// <reference lib="esnext.disposable" preserve="true" />

// <api:exports> written by `python3 api/write.py` from api/primitives.json and api/records.json
export type { AcquireOptions } from "./acquiring.js";
export type { BloomFilter, BloomFilterOptions } from "./bloom-filter.js";
export { type Client, connect } from "./client.js";
export type { Backoff, ConsumeOptions, Consumer, Handler } from "./consumer.js";
export type { CountingSemaphore, CountingSemaphoreInspection, TakePermitsOptions } from "./counting-semaphore.js";
export type { Delivery, NackOptions } from "./delivery.js";
export { DlockError, type ErrorFamily, type ErrorKind } from "./error.js";
export type { FencedHold } from "./fenced-hold.js";
export type { Held } from "./held.js";
export type { HeldAll } from "./held-all.js";
export type { HeldPermits } from "./held-permits.js";
export type { IdGenerator, IdGeneratorOptions } from "./id-generator.js";
export type { Latch, LatchWaitOptions } from "./latch.js";
export type { Inspection, Lock, LockOptions } from "./lock.js";
export type { LockAll } from "./lock-all.js";
export type { Lockable } from "./lockable.js";
export type { Layout, LogEvent, LossReason, Parts } from "./native.js";
export type { ConnectOptions, LockDefaults } from "./options.js";
export type { DeadJobs, Queue, QueueOptions, TakeOptions } from "./queue.js";
export type { ListedJob, NewJob, Payload, Put, PutOptions, QueueCounts } from "./queue-jobs.js";
export type { Algorithm, Rate } from "./rate.js";
export type { Decision, RateLimiter, RateLimiterOptions, Undecided } from "./rate-limiter.js";
export type { RwHeld } from "./rw-held.js";
export type { RwLock, RwLockInspection, RwLockOptions, RwLockSide } from "./rw-lock.js";
export type { AcquirePermitsOptions, Semaphore, SemaphoreInspection, SemaphoreOptions } from "./semaphore.js";
export { type Base, type LayoutName, Snowflake, type SnowflakeOptions } from "./snowflake.js";
export type {
  CountingSemaphoreStats,
  Histogram,
  LatchStats,
  LimiterStats,
  LockStats,
  QueueStats,
  RwLockStats,
  SemaphoreStats,
  Stats,
  WorkerStats,
} from "./stats.js";
export type { Worker, WorkerOptions } from "./worker.js";
// </api:exports>
export type {
  LockManager,
  WebLock,
  WebLockInfo,
  WebLockMode,
  WebLockOptions,
  WebLockSnapshot,
} from "./lock-manager.js";
