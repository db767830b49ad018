import { type ReadersOf, abortSignal, duration, integer, optional, readOptions } from "./arguments.js";
import type { Client } from "./client.js";
import { objectName } from "./convert.js";
import { refuseElsewhere } from "./elsewhere.js";
import { unwrap } from "./error.js";
import { HANDLE, Hold } from "./hold.js";
import type { Handle, Layout, LossReason } from "./native.js";
import { type Grant, discard, native, submit, unlessAborted } from "./port.js";
import { LEASED, type LayoutName, Snowflake } from "./snowflake.js";
import { refuseUnbound } from "./unbound.js";

/** How a worker number is leased. */
export interface WorkerOptions {
  /**
   * How many bits the numbers of the pool have, 1 to 22, the same for all who use it; 10 by default. At most as many as the
   * datacenter and the worker of the layout have together.
   */
  bits?: number | undefined;
  /** For how long the number stays taken when this process dies: 100 to 86400000, renewed every third of it; the client's by default. */
  leaseMs?: number | undefined;
  /** Ends the call: the promise rejects with the signal's reason, and nothing is leased. */
  signal?: AbortSignal | undefined;
}

const LEASE = {
  bits: optional(integer),
  leaseMs: duration,
  signal: abortSignal,
} satisfies ReadersOf<WorkerOptions>;

/** @internal */
export async function leaseWorker(
  client: Client,
  handle: Handle,
  pool: string,
  options: WorkerOptions | undefined,
): Promise<Worker> {
  const name = objectName(pool, "worker", "pool");
  const { bits, leaseMs, signal } = readOptions(options, LEASE, "worker(pool, options)", {
    op: "worker",
    object: name,
  });
  const answer = await submit<Grant>(client, (id) => native.workerLease(id, handle, name, bits, leaseMs), signal);
  return new Worker(client, name, unlessAborted(answer, signal, releaseUnused));
}

function releaseUnused([handle]: Grant): void {
  discard(handle, (id) => native.heldRelease(id, handle));
}

/**
 * A worker number that this process has leased, made by `Client.worker`. No other process has it as long as it is valid, so ids that
 * are made under it are unique. The client renews the lease. `await using` gives the number back at the end of a scope, `release` at
 * once; when the worker and its generators are collected it is given back in the background.
 */
export class Worker implements AsyncDisposable {
  /** The number, from 0. */
  readonly number: number;
  /** How many bits the numbers of its pool have. */
  readonly bits: number;
  /** The name of its pool, without the client's key prefix. */
  readonly pool: string;
  /** The client, which lives as long as its numbers. */
  readonly client: Client;
  readonly #hold: Hold;

  /** @internal */
  constructor(client: Client, pool: string, grant: Grant) {
    this.#hold = new Hold({ name: pool, client }, grant, undefined);
    this.client = client;
    this.pool = pool;
    this.number = unwrap(native.workerNumber(this.#hold[HANDLE]));
    this.bits = unwrap(native.workerBits(this.#hold[HANDLE]));
  }

  /** Whether it is still held for certain, on this machine's monotonic clock. */
  get valid(): boolean {
    return this.#hold.valid;
  }

  /** Milliseconds for which it stays valid without another renewal, with their fraction; 0 when it is over. */
  get remainingMs(): number {
    return this.#hold.remainingMs;
  }

  /** Why the number was lost; undefined while it is not. */
  get lossReason(): LossReason | undefined {
    return this.#hold.lossReason;
  }

  /**
   * Fires when the number is lost, as that of a held lock: with a `DlockError` (`DLOCK_LOST`, with `lossReason`) as its reason, and
   * never when it is released. A number whose `signal` was asked for is not given back by being collected.
   */
  get signal(): AbortSignal {
    return this.#hold.signal;
  }

  /**
   * A generator of ids under this number. No I/O. The low bits of the number are the layout's worker, those above them its
   * datacenter; throws `DLOCK_INVALID_ARGUMENT` when it has more bits than these. Generators of one layout share their state. Each
   * keeps the number until it is collected.
   *
   * Its ids are unique whatever the clocks of the machines do: its time begins at the server's, or behind the last id of the
   * number's holders before, and goes on by a monotonic clock. When the lease is over it throws `DLOCK_LOST`, also in the middle of a
   * batch, and after `release` `DLOCK_NOT_HELD`.
   */
  snowflake(layout?: LayoutName | Layout): Snowflake {
    return new Snowflake({ [LEASED]: this.#hold[HANDLE], keeps: this.#hold, layout });
  }

  /**
   * Gives the number back; its generators make no ids from here on. `DLOCK_NOT_HELD` when it was released before, or lost. Should the
   * server not be reached, the lease runs out.
   */
  async release(): Promise<void> {
    await this.#hold.release();
  }

  /** What `JSON.stringify` writes, as it is now. */
  toJSON(): Record<string, unknown> {
    const { pool, number, bits, valid, remainingMs, lossReason } = this;
    return { pool, number, bits, valid, remainingMs, lossReason };
  }

  /** As `release`, unless it was released before. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#hold[Symbol.asyncDispose]();
  }
}

refuseUnbound(Worker, "worker number", "worker");

const IDS = "worker.snowflake() has it: const ids = worker.snowflake(), then ids.";

refuseElsewhere(Worker, "a worker number", {
  nextId: `${IDS}nextId()`,
  nextIds: `${IDS}nextIds(count)`,
  extend: "its lease is renewed: client.worker(pool, { leaseMs }) says how long it is",
  detach: "another process leases a number of its own",
});
