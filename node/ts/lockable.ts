import {
  ACQUIRE,
  AT_ONCE,
  type AcquireOptions,
  type Kind,
  type Run,
  TRY,
  type Wanted,
  granted,
  grantedOrNull,
  runWith,
  words,
} from "./acquiring.js";
import { optionsAndRun, readOptions, refuseSurplus } from "./arguments.js";
import type { Client } from "./client.js";
import type { FencedHold } from "./fenced-hold.js";
import { HANDLE } from "./hold.js";
import type { Answer, Handle, Id, Submitted } from "./native.js";
import { type Grant, freeWith, submit } from "./port.js";
import { NAMES, type Nestable, type ReentrantHold, TYPE } from "./reentrant-hold.js";
import { enter, refuseDeadlock } from "./scope.js";
import { refuseUnbound } from "./unbound.js";

/** Known to the kinds of lockables only: no methods of a user. */
export const KIND = Symbol("kind");
export const START = Symbol("start");
export const RUN = Symbol("run");
const SUBMIT = Symbol("submit");

/** The kind of a lockable whose holds `hold` makes and whose method `scoped` runs a function. */
export function kindOf<Of extends Lockable<H>, H extends ReentrantHold>(
  scoped: string,
  hold: Kind<Of, H, Wanted>["hold"],
): Kind<Of, H, Wanted> {
  return {
    ...words(scoped),
    submit: (of, wanted) => of[SUBMIT](wanted),
    hold,
    inside: (held) => enter(held, scoped),
  };
}

/**
 * What is acquired as a lock is: a lock, one side of a read-write lock, or several locks as one, which is "the lock" of what
 * follows. Each acquire makes a hold of its own, which alone can release it. Its fencing token is the hold's `token`; several locks
 * have `tokens`.
 */
export abstract class Lockable<H extends ReentrantHold = FencedHold> implements Nestable {
  /** The name, without the client's key prefix; of several locks their names, with commas between them. */
  readonly name: string;
  /** The client, which lives as long as its locks. */
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
   * Acquires the lock. Rejects with `DLOCK_BUSY` when that was not possible within `waitMs`, with the reason of `signal` when
   * that fires first, with `DLOCK_CONNECTION` and its kin when the server cannot be asked. Without `waitMs`, inside of a function
   * that runs under a hold of the same lock, it rejects with `DLOCK_DEADLOCK`. Whatever it rejects with, nothing is held.
   */
  acquire(options?: AcquireOptions): Promise<H>;
  async acquire(options?: AcquireOptions, ...surplus: unknown[]): Promise<H> {
    refuseSurplus(surplus, "acquire(options) has one argument: waitMs, leaseMs and signal stand in one object");
    const read = readOptions(options, ACQUIRE, "acquire(options)", { op: "acquire", object: this.name });
    return granted(this[KIND], this, await this[SUBMIT](read), read.signal);
  }

  /**
   * Acquires the lock if it is to be had now, else resolves with null. May jump the queue, at most twice per queue head: after
   * that it is null also when the lock is free.
   */
  tryAcquire(options?: { leaseMs?: number | undefined }): Promise<H | null>;
  async tryAcquire(options?: { leaseMs?: number | undefined }, ...surplus: unknown[]): Promise<H | null> {
    refuseSurplus(surplus, "tryAcquire(options) has one argument: acquire({ waitMs }) waits");
    const read = readOptions(options, TRY, "tryAcquire(options)", { op: "acquire", object: this.name });
    return grantedOrNull(this[KIND], this, await this[SUBMIT]({ ...read, ...AT_ONCE }));
  }

  /**
   * Runs `run` while the lock is held and resolves with its result. A hold that was lost meanwhile makes it reject, so that
   * a loss does not go by unseen; `held.signal` tells of it at once. A release that fails otherwise takes neither the place of
   * the result nor that of an error of `run`: it is a warning (`DLOCK_RELEASE_FAILED`), and the lease runs out.
   * `options.signal` ends the wait for the lock; it does nothing to `run`.
   */
  withLock<T>(run: (held: H) => T | PromiseLike<T>): Promise<T>;
  withLock<T>(options: AcquireOptions, run: (held: H) => T | PromiseLike<T>): Promise<T>;
  withLock<T>(first: AcquireOptions | Run<H, T>, second?: Run<H, T>, ...surplus: unknown[]): Promise<T> {
    return this[RUN]("withLock(options, run)", first, second, surplus);
  }

  /** @internal As `withLock`, under the name that the user calls it by. */
  [RUN]<T>(call: string, first: unknown, second: unknown, surplus: readonly unknown[]): Promise<T> {
    return runWith(this[KIND], () => {
      const [options, run] = optionsAndRun<Run<H, T>>(first, second, surplus, call);
      return { of: this, run, wanted: readOptions(options, ACQUIRE, call, { op: "acquire", object: this.name }) };
    });
  }

  /** @internal */
  [SUBMIT]({ waitMs, leaseMs, signal }: Wanted): Promise<Answer<Grant>> {
    // Nobody waits for what has been given up: `submit` rejects with the signal's reason.
    if (signal?.aborted !== true) refuseDeadlock(this, waitMs);
    return submit<Grant>(this, (id) => this[START](id, waitMs, leaseMs), signal);
  }

  /** @internal */
  get [HANDLE](): Handle {
    return this.#handle;
  }

  /** @internal */
  get [NAMES](): readonly string[] {
    return [this.name];
  }

  /** @internal */
  abstract get [TYPE](): Nestable[typeof TYPE];

  /** @internal */
  abstract get [KIND](): Kind<Lockable<H>, H, Wanted>;

  /** @internal Starts an acquire. */
  abstract [START](id: Id, waitMs: number | undefined, leaseMs: number | undefined): Submitted;
}

refuseUnbound(Lockable, "lock", "lock");
