import type { Client } from "./client.js";
import { anyMilliseconds, objectName, text, wrongType } from "./convert.js";
import { DlockError, unwrap } from "./error.js";
import { Held } from "./held.js";
import type { Handle, NativeInspection } from "./native.js";
import { type Grant, native, submit } from "./port.js";
import { warn } from "./warning.js";

/** How a lock is opened. */
export interface LockOptions {
  /** A lease of whole milliseconds, 100 to 86400000, that is not renewed; without one the client's, renewed while held. */
  leaseMs?: number | undefined;
  /** Whether a hold may be entered again; without it the client's option. */
  reentrant?: boolean | undefined;
}

/** How a lock is acquired. */
export interface AcquireOptions {
  /** How long to wait, in whole milliseconds up to 86400000 (24 h); 0 does not wait, none is for ever. */
  waitMs?: number | undefined;
  /** As the lock's, for this hold. */
  leaseMs?: number | undefined;
  /** Ends the wait: the promise rejects with the signal's reason, and nothing is held. */
  signal?: AbortSignal | undefined;
}

/** What the server said about a lock at one instant; it may have changed since. */
export interface Inspection {
  /** The owner, `<client uuid>:<n>`; undefined when the lock is free. */
  readonly holder: string | undefined;
  /** Whether the owner is this client. */
  readonly ours: boolean;
  /** What is left of the lease, in milliseconds; undefined with a holder is a foreign key that never expires. */
  readonly ttlMs: number | undefined;
  /** The last fencing token reserved for this name, while the server remembers it; the holder's may be lower. */
  readonly token: bigint | undefined;
  /** How many processes stand in the queue. */
  readonly queued: number;
}

const collected = new FinalizationRegistry<Handle>((handle) => native.free(handle));

/** @internal */
export function openLock(client: Client, handle: Handle, name: string, options: LockOptions): Lock {
  const wanted = objectName(name, "lock");
  const lease = anyMilliseconds(options.leaseMs, "leaseMs", "lock", wanted);
  return new Lock(client, wanted, unwrap(native.lockOpen(handle, wanted, lease, options.reentrant)));
}

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
   * that fires first, with `DLOCK_CONNECTION` and its kin when the server cannot be asked. Whatever it rejects with,
   * nothing is held.
   */
  async acquire(options: AcquireOptions = {}): Promise<Held> {
    const wait = anyMilliseconds(options.waitMs, "waitMs", "acquire", this.name);
    const lease = anyMilliseconds(options.leaseMs, "leaseMs", "acquire", this.name);
    const acquire = (id: number): ReturnType<typeof native.lockAcquire> =>
      native.lockAcquire(id, this.#handle, wait, lease);
    return new Held(this, unwrap(await submit<Grant>(this, acquire, options.signal)));
  }

  /** Takes the lock if it is free now, else resolves with null. */
  async tryAcquire(options: { leaseMs?: number | undefined } = {}): Promise<Held | null> {
    try {
      return await this.acquire({ waitMs: 0, leaseMs: options.leaseMs });
    } catch (error) {
      if (error instanceof DlockError && error.kind === "BUSY") return null;
      throw error;
    }
  }

  /**
   * Runs `run` while the lock is held and resolves with its result. A hold that was lost meanwhile makes it reject, so that
   * a loss does not go by unseen; `held.signal` tells of it at once. An error of `run` goes before one of the release.
   * `options.signal` ends the wait for the lock; it does nothing to `run`.
   */
  withLock<T>(run: (held: Held) => T | PromiseLike<T>): Promise<T>;
  withLock<T>(options: AcquireOptions, run: (held: Held) => T | PromiseLike<T>): Promise<T>;
  async withLock<T>(
    ...[first, second]:
      [run: (held: Held) => T | PromiseLike<T>] | [options: AcquireOptions, run: (held: Held) => T | PromiseLike<T>]
  ): Promise<T> {
    const [options, run] = typeof first === "function" ? [{}, first] : [first, second];
    if (typeof run !== "function") throw wrongType("run", "a function", run);
    const held = await this.acquire(options);
    let result: T;
    try {
      result = await run(held);
    } catch (error) {
      await held[Symbol.asyncDispose]().catch((failed: unknown) => {
        // Of a loss the signal has told, and most often that is why `run` failed.
        if (held.lossReason !== undefined) return;
        warn("DLOCK_RELEASE_FAILED", `the release after a failed withLock failed too: ${String(failed)}`);
      });
      throw error;
    }
    await held[Symbol.asyncDispose]();
    return result;
  }

  /** Makes a hold of what `Held.detach` let go of, here or in another process, with the same token. */
  async attach(detached: string): Promise<Held> {
    const given = text(detached, "detached", "attach");
    return new Held(this, unwrap(await submit<Grant>(this, (id) => native.lockAttach(id, this.#handle, given))));
  }

  /** Who holds the lock, for how long, and the last token, as the server says now. */
  async inspect(): Promise<Inspection> {
    const seen = unwrap(await submit<NativeInspection>(this, (id) => native.lockInspect(id, this.#handle)));
    return {
      holder: seen.holder ?? undefined,
      ours: seen.ours,
      ttlMs: seen.ttlMs ?? undefined,
      token: seen.token ?? undefined,
      queued: seen.queued,
    };
  }

  /** Whether anybody holds the lock, as the server says now. */
  async locked(): Promise<boolean> {
    return (await this.inspect()).holder !== undefined;
  }

  /** Frees the lock whoever holds it; resolves with whether anybody did. The holder learns it at its next renewal. */
  async forceRelease(): Promise<boolean> {
    return unwrap(await submit<boolean>(this, (id) => native.lockForceRelease(id, this.#handle)));
  }
}
