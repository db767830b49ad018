// What the native module exports (node/src), and the one instance of it that this copy of the package has. A test compares
// the names.

import { binding } from "./binding.js";
import type { Stats } from "./stats.js";

/** Never 0, never reused; a stale one is refused. Nothing to reckon with: its bits are what counts. */
export type Handle = number;

/** Comes back with an operation's completion, or with a client's events. */
export type Id = number;

/** An error of the core. */
export interface Failure {
  readonly errno: number;
  readonly kind: string;
  readonly op: string;
  readonly object?: string | null;
  readonly message: string;
  // <api:facts> written by `python3 api/write.py` from api/errors.json
  readonly holder?: string | null;
  readonly remainingMs?: number | null;
  readonly retryAfterMs?: number | null;
  readonly allowed?: string | null;
  readonly retryable: boolean;
  // </api:facts>
}

/** How a hold ended: without a reason when it was released. */
export interface Loss {
  readonly reason?: LossReason | null;
}

// <api:losses> written by `python3 api/write.py` from api/losses.json
/** Why a hold was lost. */
export type LossReason = "expired" | "taken" | "deleted" | "server_changed" | "closed" | "internal";
// </api:losses>

/** The lock of several that was lost, as the native side says it. */
export interface LostMember {
  readonly name: string;
  readonly reason: LossReason;
}

/** Something that happened in the background, for a log. */
export interface LogEvent {
  readonly level: "debug" | "info" | "warn" | "error";
  /** The name of the lock it is about, if it is about one. */
  readonly object: string | undefined;
  /** One sentence; never a password. */
  readonly message: string;
}

/** As the native side says it. */
export interface NativeEvent {
  readonly level: LogEvent["level"];
  readonly object?: string | null;
  readonly message: string;
}

/**
 * What `drain` writes: how many completions there are, then for each a row: its id, its tag, and two numbers that mean what the
 * tag says. `Other` and `Event` tell where in the array that `drain` returns the value is.
 */
export const ROW = 4;

// The tags of a row.
// <api:tags> written by `python3 api/write.py` from api/wire.json
export const Tag = { Unit: 0, Bool: 1, Handle: 2, Held: 3, Other: 4, Event: 5, Number: 6 } as const;
// </api:tags>

/** Who holds a lock, as the port brings it. */
export interface NativeInspection {
  // <api:inspection> written by `python3 api/write.py` from api/records.json
  readonly holder?: string | null;
  readonly ours: boolean;
  readonly ttlMs?: number | null;
  readonly token?: bigint | null;
  readonly queued: number;
  // </api:inspection>
}

/** How many permits a semaphore has, as the port brings it. */
export interface NativeSemaphoreInspection {
  // <api:semaphore-inspection> written by `python3 api/write.py` from api/records.json
  readonly permits?: number | null;
  readonly available: number;
  readonly queued: number;
  // </api:semaphore-inspection>
}

/** How many permits a counting semaphore has, as the port brings it. */
export interface NativeCountingSemaphoreInspection {
  // <api:counting-semaphore-inspection> written by `python3 api/write.py` from api/records.json
  readonly exists: boolean;
  readonly available: number;
  readonly queued: number;
  // </api:counting-semaphore-inspection>
}

/** Who holds a read-write lock, as the port brings it. */
export interface NativeRwLockInspection {
  // <api:rw-lock-inspection> written by `python3 api/write.py` from api/records.json
  readonly writer?: string | null;
  readonly ours: boolean;
  readonly readers: number;
  readonly ttlMs?: number | null;
  readonly token?: bigint | null;
  readonly queued: number;
  // </api:rw-lock-inspection>
}

/** A limiter's answer as the port brings it. */
export interface NativeDecision {
  // <api:decision> written by `python3 api/write.py` from api/records.json
  readonly allowed: boolean;
  readonly granted: number;
  readonly remaining: number;
  readonly retryAfterMs?: number | null;
  readonly resetAfterMs: number;
  readonly limit: number;
  readonly refusedBy?: number | null;
  readonly usableAfterMs: number;
  readonly serverTimeUs?: bigint | null;
  // </api:decision>
}

/** A job as the native side takes it: its texts have no lone surrogates. */
export interface NativeNewJob {
  readonly payload: string | Uint8Array;
  readonly id?: string;
  readonly delayMs?: number;
  readonly atMs?: number;
  readonly priority: number;
}

/** A job that was delivered, as the port brings it: its hold, and what it is. */
export interface NativeDelivered {
  readonly held: Handle;
  readonly token: number;
  readonly payload: Buffer;
  readonly id: string;
  readonly attempt: number;
  readonly dueMs: number;
  readonly priority: number;
}

/** A job as a list shows it, as the port brings it. */
export interface NativeListedJob {
  readonly id: string;
  readonly payload: Buffer;
  readonly attempts: number;
  readonly dueMs: number;
  readonly deadSinceMs?: number | null;
  readonly reason?: string | null;
}

/** A limiter's answers to several callers; see `decisions.ts`. */
export interface Decisions {
  readonly numbers: Float64Array;
  readonly failures: Failure[];
}

/** Which bits of an id hold what. */
export interface Layout {
  /** When time begins, in milliseconds since 1970. */
  readonly epochMs: number;
  /** Bits of the milliseconds since then: 1 to 48. */
  readonly timeBits: number;
  /** Bits of the datacenter's number: 0 to 31. */
  readonly datacenterBits: number;
  /** Bits of the worker's number: 0 to 31. */
  readonly workerBits: number;
  /** Bits of the count within a millisecond: 0 to 31. All together are 63 at most. */
  readonly sequenceBits: number;
}

/** What an id says. */
export interface Parts {
  /** When it was made, in milliseconds since 1970. */
  readonly timeMs: number;
  readonly datacenter: number;
  readonly worker: number;
  /** Sequence number within the millisecond, from 0. */
  readonly sequence: number;
}

/** What a call into the native module returns. */
export type Answer<T> = T | Failure;

/** A submitted operation: its handle, for `cancel`. */
export type Submitted = Answer<Handle>;

/** An item of a Bloom filter: a text without lone surrogates, or bytes. */
export type Item = string | Uint8Array;

/** A limiter's rate. */
export interface Rate {
  readonly tokens: number;
  readonly perUs: number;
  readonly burst?: number | undefined;
  readonly algorithm: string;
}

/** The native side of one JavaScript environment (the main thread, a worker). */
export interface Environment {
  // <api:natives> written by `python3 api/write.py` from api/natives.json
  /** Whether the loop shall stay alive for what is pending. */
  keepAlive(keep: boolean): void;
  /** What is finished, as much as there is room for. Less means that the port is empty, and rings for the next. */
  drain(rows: Float64Array): Answer<unknown[] | null>;
  /** Ends an operation with `CANCELLED`; false when it is finished already. */
  cancel(op: Handle): Answer<boolean>;
  /** Gives an object back; true for a hold that is held, which is not renewed any more. */
  free(object: Handle): Answer<boolean>;
  /** Brings a client. */
  clientOpen(id: Id, url: string, options: [string, string][], logId?: Id): Submitted;
  clientClose(id: Id, client: Handle, release: boolean): Submitted;
  clientStats(client: Handle): Answer<Stats>;
  lockOpen(
    client: Handle,
    name: string,
    leaseMs?: number,
    watchdogLeaseMs?: number,
    reentrant?: boolean,
  ): Answer<Handle>;
  /** No wait is for ever, no lease the lock's own. Brings a hold. */
  lockAcquire(id: Id, lock: Handle, waitMs?: number, leaseMs?: number): Submitted;
  /** Brings a hold. */
  lockAttach(id: Id, lock: Handle, detached: string): Submitted;
  /** Brings a flag. */
  lockForceRelease(id: Id, lock: Handle): Submitted;
  /** Brings an inspection. */
  lockInspect(id: Id, lock: Handle): Submitted;
  semaphoreOpen(
    client: Handle,
    name: string,
    permits: number,
    leaseMs?: number,
    watchdogLeaseMs?: number,
  ): Answer<Handle>;
  /** Brings a hold. */
  semaphoreAcquire(id: Id, semaphore: Handle, permits: number, waitMs?: number, leaseMs?: number): Submitted;
  semaphoreSetPermits(id: Id, semaphore: Handle, permits: number): Submitted;
  /** Brings an inspection. */
  semaphoreInspect(id: Id, semaphore: Handle): Submitted;
  /** One side, the write side or the read side. */
  rwLockOpen(
    client: Handle,
    name: string,
    write: boolean,
    leaseMs?: number,
    watchdogLeaseMs?: number,
    reentrant?: boolean,
    sharedAgeMs?: number,
  ): Answer<Handle>;
  /** Brings a hold. */
  rwLockAcquire(id: Id, side: Handle, waitMs?: number, leaseMs?: number): Submitted;
  /** Brings a hold. */
  rwLockSteal(id: Id, side: Handle, leaseMs?: number): Submitted;
  /** Brings a flag. */
  rwLockForceRelease(id: Id, side: Handle): Submitted;
  /** Brings an inspection. */
  rwLockInspect(id: Id, side: Handle): Submitted;
  latchOpen(client: Handle, name: string): Answer<Handle>;
  /** Brings a flag. */
  latchTrySetCount(id: Id, latch: Handle, count: number): Submitted;
  /** Brings a number. */
  latchCountDown(id: Id, latch: Handle, by: number): Submitted;
  /** Brings a number. */
  latchCount(id: Id, latch: Handle): Submitted;
  /** Brings a flag. */
  latchWait(id: Id, latch: Handle, waitMs?: number): Submitted;
  /** Brings a flag. */
  latchDelete(id: Id, latch: Handle): Submitted;
  bloomFilterOpen(client: Handle, name: string, expected: number, rate: number, ttlMs?: number): Answer<Handle>;
  bloomFilterSize(filter: Handle): Answer<number>;
  bloomFilterHashes(filter: Handle): Answer<number>;
  /** Brings an answer to each item. */
  bloomFilterAdd(id: Id, filter: Handle, items: Item[]): Submitted;
  /** Brings an answer to each item. */
  bloomFilterContains(id: Id, filter: Handle, items: Item[]): Submitted;
  /** Brings a number. */
  bloomFilterCount(id: Id, filter: Handle): Submitted;
  /** Brings a rate. */
  bloomFilterFalsePositiveRate(id: Id, filter: Handle): Submitted;
  /** Brings a flag. */
  bloomFilterClear(id: Id, filter: Handle): Submitted;
  idGeneratorOpen(client: Handle, name: string, block: number, start: number): Answer<Handle>;
  idGeneratorBlockSize(generator: Handle): Answer<number>;
  /** Brings ids. */
  idGeneratorNextIds(id: Id, generator: Handle, count: number): Submitted;
  countingSemaphoreOpen(client: Handle, name: string): Answer<Handle>;
  /** Brings a flag. */
  countingSemaphoreTrySetPermits(id: Id, semaphore: Handle, permits: number): Submitted;
  countingSemaphoreAcquire(id: Id, semaphore: Handle, permits: number, waitMs?: number): Submitted;
  countingSemaphoreRelease(id: Id, semaphore: Handle, permits: number): Submitted;
  countingSemaphoreAddPermits(id: Id, semaphore: Handle, permits: number): Submitted;
  /** Brings a number. */
  countingSemaphoreDrain(id: Id, semaphore: Handle): Submitted;
  /** Brings an inspection. */
  countingSemaphoreInspect(id: Id, semaphore: Handle): Submitted;
  lockAllOpen(
    client: Handle,
    names: string[],
    leaseMs?: number,
    watchdogLeaseMs?: number,
    reentrant?: boolean,
  ): Answer<Handle>;
  /** Each once, in the order in which they are waited for. */
  lockAllNames(set: Handle): Answer<string[]>;
  /** Brings a hold. */
  lockAllAcquire(id: Id, set: Handle, waitMs?: number, leaseMs?: number): Submitted;
  heldValid(held: Handle): Answer<boolean>;
  heldOwner(held: Handle): Answer<string>;
  heldPermits(held: Handle): Answer<string[]>;
  heldRemainingMs(held: Handle): Answer<number>;
  heldLoss(held: Handle): Answer<Loss>;
  /** Of several locks, in the order of their names. */
  heldTokens(held: Handle): Answer<[string, bigint][]>;
  heldTokenOf(held: Handle, name: string): Answer<bigint>;
  heldLostMember(held: Handle): Answer<LostMember | null>;
  heldHoldCount(held: Handle): Answer<number>;
  heldReenter(held: Handle): Answer<undefined>;
  /** Brings a loss when the hold is over. */
  heldWaitLost(id: Id, held: Handle): Submitted;
  heldRelease(id: Id, held: Handle): Submitted;
  heldExtend(id: Id, held: Handle, leaseMs: number): Submitted;
  /** Brings a text. */
  heldDetach(id: Id, held: Handle): Submitted;
  /** Brings a hold of the read side. */
  heldDowngrade(id: Id, held: Handle): Submitted;
  limiterOpen(
    client: Handle,
    name: string,
    rates: Rate[],
    absent: string,
    shareOf?: number,
    prefetch?: number,
  ): Answer<Handle>;
  /** Brings a decision. */
  limiterAcquire(id: Id, limiter: Handle, cost: number, waitMs?: number, ofKey?: string): Submitted;
  /** Brings an answer to each item. */
  limiterAcquireMany(id: Id, limiter: Handle, keys: string[], costs: number[]): Submitted;
  /** An id and a cost of each ask stand in the array; there are as many keys, or none. Of each part: how many asks it has, and its operation, which brings decisions under the id of the first of them. */
  limiterSubmitEach(limiter: Handle, count: number, asks: Float64Array, keys: string[]): Answer<number[]>;
  /** 0 when the server has to be asked, 1 for a refusal, 2 for a grant; the decision's numbers to the array. */
  limiterTryAcquireNow(limiter: Handle, cost: number, numbers: Float64Array): Answer<number>;
  limiterReset(id: Id, limiter: Handle, ofKey?: string): Submitted;
  /** Brings a decision. */
  limiterReserve(id: Id, limiter: Handle, cost: number, waitMs?: number, ofKey?: string): Submitted;
  limiterPenalty(id: Id, limiter: Handle, tokens: number, ofKey?: string): Submitted;
  limiterReward(id: Id, limiter: Handle, tokens: number, ofKey?: string): Submitted;
  limiterBlock(id: Id, limiter: Handle, lengthMs: number, ofKey?: string): Submitted;
  /** No lease is the client's. Brings a hold. */
  workerLease(id: Id, client: Handle, pool: string, bits?: number, leaseMs?: number): Submitted;
  workerNumber(held: Handle): Answer<number>;
  workerBits(held: Handle): Answer<number>;
  backoffMs(attempt: number, baseMs: number, mostMs: number): Answer<number>;
  queueOpen(
    client: Handle,
    name: string,
    leaseMs?: number,
    watchdogLeaseMs?: number,
    maxAttempts?: number,
    maxPayload?: number,
    maxLength?: number,
  ): Answer<Handle>;
  queueFollowedBy(queue: Handle, other: Handle): Answer<Handle>;
  deliveryQueue(held: Handle): Answer<string>;
  /** Brings what was put: one. */
  queuePut(id: Id, queue: Handle, job: NativeNewJob): Submitted;
  /** Brings what was put. */
  queuePutMany(id: Id, queue: Handle, jobs: NativeNewJob[]): Submitted;
  /** Brings deliveries: one, or none. */
  queueTake(id: Id, queue: Handle, waitMs?: number): Submitted;
  /** Brings deliveries. */
  queueTakeMany(id: Id, queue: Handle, most: number, waitMs?: number): Submitted;
  /** Brings counts. */
  queueCounts(id: Id, queue: Handle): Submitted;
  /** Brings jobs. */
  queuePeek(id: Id, queue: Handle, most: number): Submitted;
  /** Brings jobs. */
  queueDead(id: Id, queue: Handle, most: number): Submitted;
  /** Brings a flag. */
  queueCancel(id: Id, queue: Handle, job: string): Submitted;
  /** Brings a number. */
  queuePurge(id: Id, queue: Handle): Submitted;
  /** Brings a flag. */
  queueRemoveDead(id: Id, queue: Handle, job: string): Submitted;
  /** Brings a number. */
  queuePurgeDead(id: Id, queue: Handle): Submitted;
  /** Brings a flag. */
  queueRequeueDead(id: Id, queue: Handle, job: string): Submitted;
  /** Brings a number. */
  queueRequeueAllDead(id: Id, queue: Handle): Submitted;
  /** Brings an answer to each hold. */
  queueAckMany(id: Id, queue: Handle, helds: Handle[]): Submitted;
  deliveryAck(id: Id, held: Handle): Submitted;
  deliveryNack(id: Id, held: Handle, reason: string, delayMs?: number): Submitted;
  deliveryGiveBack(id: Id, held: Handle): Submitted;
  // </api:natives>
}

/** A generator of ids. */
export interface Generator {
  nextId(): Answer<bigint>;
  nextIds(count: number): BigInt64Array | Failure;
}

/** The native module. */
export interface Binding {
  Environment: new (wake: () => void) => Environment;
  snowflakeOpen(
    datacenter: number,
    worker: number,
    layout: string | Layout,
    borrowAheadMs: number,
    startWaitMs?: number,
  ): Generator | Failure;
  workerSnowflake(held: Handle, layout: string | Layout): Generator | Failure;
  idDecode(id: bigint, layout: string | Layout): Parts | Failure;
  idEncode(id: bigint, base: number): string | Failure;
  idParse(text: string, base: number): Answer<bigint>;
}

export { binding };

export const { Environment } = binding;
