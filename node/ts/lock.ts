import { ACQUIRE, type Kind, LEASE, type LeaseOptions, type Run, type Wanted, granted, runWith } from "./acquiring.js";
import { type Read, type ReadersOf, boolean, optionsAndRun, readOptions, refuseSurplus } from "./arguments.js";
import type { Client } from "./client.js";
import { objectName, text } from "./convert.js";
import { unwrap } from "./error.js";
import { Held } from "./held.js";
import { HANDLE } from "./hold.js";
import { jsonFields } from "./json.js";
import { KIND, Lockable, START, kindOf } from "./lockable.js";
import type { Handle, Id, NativeInspection, Submitted } from "./native.js";
import { type Grant, native, submit } from "./port.js";
import { TYPE } from "./reentrant-hold.js";
import { refuseUnbound } from "./unbound.js";

/** How a lock is opened. */
export interface LockOptions extends LeaseOptions {
  /** Whether a hold may be entered again; without it the client's option. */
  reentrant?: boolean | undefined;
}

/** @internal */
export const OPEN = { ...LEASE, reentrant: boolean } satisfies ReadersOf<LockOptions>;
const OPEN_AND_ACQUIRE = { ...ACQUIRE, ...OPEN };

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
  return runWith(LOCKS, () => {
    const call = "withLock(name, options, run)";
    const object = objectName(name, "lock");
    const [options, run] = optionsAndRun<Run<Held, T>>(first, second, surplus, call);
    const wanted = readOptions(options, OPEN_AND_ACQUIRE, call, { op: "acquire", object });
    return { of: lockOf(client, handle, object, wanted), run, wanted };
  });
}

function lockOf(client: Client, handle: Handle, name: string, options: Read<typeof OPEN>): Lock {
  const { leaseMs, watchdogLeaseMs, reentrant } = options;
  return new Lock(client, name, unwrap(native.lockOpen(handle, name, leaseMs, watchdogLeaseMs, reentrant)));
}

const LOCKS = kindOf<Lock, Held>("withLock", (lock, grant, advice) => new Held(lock, grant, advice));

/**
 * A lock of one name, made by `Client.lock`. Each acquire makes a hold of its own, a `Held`, which alone can release it:
 * a second `acquire` waits for the first hold's release; `Held.reenter` goes in again.
 */
export class Lock extends Lockable<Held> {
  /** @internal */
  override get [TYPE](): "lock" {
    return "lock";
  }

  /** @internal */
  override get [KIND](): Kind<Lock, Held, Wanted> {
    return LOCKS;
  }

  /** @internal */
  override [START](id: Id, waitMs: number | undefined, leaseMs: number | undefined): Submitted {
    return native.lockAcquire(id, this[HANDLE], waitMs, leaseMs);
  }

  /**
   * Makes a hold of what `Held.detach` let go of, here or in another process, with the same token. A hold without a lease given
   * is renewed with this lock's `watchdogLeaseMs` from then on.
   */
  attach(detached: string): Promise<Held>;
  async attach(detached: string, ...surplus: unknown[]): Promise<Held> {
    refuseSurplus(surplus, "attach(detached) has no options: client.lock(name, { watchdogLeaseMs }) sets the lease");
    const given = text(detached, "detached", "attach");
    const attached = await submit<Grant>(this, (id) => native.lockAttach(id, this[HANDLE], given));
    return granted(LOCKS, this, attached, undefined);
  }

  /** Who holds the lock, for how long, and the last token, as the server says now. */
  async inspect(): Promise<Inspection> {
    const seen = unwrap(await submit<NativeInspection>(this, (id) => native.lockInspect(id, this[HANDLE])));
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
    return unwrap(await submit<boolean>(this, (id) => native.lockForceRelease(id, this[HANDLE])));
  }
}

refuseUnbound(Lock, "lock", "lock");
