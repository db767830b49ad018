import type { Client } from "./client.js";
import {
  type Read,
  type ReadersOf,
  abortSignal,
  boolean,
  duration,
  optionsAndRun,
  readOptions,
  refuseSurplus,
} from "./arguments.js";
import { objectName, text } from "./convert.js";
import { DlockError, unwrap } from "./error.js";
import { Held, RELEASE_IT, SETTLE_IT } from "./held.js";
import { jsonFields } from "./json.js";
import type { Answer, Handle, NativeInspection } from "./native.js";
import { type Grant, discard, native, submit, unlessAborted } from "./port.js";
import { enter, refuseDeadlock, within } from "./scope.js";
import { warn } from "./warning.js";

/** How a lock is opened. */
export interface LockOptions {
  /** A lease of whole milliseconds, 100 to 86400000, that is not renewed; without one `watchdogLeaseMs`, renewed while held. */
  leaseMs?: number | undefined;
  /** The lease that is renewed, every third of it; without one the client's `leaseMs`. Not together with `leaseMs`. */
  watchdogLeaseMs?: number | undefined;
  /** Whether a hold may be entered again; without it the client's option. */
  reentrant?: boolean | undefined;
}

/** How a lock is acquired. */
export interface AcquireOptions {
  /** How long to wait, in whole milliseconds below 2^53; 0 does not wait, none is for ever. */
  waitMs?: number | undefined;
  /** As the lock's, for this hold. */
  leaseMs?: number | undefined;
  /** Ends the wait: the promise rejects with the signal's reason, and nothing is held. */
  signal?: AbortSignal | undefined;
}

const OPEN = { leaseMs: duration, watchdogLeaseMs: duration, reentrant: boolean } satisfies ReadersOf<LockOptions>;
const TRY = { leaseMs: duration };
const ACQUIRE = { waitMs: duration, leaseMs: duration, signal: abortSignal } satisfies ReadersOf<AcquireOptions>;
const OPEN_AND_ACQUIRE = { ...ACQUIRE, ...OPEN };

type Acquire = Read<typeof ACQUIRE>;

/** What the server said about a lock at one instant; it may have changed since. */
export interface Inspection {
  // <api:inspection> written by `python3 api/write.py` from api/records.json
  /** The owner, `<client uuid>:<n>` (Redisson's or ours); undefined when the lock is free. */
  readonly holder: string | undefined;
  /** Whether the owner is this client. */
  readonly ours: boolean;
  /** What is left of the lease; undefined when the lock is free, and for a foreign key that never expires. */
  readonly ttlMs: number | undefined;
  /** The last fencing token reserved for this name, as long as the server remembers it; the holder's may be lower. */
  readonly token: bigint | undefined;
  /** How many processes stand in the queue. */
  readonly queued: number;
  // </api:inspection>
}

/** A class for its `toJSON`. */
class Seen implements Inspection {
  // <api:seen> written by `python3 api/write.py` from api/records.json
  readonly holder: string | undefined;
  readonly ours: boolean;
  readonly ttlMs: number | undefined;
  readonly token: bigint | undefined;
  readonly queued: number;

  constructor(seen: NativeInspection) {
    this.holder = seen.holder ?? undefined;
    this.ours = seen.ours;
    this.ttlMs = seen.ttlMs ?? undefined;
    this.token = seen.token ?? undefined;
    this.queued = seen.queued;
  }
  // </api:seen>

  toJSON(): object {
    return jsonFields(this);
  }
}

const collected = new FinalizationRegistry<Handle>((handle) => native.free(handle));

/** Known to this module only: no method of a user. */
const SUBMIT = Symbol("submit");

/** @internal */
export function openLock(client: Client, handle: Handle, name: string, options: LockOptions | undefined): Lock {
  const wanted = objectName(name, "lock");
  const read = readOptions(options, OPEN, "lock(name, options)", { op: "lock", object: wanted });
  return lockOf(client, handle, wanted, read);
}

/** @internal */
export function openAndRun<T>(
  client: Client,
  handle: Handle,
  name: string,
  first: unknown,
  second: unknown,
  surplus: readonly unknown[],
): Promise<T> {
  return runWith(() => {
    const call = "withLock(name, options, run)";
    const object = objectName(name, "lock");
    const [options, run] = optionsAndRun<Run<T>>(first, second, surplus, call);
    const wanted = readOptions(options, OPEN_AND_ACQUIRE, call, { op: "acquire", object });
    return { lock: lockOf(client, handle, object, wanted), run, wanted };
  });
}

function lockOf(client: Client, handle: Handle, name: string, options: Read<typeof OPEN>): Lock {
  const { leaseMs, watchdogLeaseMs, reentrant } = options;
  return new Lock(client, name, unwrap(native.lockOpen(handle, name, leaseMs, watchdogLeaseMs, reentrant)));
}

type Run<T> = (held: Held) => T | PromiseLike<T>;

/**
 * A lock of one name, made by `Client.lock`. Each acquire makes a hold of its own, a `Held`, which alone can release it:
 * a second `acquire` waits for the first hold's release; `Held.reenter` goes in again.
 */
export class Lock {
  /** The name, without the client's key prefix. */
  readonly name: string;
  /** The client, which lives as long as its locks. */
  readonly client: Client;
  readonly #handle: Handle;

  /** @internal */
  constructor(client: Client, name: string, handle: Handle) {
    this.client = client;
    this.name = name;
    this.#handle = handle;
    collected.register(this, handle);
  }

  /**
   * Takes the lock. Rejects with `DLOCK_BUSY` when that was not possible within `waitMs`, with the reason of `signal` when
   * that fires first, with `DLOCK_CONNECTION` and its kin when the server cannot be asked. Without `waitMs`, inside of a
   * `withLock` of the same lock, it rejects with `DLOCK_DEADLOCK`. Whatever it rejects with, nothing is held.
   */
  acquire(options?: AcquireOptions): Promise<Held>;
  async acquire(options?: AcquireOptions, ...surplus: unknown[]): Promise<Held> {
    refuseSurplus(surplus, "acquire(options) has one argument: waitMs, leaseMs and signal stand in one object");
    const read = readOptions(options, ACQUIRE, "acquire(options)", { op: "acquire", object: this.name });
    return granted(this, await this[SUBMIT](read), read, RELEASE_IT);
  }

  /**
   * Takes the lock if it is free now, else resolves with null. May jump the queue, at most twice per queue head: after that it
   * is null also when the lock is free.
   */
  tryAcquire(options?: { leaseMs?: number | undefined }): Promise<Held | null>;
  async tryAcquire(options?: { leaseMs?: number | undefined }, ...surplus: unknown[]): Promise<Held | null> {
    refuseSurplus(surplus, "tryAcquire(options) has one argument: acquire({ waitMs }) waits");
    const { leaseMs } = readOptions(options, TRY, "tryAcquire(options)", { op: "acquire", object: this.name });
    const once = { waitMs: 0, leaseMs, signal: undefined };
    try {
      return granted(this, await this[SUBMIT](once), once, RELEASE_IT);
    } catch (error) {
      if (error instanceof DlockError && error.kind === "BUSY") return null;
      throw error;
    }
  }

  /**
   * Runs `run` while the lock is held and resolves with its result. A hold that was lost meanwhile makes it reject, so that
   * a loss does not go by unseen; `held.signal` tells of it at once. A release that fails otherwise takes neither the place of
   * the result nor that of an error of `run`: it is a warning (`DLOCK_RELEASE_FAILED`), and the lease runs out.
   * `options.signal` ends the wait for the lock; it does nothing to `run`.
   */
  withLock<T>(run: (held: Held) => T | PromiseLike<T>): Promise<T>;
  withLock<T>(options: AcquireOptions, run: (held: Held) => T | PromiseLike<T>): Promise<T>;
  withLock<T>(first: AcquireOptions | Run<T>, second?: Run<T>, ...surplus: unknown[]): Promise<T> {
    return runWith(() => {
      const call = "withLock(options, run)";
      const [options, run] = optionsAndRun<Run<T>>(first, second, surplus, call);
      return { lock: this, run, wanted: readOptions(options, ACQUIRE, call, { op: "acquire", object: this.name }) };
    });
  }

  /** @internal */
  [SUBMIT]({ waitMs, leaseMs, signal }: Acquire): Promise<Answer<Grant>> {
    // Nobody waits for what has been given up: `submit` rejects with the signal's reason.
    if (signal?.aborted !== true) refuseDeadlock(this, waitMs);
    return submit<Grant>(this, (id) => native.lockAcquire(id, this.#handle, waitMs, leaseMs), signal);
  }

  /**
   * Makes a hold of what `Held.detach` let go of, here or in another process, with the same token. A hold without a lease given
   * is renewed with this lock's `watchdogLeaseMs` from then on.
   */
  attach(detached: string): Promise<Held>;
  async attach(detached: string, ...surplus: unknown[]): Promise<Held> {
    refuseSurplus(surplus, "attach(detached) has no options: client.lock(name, { watchdogLeaseMs }) sets the lease");
    const given = text(detached, "detached", "attach");
    const attached = await submit<Grant>(this, (id) => native.lockAttach(id, this.#handle, given));
    return new Held(this, unwrap(attached), RELEASE_IT);
  }

  /** Who holds the lock, for how long, and the last token, as the server says now. */
  async inspect(): Promise<Inspection> {
    const seen = unwrap(await submit<NativeInspection>(this, (id) => native.lockInspect(id, this.#handle)));
    return new Seen(seen);
  }

  /** Whether anybody holds the lock, as the server says now. */
  async locked(): Promise<boolean> {
    return (await this.inspect()).holder !== undefined;
  }

  /**
   * Frees the lock whoever holds it; resolves with whether anybody did. A hold of this client is lost when this resolves;
   * another client is sent a message and looks at once; until then only its fencing token protects the resource.
   */
  async forceRelease(): Promise<boolean> {
    return unwrap(await submit<boolean>(this, (id) => native.lockForceRelease(id, this.#handle)));
  }
}

/** The hold that an acquire has brought, for the caller's promise to resolve with: see `unlessAborted`. */
function granted(lock: Lock, answer: Answer<Grant>, { signal }: Acquire, advice: string): Held {
  return new Held(lock, unlessAborted(answer, signal, releaseUnused), advice);
}

function releaseUnused([handle]: Grant): void {
  discard(handle, (id) => native.heldRelease(id, handle));
}

/** What `withLock` was asked for. */
interface Asked<T> {
  readonly lock: Lock;
  readonly wanted: Acquire;
  readonly run: Run<T>;
}

/** One asynchronous function for all of it: each costs turns and promises, and a wrong argument has to reject like the rest. */
async function runWith<T>(read: () => Asked<T>): Promise<T> {
  const { lock, wanted, run } = read();
  const held = granted(lock, await lock[SUBMIT](wanted), wanted, SETTLE_IT);
  const scope = enter(held);
  let result: T;
  try {
    result = await within(scope, run, held);
  } catch (error) {
    scope.held = undefined;
    try {
      await held[Symbol.asyncDispose]();
    } catch (failed) {
      // Of a loss the signal has told, and most often that is why `run` failed.
      if (!isLost(held, failed)) releaseFailed(lock, failed);
    }
    throw error;
  }
  scope.held = undefined;
  try {
    await held[Symbol.asyncDispose]();
  } catch (failed) {
    if (isLost(held, failed)) throw failed;
    releaseFailed(lock, failed);
  }
  return result;
}

/** Whether a release failed because the hold was over before: what ran under it may have run beside another holder. */
function isLost(held: Held, failed: unknown): boolean {
  return held.lossReason !== undefined || (failed instanceof DlockError && failed.kind === "NOT_HELD");
}

/** What ran under the hold was protected to its end: only the next holder waits longer. */
function releaseFailed({ name }: Lock, failed: unknown): void {
  const why = failed instanceof Error ? failed.message : String(failed);
  warn("DLOCK_RELEASE_FAILED", `the release of ${JSON.stringify(name)} at the end of withLock failed: ${why}`);
}
