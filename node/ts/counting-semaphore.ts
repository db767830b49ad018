import { type ReadersOf, abortSignal, duration, integer, optional, readOptions, refuseSurplus } from "./arguments.js";
import type { Client } from "./client.js";
import { objectName, whole } from "./convert.js";
import { refuseElsewhere } from "./elsewhere.js";
import { isFailure, unwrap } from "./error.js";
import type { Answer, Handle, NativeCountingSemaphoreInspection } from "./native.js";
import { freeWith, native, submit, unlessAborted } from "./port.js";
import { warn } from "./warning.js";
import { refuseUnbound } from "./unbound.js";

/** How permits of a counting semaphore are acquired. */
export interface TakePermitsOptions {
  /** How many, 1 to 2147483647, all at once; 1 by default. */
  permits?: number | undefined;
  /** How long to wait, in whole milliseconds below 2^53; 0 does not wait, none is for ever. */
  waitMs?: number | undefined;
  /** Ends the wait: the promise rejects with the signal's reason, and no permit is taken. */
  signal?: AbortSignal | undefined;
}

const TRY = { permits: optional(integer) };
const TAKE = { ...TRY, waitMs: duration, signal: abortSignal } satisfies ReadersOf<TakePermitsOptions>;

/** What the server said about a counting semaphore at one instant; it may have changed since. */
export interface CountingSemaphoreInspection {
  // <api:counting-semaphore-inspection> written by `python3 api/write.py` from api/records.json
  /** Whether the semaphore is there; the first release makes one that is not. */
  readonly exists: boolean;
  /**
   * How many permits are available: negative after more were taken away than there were, 0 when the semaphore is not
   * there.
   */
  readonly available: number;
  /** How many processes stand in the queue. */
  readonly queued: number;
  // </api:counting-semaphore-inspection>
}

/** @internal */
export function openCountingSemaphore(client: Client, handle: Handle, name: string): CountingSemaphore {
  const object = objectName(name, "counting semaphore");
  return new CountingSemaphore(client, object, unwrap(native.countingSemaphoreOpen(handle, object)));
}

/**
 * A counting semaphore of one name, made by `Client.countingSemaphore`: Redisson's `RSemaphore`. Its permits have no owner and no
 * lease. Those of a process that died are gone until somebody releases as many, and nothing stops a release of permits that nobody
 * acquired. Where no Redisson client shares it, use a `Semaphore`.
 */
export class CountingSemaphore {
  /** The name, without the client's key prefix. */
  readonly name: string;
  /** The client, which lives as long as its semaphores. */
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
   * Makes the semaphore with so many permits, 0 to 2147483647, if it is not there; resolves with whether this call has made it. It
   * stays until somebody deletes its key.
   */
  trySetPermits(permits: number): Promise<boolean>;
  async trySetPermits(permits: number, ...surplus: unknown[]): Promise<boolean> {
    refuseSurplus(surplus, "trySetPermits(permits) has one argument");
    const count = whole(permits, "permits", "try set permits", this.name);
    return unwrap(await submit<boolean>(this, (id) => native.countingSemaphoreTrySetPermits(id, this.#handle, count)));
  }

  /**
   * Acquires one permit, or `permits` of them all at once, in the order of arrival. They are the caller's until somebody releases
   * as many. A semaphore that is not there has no permits: this waits until it is made and has some.
   *
   * Rejects with `DLOCK_BUSY` when that was not possible within `waitMs`, with the reason of `signal` when that fires first, with
   * `DLOCK_CONNECTION` and its kin when the server cannot be asked. Whatever it rejects with, no permit is taken: what the server
   * granted all the same is given back in the background.
   */
  acquire(options?: TakePermitsOptions): Promise<void>;
  async acquire(options?: TakePermitsOptions, ...surplus: unknown[]): Promise<void> {
    refuseSurplus(surplus, "acquire(options) has one argument: permits, waitMs and signal stand in one object");
    const about = { op: "acquire", object: this.name };
    const { permits = 1, waitMs, signal } = readOptions(options, TAKE, "acquire(options)", about);
    const taken = await this.#take(permits, waitMs, signal);
    unlessAborted(taken, signal, () => void this.#giveBack(permits));
  }

  /**
   * Acquires permits if they are available now; resolves with whether it did. May jump the queue, at most twice per queue head:
   * after that it is false also when they are available.
   */
  tryAcquire(options?: { permits?: number | undefined }): Promise<boolean>;
  async tryAcquire(options?: { permits?: number | undefined }, ...surplus: unknown[]): Promise<boolean> {
    refuseSurplus(surplus, "tryAcquire(options) has one argument: acquire({ waitMs }) waits");
    const about = { op: "acquire", object: this.name };
    const { permits = 1 } = readOptions(options, TRY, "tryAcquire(options)", about);
    const taken = await this.#take(permits, 0, undefined);
    if (isFailure(taken) && taken.kind === "BUSY") return false;
    unwrap(taken);
    return true;
  }

  /**
   * Releases one permit, or `permits` of them, and wakes those whose turn it is. Anybody may, whether or not anybody has acquired
   * them. After `DLOCK_OUTCOME_UNKNOWN` they may have been released or not, and may yet be: a second call would release others.
   */
  release(permits?: number): Promise<void>;
  async release(permits = 1, ...surplus: unknown[]): Promise<void> {
    refuseSurplus(surplus, "release(permits) has one argument");
    unwrap(await this.#give(whole(permits, "permits", "release", this.name)));
  }

  /**
   * Changes by so many how many permits are available, for everybody; negative takes away, without waiting, and may leave fewer than
   * none: then nothing is granted until enough came back. Makes a semaphore that is not there.
   */
  addPermits(permits: number): Promise<void>;
  async addPermits(permits: number, ...surplus: unknown[]): Promise<void> {
    refuseSurplus(surplus, "addPermits(permits) has one argument");
    const count = whole(permits, "permits", "add permits", this.name);
    unwrap(await submit(this, (id) => native.countingSemaphoreAddPermits(id, this.#handle, count)));
  }

  /**
   * Takes all permits that are available, past those that wait, and resolves with how many there were. A negative number becomes 0,
   * as with Redisson, and is what this resolves with. Rejects with `DLOCK_OUTCOME_UNKNOWN` when the reply was lost: it is not
   * repeated.
   */
  async drain(): Promise<number> {
    return unwrap(await submit<number>(this, (id) => native.countingSemaphoreDrain(id, this.#handle)));
  }

  /** How many permits are available, and how many processes wait, as the server says now. */
  async inspect(): Promise<CountingSemaphoreInspection> {
    const inspecting = submit<NativeCountingSemaphoreInspection>(this, (id) =>
      native.countingSemaphoreInspect(id, this.#handle),
    );
    const { exists, available, queued } = unwrap(await inspecting);
    return { exists, available, queued };
  }

  /** How many permits can be acquired, as the server says now; 0 when the semaphore is not there. See `inspect`. */
  async available(): Promise<number> {
    return (await this.inspect()).available;
  }

  #take(permits: number, waitMs: number | undefined, signal: AbortSignal | undefined): Promise<Answer<undefined>> {
    return submit(this, (id) => native.countingSemaphoreAcquire(id, this.#handle, permits, waitMs), signal);
  }

  /** Nothing else brings them back: there is no lease. */
  async #giveBack(permits: number): Promise<void> {
    const given = await this.#give(permits);
    if (isFailure(given))
      warn("DLOCK_RELEASE_FAILED", `permits that nobody wanted any more may be missing: ${given.message}`);
  }

  #give(permits: number): Promise<Answer<undefined>> {
    return submit(this, (id) => native.countingSemaphoreRelease(id, this.#handle, permits));
  }
}

refuseUnbound(CountingSemaphore, "semaphore", "semaphore");

const NOBODY = "permits here have no owner: acquire(), and release() in a finally;";

// What the semaphores of other libraries have, and where it is here.
refuseElsewhere(CountingSemaphore, "a counting semaphore", {
  withPermits: `${NOBODY} client.semaphore(name, permits) has withPermits(run)`,
  runExclusive: `${NOBODY} client.semaphore(name, permits) has withPermits(run)`,
  use: `${NOBODY} client.semaphore(name, permits) has withPermits(run)`,
  setPermits: "trySetPermits(permits) makes it, addPermits(permits) changes how many are available",
  setValue: "trySetPermits(permits) makes it, addPermits(permits) changes how many are available",
  getValue: "await semaphore.available()",
  availablePermits: "await semaphore.available()",
  drainPermits: "await semaphore.drain()",
  isLocked: "await semaphore.available() is how many permits can be acquired now",
  waitForUnlock: "acquire({ waitMs }) waits, and takes a permit",
  cancel: "acquire({ signal }) ends one wait, client.close() all of them",
});
