import {
  ACQUIRE,
  AT_ONCE,
  type AcquireOptions,
  type Kind,
  LEASE,
  type LeaseOptions,
  type Run,
  TRY,
  granted,
  grantedOrNull,
  runWith,
  words,
} from "./acquiring.js";
import {
  type Read,
  type ReadersOf,
  integer,
  optional,
  optionsAndRun,
  readOptions,
  refuseSurplus,
} from "./arguments.js";
import type { Client } from "./client.js";
import { objectName, whole, wrongType } from "./convert.js";
import { refuseElsewhere } from "./elsewhere.js";
import { unwrap } from "./error.js";
import { HeldPermits } from "./held-permits.js";
import type { Answer, Handle, NativeSemaphoreInspection } from "./native.js";
import { type Grant, freeWith, native, submit } from "./port.js";
import { refuseUnbound } from "./unbound.js";

/** How a semaphore is opened. */
export type SemaphoreOptions = LeaseOptions;

/** How permits are acquired. */
export interface AcquirePermitsOptions extends AcquireOptions {
  /** How many, 1 to 10000, all at once; 1 by default. */
  permits?: number | undefined;
}

const COUNT = { permits: optional(integer) };
const ACQUIRE_PERMITS = { ...COUNT, ...ACQUIRE } satisfies ReadersOf<AcquirePermitsOptions>;
const TRY_PERMITS = { ...COUNT, ...TRY };

type WantedPermits = Read<typeof ACQUIRE_PERMITS>;

/** What the server said about a semaphore at one instant; it may have changed since. */
export interface SemaphoreInspection {
  // <api:semaphore-inspection> written by `python3 api/write.py` from api/records.json
  /** How many permits there are in all; undefined when the semaphore is not there, which the first acquire changes. */
  readonly permits: number | undefined;
  /**
   * How many can be acquired now, those whose lease has run out among them; negative after the number was lowered
   * below what is taken.
   */
  readonly available: number;
  /** How many processes stand in the queue. */
  readonly queued: number;
  // </api:semaphore-inspection>
}

/** Known to this module only: no method of a user. */
const SUBMIT = Symbol("submit");

/** @internal */
export function openSemaphore(
  client: Client,
  handle: Handle,
  name: string,
  permits: number,
  options: SemaphoreOptions | undefined,
): Semaphore {
  const op = "semaphore";
  const call = "semaphore(name, permits, options)";
  const object = objectName(name, op);
  if (typeof permits !== "number") throw wrongType("permits", "a number", permits, `: ${call}`);
  const count = whole(permits, "permits", op, object);
  const { leaseMs, watchdogLeaseMs } = readOptions(options, LEASE, call, { op, object });
  return new Semaphore(client, object, unwrap(native.semaphoreOpen(handle, object, count, leaseMs, watchdogLeaseMs)));
}

const SEMAPHORES: Kind<Semaphore, HeldPermits, WantedPermits> = {
  ...words("withPermits"),
  submit: (semaphore, wanted) => semaphore[SUBMIT](wanted),
  hold: (semaphore, grant, advice) => new HeldPermits(semaphore, grant, advice),
};

/**
 * A semaphore of one name, made by `Client.semaphore`. Its permits are leased: those of a process that died are available again
 * when the lease ends, and a hold says whether it was lost. Each acquire makes a hold of its own, a `HeldPermits`, which alone
 * can release it, with all its permits.
 */
export class Semaphore {
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
   * Acquires one permit, or `permits` of them all at once, in the order of arrival: a request for few does not overtake one for
   * many for ever. Rejects with `DLOCK_BUSY` when that was not possible within `waitMs`, with the reason of `signal` when that
   * fires first, with `DLOCK_INVALID_ARGUMENT` for more permits than there are in all, with `DLOCK_CONNECTION` and its kin when the
   * server cannot be asked. Whatever it rejects with, nothing is held.
   */
  acquire(options?: AcquirePermitsOptions): Promise<HeldPermits>;
  async acquire(options?: AcquirePermitsOptions, ...surplus: unknown[]): Promise<HeldPermits> {
    refuseSurplus(
      surplus,
      "acquire(options) has one argument: permits, waitMs, leaseMs and signal stand in one object",
    );
    const read = readOptions(options, ACQUIRE_PERMITS, "acquire(options)", { op: "acquire", object: this.name });
    return granted(SEMAPHORES, this, await this[SUBMIT](read), read.signal);
  }

  /**
   * Acquires permits if they are available now, else resolves with null. May jump the queue, at most twice per queue head: after
   * that it is null also when they are available.
   */
  tryAcquire(options?: { permits?: number | undefined; leaseMs?: number | undefined }): Promise<HeldPermits | null>;
  async tryAcquire(
    options?: { permits?: number | undefined; leaseMs?: number | undefined },
    ...surplus: unknown[]
  ): Promise<HeldPermits | null> {
    refuseSurplus(surplus, "tryAcquire(options) has one argument: acquire({ waitMs }) waits");
    const read = readOptions(options, TRY_PERMITS, "tryAcquire(options)", { op: "acquire", object: this.name });
    return grantedOrNull(SEMAPHORES, this, await this[SUBMIT]({ ...read, ...AT_ONCE }));
  }

  /**
   * Runs `run` while permits are held and resolves with its result. A hold that was lost meanwhile makes it reject, so that a
   * loss does not go by unseen; `held.signal` tells of it at once. A release that fails otherwise takes neither the place of the
   * result nor that of an error of `run`: it is a warning (`DLOCK_RELEASE_FAILED`), and the lease runs out. `options.signal`
   * ends the wait for the permits; it does nothing to `run`.
   */
  withPermits<T>(run: (held: HeldPermits) => T | PromiseLike<T>): Promise<T>;
  withPermits<T>(options: AcquirePermitsOptions, run: (held: HeldPermits) => T | PromiseLike<T>): Promise<T>;
  withPermits<T>(
    first: AcquirePermitsOptions | Run<HeldPermits, T>,
    second?: Run<HeldPermits, T>,
    ...surplus: unknown[]
  ): Promise<T> {
    return runWith(SEMAPHORES, () => {
      const call = "withPermits(options, run)";
      const [options, run] = optionsAndRun<Run<HeldPermits, T>>(first, second, surplus, call);
      const about = { op: "acquire", object: this.name };
      return { of: this, run, wanted: readOptions(options, ACQUIRE_PERMITS, call, about) };
    });
  }

  /** @internal */
  [SUBMIT]({ permits = 1, waitMs, leaseMs, signal }: WantedPermits): Promise<Answer<Grant>> {
    const start = (id: number): ReturnType<typeof native.semaphoreAcquire> =>
      native.semaphoreAcquire(id, this.#handle, permits, waitMs, leaseMs);
    return submit<Grant>(this, start, signal);
  }

  /**
   * Sets how many permits there are in all, 1 to 2147483647, for everybody. Lowered, what is taken stays taken, and nothing is
   * granted until enough was given back; raised, those are woken whose turn it is.
   */
  setPermits(permits: number): Promise<void>;
  async setPermits(permits: number, ...surplus: unknown[]): Promise<void> {
    refuseSurplus(surplus, "setPermits(permits) has one argument");
    const count = whole(permits, "permits", "set permits", this.name);
    unwrap(await submit(this, (id) => native.semaphoreSetPermits(id, this.#handle, count)));
  }

  /** How many permits there are, how many are available, and how many processes wait, as the server says now. */
  async inspect(): Promise<SemaphoreInspection> {
    const inspecting = submit<NativeSemaphoreInspection>(this, (id) => native.semaphoreInspect(id, this.#handle));
    const { permits, available, queued } = unwrap(await inspecting);
    return { permits: permits ?? undefined, available, queued };
  }
}

refuseUnbound(Semaphore, "semaphore", "semaphore");

// What the semaphores of other libraries have, and where it is here.
const WITH_PERMITS = "withPermits(run) or withPermits({ permits }, run)";

refuseElsewhere(Semaphore, "a semaphore", {
  release:
    "the hold that acquire() resolves with has it: const held = await semaphore.acquire(), then await held.release()",
  runExclusive: WITH_PERMITS,
  withLock: WITH_PERMITS,
  use: WITH_PERMITS,
  setValue: "setPermits(permits) sets how many there are in all",
  getValue: "(await inspect()).available",
  isLocked: "(await inspect()).available is how many permits can be acquired now",
  waitForUnlock: "acquire({ waitMs }) or withPermits waits, and then holds",
  cancel: "acquire({ signal }) ends one wait, client.close() all of them",
});
