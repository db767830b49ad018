import type { AcquireOptions } from "./acquiring.js";
import { boolean, readOptions, refuseSurplus } from "./arguments.js";
import { type BloomFilter, type BloomFilterOptions, openBloomFilter } from "./bloom-filter.js";
import { urlText } from "./convert.js";
import { type CountingSemaphore, openCountingSemaphore } from "./counting-semaphore.js";
import { unwrap } from "./error.js";
import type { Held } from "./held.js";
import { type IdGenerator, type IdGeneratorOptions, openIdGenerator } from "./id-generator.js";
import { type Latch, openLatch } from "./latch.js";
import { type LockManager, openLockManager } from "./lock-manager.js";
import { type LockAll, openLockAll } from "./lock-all.js";
import { type Lock, type LockOptions, openAndRun, openLock } from "./lock.js";
import type { Handle } from "./native.js";
import { type ConnectOptions, connectOptions } from "./options.js";
import { type EventTarget, discard, eventId, native, submit, unlessAborted } from "./port.js";
import { type Queue, type QueueOptions, openQueue } from "./queue.js";
import { type RateLimiter, type RateLimiterOptions, openLimiter } from "./rate-limiter.js";
import { type RwLock, type RwLockOptions, openRwLock } from "./rw-lock.js";
import { type Semaphore, type SemaphoreOptions, openSemaphore } from "./semaphore.js";
import type { Stats } from "./stats.js";
import { warn } from "./warning.js";
import { type Worker, type WorkerOptions, leaseWorker } from "./worker.js";
import { refuseUnbound } from "./unbound.js";

/**
 * Connects to `redis://`, `rediss://` (TLS), `unix://` or `memory://`. Options may also stand in the URL's query.
 *
 * Rejects with `DLOCK_INVALID_ARGUMENT` for a bad URL or option, before any I/O; with `DLOCK_CONNECTION` within
 * `connectTimeoutMs` when the server does not answer, refuses, or does not take the password; with the reason of `signal` when that fires.
 * With `connectWaitMs` it keeps trying for that long while the server is not up yet.
 */
export async function connect(url: string | URL, options?: ConnectOptions): Promise<Client> {
  const { onEvent, signal, texts, inOwnWords } = connectOptions(options);
  const target = onEvent && { onEvent };
  const address = urlText(url, "url", "connect");
  const logId = target && eventId(target);
  const opened = await submit<Handle>(target, (id) => native.clientOpen(id, address, texts, logId), signal);
  const client = new Client(unlessAborted(inOwnWords(opened), signal, closeUnused));
  if (target) listening.set(client, target);
  return client;
}

function closeUnused(handle: Handle): void {
  discard(handle, (id) => native.clientClose(id, handle, false));
}

// The port refers to a listener weakly: it lives as long as its client, and does not keep that alive.
const listening = new WeakMap<Client, EventTarget>();

const CLOSE = { release: boolean };

interface Opened {
  readonly handle: Handle;
  closed: boolean;
}

const collected = new FinalizationRegistry<Opened>(({ handle, closed }) => {
  if (!closed) warn("DLOCK_UNCLOSED", "a client was collected while open: close() it when it is done");
  native.free(handle);
});

/**
 * A connected client, made by `connect`. By itself it keeps no process alive. `await using` closes it at the end of a
 * scope.
 */
export class Client implements AsyncDisposable {
  /** Locks as browsers have them in `navigator.locks`. Each is the read-write lock of its name. */
  readonly locks: LockManager;
  readonly #opened: Opened;

  /** @internal */
  constructor(handle: Handle) {
    this.#opened = { handle, closed: false };
    this.locks = openLockManager(this);
    collected.register(this, this.#opened);
  }

  /**
   * The lock of that name. No I/O. With no `leaseMs` it is renewed for as long as it is held; a given lease is not.
   *
   * Throws `DLOCK_INVALID_NAME`, `DLOCK_INVALID_ARGUMENT`, and `DLOCK_CLOSED` when the client is.
   */
  lock(name: string, options?: LockOptions): Lock {
    return openLock(this, this.#opened.handle, name, options);
  }

  /**
   * The locks of these names as one, 1 to 100 of them: all are held, or none. No I/O. A name that is given twice counts once. The
   * options are those of `lock`, for each of them.
   *
   * Throws `DLOCK_INVALID_NAME`, `DLOCK_INVALID_ARGUMENT`, and `DLOCK_CLOSED` when the client is.
   */
  lockAll(names: readonly string[], options?: LockOptions): LockAll {
    return openLockAll(this, this.#opened.handle, names, options);
  }

  /**
   * The semaphore of that name, of 1 to 2147483647 permits among all processes. No I/O. `permits` counts when the first acquire
   * makes the semaphore on the server: one that is there keeps its own number, which `Semaphore.setPermits` changes. Leases are as
   * for a lock.
   *
   * Throws `DLOCK_INVALID_NAME`, `DLOCK_INVALID_ARGUMENT`, and `DLOCK_CLOSED` when the client is.
   */
  semaphore(name: string, permits: number, options?: SemaphoreOptions): Semaphore {
    return openSemaphore(this, this.#opened.handle, name, permits, options);
  }

  /**
   * The read-write lock of that name: any number read at a time, or one writes. No I/O. Leases are as for a lock.
   *
   * Throws `DLOCK_INVALID_NAME`, `DLOCK_INVALID_ARGUMENT`, and `DLOCK_CLOSED` when the client is.
   */
  rwLock(name: string, options?: RwLockOptions): RwLock {
    return openRwLock(this, this.#opened.handle, name, options);
  }

  /**
   * The count-down latch of that name. No I/O. One that was not set, with `Latch.trySetCount`, is open.
   *
   * Throws `DLOCK_INVALID_NAME`, and `DLOCK_CLOSED` when the client is.
   */
  latch(name: string): Latch;
  latch(name: string, ...surplus: unknown[]): Latch {
    refuseSurplus(surplus, "latch(name) has one argument: await latch.trySetCount(count) sets its count");
    return openLatch(this, this.#opened.handle, name);
  }

  /**
   * The delayed queue of that name: jobs with due times, each delivered at least once, under a lease that is renewed. No I/O. The options
   * are this object's own, not the queue's on the server.
   *
   * Throws `DLOCK_INVALID_NAME`, `DLOCK_INVALID_ARGUMENT`, and `DLOCK_CLOSED` when the client is.
   */
  queue(name: string, options?: QueueOptions): Queue {
    return openQueue(this, this.#opened.handle, name, options);
  }

  /**
   * The generator of ids of that name: numbers that the server counts, which a process takes in blocks. No I/O. The options count
   * only where the server knows nothing yet; `IdGenerator.blockSize` says what does.
   *
   * Throws `DLOCK_INVALID_NAME`, `DLOCK_INVALID_ARGUMENT`, and `DLOCK_CLOSED` when the client is.
   */
  idGenerator(name: string, options?: IdGeneratorOptions): IdGenerator {
    return openIdGenerator(this, this.#opened.handle, name, options);
  }

  /**
   * The Bloom filter of that name, which is Redisson's `RBloomFilter`: whether an item was added before, in a few bits for each. No I/O.
   *
   * Throws `DLOCK_INVALID_NAME`, `DLOCK_INVALID_ARGUMENT`, also for a filter of more than 4,294,967,294 bits, and `DLOCK_CLOSED` when
   * the client is.
   */
  bloomFilter(name: string, options: BloomFilterOptions): BloomFilter {
    return openBloomFilter(this, this.#opened.handle, name, options);
  }

  /**
   * The counting semaphore of that name, for those who share one with Redisson (`RSemaphore`): its permits have no owner and no
   * lease. No I/O. Everybody else is better served by `semaphore`, whose permits come back when their holder dies.
   *
   * Throws `DLOCK_INVALID_NAME`, and `DLOCK_CLOSED` when the client is.
   */
  countingSemaphore(name: string): CountingSemaphore;
  countingSemaphore(name: string, ...surplus: unknown[]): CountingSemaphore {
    const says =
      "countingSemaphore(name) has one argument: await counting.trySetPermits(permits) makes it, and " +
      "semaphore(name, permits) has permits with a lease";
    refuseSurplus(surplus, says);
    return openCountingSemaphore(this, this.#opened.handle, name);
  }

  /**
   * The rate limiter of that name. No I/O. Whoever shares the name should give the same rate.
   *
   * Throws `DLOCK_INVALID_NAME`, `DLOCK_INVALID_ARGUMENT`, and `DLOCK_CLOSED` when the client is.
   */
  rateLimiter(name: string, options: RateLimiterOptions): RateLimiter {
    return openLimiter(this, this.#opened.handle, name, options);
  }

  /**
   * Leases the lowest free worker number of that pool, for ids that differ among all who use the pool. Rejects, without waiting,
   * with `DLOCK_BUSY` when all are taken: `retryAfterMs` says when the next may be free. Other errors as those of an acquire.
   */
  worker(pool: string, options?: WorkerOptions): Promise<Worker>;
  async worker(pool: string, options?: WorkerOptions, ...surplus: unknown[]): Promise<Worker> {
    refuseSurplus(surplus, "worker(pool, options) has two arguments: bits, leaseMs and signal stand in one object");
    return leaseWorker(this, this.#opened.handle, pool, options);
  }

  /** As `lock(name, options).withLock(options, run)`. */
  withLock<T>(name: string, run: (held: Held) => T | PromiseLike<T>): Promise<T>;
  withLock<T>(name: string, options: LockOptions & AcquireOptions, run: (held: Held) => T | PromiseLike<T>): Promise<T>;
  withLock<T>(name: string, first: unknown, second?: unknown, ...surplus: unknown[]): Promise<T> {
    return openAndRun(this, this.#opened.handle, name, first, second, surplus);
  }

  /** What it has counted since it was opened. No I/O; also when it is closed. */
  stats(): Stats {
    return unwrap(native.clientStats(this.#opened.handle));
  }

  /** Whether `close` was called. */
  get closed(): boolean {
    return this.#opened.closed;
  }

  /**
   * Closes the client: whoever waits gets `DLOCK_CLOSED`, renewals stop, and held locks run out with their leases. With
   * `release` they are released first; rejects with what kept one from it, and is closed all the same. Closing again does
   * nothing.
   */
  async close(options?: { release?: boolean | undefined }): Promise<void> {
    const { release = false } = readOptions(options, CLOSE, "close(options)", { op: "close" });
    this.#opened.closed = true;
    unwrap(await submit(this, (id) => native.clientClose(id, this.#opened.handle, release)));
  }

  /** As `close()`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

refuseUnbound(Client, "client", "client");
