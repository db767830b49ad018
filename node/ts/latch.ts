import { type ReadersOf, abortSignal, duration, readOptions, refuseSurplus } from "./arguments.js";
import type { Client } from "./client.js";
import { objectName, whole } from "./convert.js";
import { refuseElsewhere } from "./elsewhere.js";
import { unwrap } from "./error.js";
import type { Handle } from "./native.js";
import { freeWith, native, submit, unlessAborted } from "./port.js";
import { refuseUnbound } from "./unbound.js";

/** How a latch is waited for. */
export interface LatchWaitOptions {
  /** How long to wait, in whole milliseconds below 2^53; 0 asks once, none is for ever. */
  waitMs?: number | undefined;
  /** Ends the wait: the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** All that a number can say exactly. */
const COUNTS = "whole numbers, 1 to 9007199254740991";

const WAIT = { waitMs: duration, signal: abortSignal } satisfies ReadersOf<LatchWaitOptions>;

/** @internal */
export function openLatch(client: Client, handle: Handle, name: string): Latch {
  const object = objectName(name, "latch");
  return new Latch(client, object, unwrap(native.latchOpen(handle, object)));
}

/**
 * A count-down latch of one name, made by `Client.latch`: it opens, for all processes that wait, when a count that one of them has
 * set is counted down to zero. One that was not set is open. It is for one round: give each round a name of its own.
 */
export class Latch {
  /** The name, without the client's key prefix. */
  readonly name: string;
  /** The client, which lives as long as its latches. */
  readonly client: Client;
  readonly #handle: Handle;

  /** @internal */
  constructor(client: Client, name: string, handle: Handle) {
    this.client = client;
    this.name = name;
    this.#handle = handle;
    freeWith(this, handle);
  }

  /**
   * Gives the latch this count, 1 to 2^53 - 1, if it is open; resolves with false, and nothing changed, when it has a count. The
   * count stays on the server until it is counted down or deleted.
   */
  trySetCount(count: number): Promise<boolean>;
  async trySetCount(count: number, ...surplus: unknown[]): Promise<boolean> {
    refuseSurplus(surplus, "trySetCount(count) has one argument");
    const checked = whole(count, "count", "set count", this.name, COUNTS);
    return unwrap(await submit<boolean>(this, (id) => native.latchTrySetCount(id, this.#handle, checked)));
  }

  /**
   * Counts down by one, or by `by`, and resolves with what is left: 0 when the latch is open. It counts once, also when the reply is
   * lost and the request is sent again. Anybody may count down; a latch that is open stays so.
   */
  countDown(by?: number): Promise<number>;
  async countDown(by = 1, ...surplus: unknown[]): Promise<number> {
    refuseSurplus(surplus, "countDown(by) has one argument");
    const checked = whole(by, "by", "count down", this.name, COUNTS);
    return unwrap(await submit<number>(this, (id) => native.latchCountDown(id, this.#handle, checked)));
  }

  /** The count, as the server says now: 0 when the latch is open. */
  async count(): Promise<number> {
    return unwrap(await submit<number>(this, (id) => native.latchCount(id, this.#handle)));
  }

  /**
   * Waits until the latch is open, and resolves with true; with false when it was not within `waitMs`. Rejects with the reason of
   * `signal` when that fires first, with `DLOCK_CONNECTION` and its kin when the server cannot be asked.
   */
  wait(options?: LatchWaitOptions): Promise<boolean>;
  async wait(options?: LatchWaitOptions, ...surplus: unknown[]): Promise<boolean> {
    refuseSurplus(surplus, "wait(options) has one argument: waitMs and signal stand in one object");
    const about = { op: "wait for latch", object: this.name };
    const { waitMs, signal } = readOptions(options, WAIT, "wait(options)", about);
    const waited = await submit<boolean>(this, (id) => native.latchWait(id, this.#handle, waitMs), signal);
    return unlessAborted(waited, signal, () => undefined);
  }

  /**
   * Removes the latch, which opens it; resolves with whether it was there. No message tells of it: those that wait find out within
   * the client's `pollIntervalMs`.
   */
  async delete(): Promise<boolean> {
    return unwrap(await submit<boolean>(this, (id) => native.latchDelete(id, this.#handle)));
  }
}

refuseUnbound(Latch, "latch", "latch");

const ONE_ROUND = "a latch is for one round: give each round a name of its own";

// What latches, barriers and events of other libraries have, and where it is here.
refuseElsewhere(Latch, "a latch", {
  await: "wait() waits until it is open, wait({ waitMs }) at most that long",
  acquire: "wait() waits until it is open, wait({ waitMs }) at most that long",
  getCount: "await latch.count()",
  setCount: "await latch.trySetCount(count), which is false when it has a count",
  countdown: "await latch.countDown()",
  arrive: "await latch.countDown()",
  arriveAndWait: "await latch.countDown(), then await latch.wait()",
  signal: "await latch.countDown()",
  release: "await latch.countDown()",
  isOpen: "(await latch.count()) === 0, or await latch.wait({ waitMs: 0 })",
  reset: ONE_ROUND,
  add: `${ONE_ROUND}; trySetCount(count) sets the count of an open one`,
});
