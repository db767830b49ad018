/**
 * Distributed locks on Redis or Valkey, with fencing tokens; rate limits, and ids without a server.
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
export { type Client, connect } from "./client.js";
export { DlockError, type ErrorFamily, type ErrorKind } from "./error.js";
export type { Held } from "./held.js";
export type { AcquireOptions, Inspection, Lock, LockOptions } from "./lock.js";
export type { Layout, LogEvent, LossReason, Parts } from "./native.js";
export type { ConnectOptions, LockDefaults } from "./options.js";
export type { Decision, RateLimiter, RateLimiterOptions } from "./rate-limiter.js";
export { type Base, type LayoutName, Snowflake, type SnowflakeOptions } from "./snowflake.js";
export type { Histogram, LimiterStats, LockStats, SemaphoreStats, Stats } from "./stats.js";
// </api:exports>
