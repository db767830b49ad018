import { AT_ONCE, type AcquireOptions, type Kind, type Run, TRY, type Wanted } from "./acquiring.js";
import { type ReadersOf, duration, readOptions } from "./arguments.js";
import type { Client } from "./client.js";
import { objectName } from "./convert.js";
import { refuseElsewhere } from "./elsewhere.js";
import { unwrap } from "./error.js";
import { HANDLE } from "./hold.js";
import { jsonFields } from "./json.js";
import { type LockOptions, OPEN } from "./lock.js";
import { KIND, Lockable, RUN, START, kindOf } from "./lockable.js";
import type { Handle, Id, NativeRwLockInspection, Submitted } from "./native.js";
import { native, submit } from "./port.js";
import { TYPE } from "./reentrant-hold.js";
import { RwHeld } from "./rw-held.js";
import { refuseUnbound } from "./unbound.js";

/** Known to what is made of read-write locks only: no method of a user. */
export const STEALING = Symbol("stealing");

/** One side of a read-write lock: any number may read at a time, or one may write. */
export type Side = "read" | "write";

/** How a read-write lock is opened. */
export interface RwLockOptions extends LockOptions {
  /**
   * How long after the server's grant a reader of the same process joins it without a round trip, in whole milliseconds, 0 to 10000;
   * 10 by default. Readers that come later ask the server, where a writer that waits is in front of them. Readers with a fixed lease
   * never join.
   */
  sharedAgeMs?: number | undefined;
}

const OPEN_RW = { ...OPEN, sharedAgeMs: duration } satisfies ReadersOf<RwLockOptions>;

/** What the server said about a read-write lock at one instant; it may have changed since. */
export interface RwLockInspection {
  // <api:rw-lock-inspection> written by `python3 api/write.py` from api/records.json
  /** The owner of the write side, `<client uuid>:<n>:write` (Redisson's or ours); undefined when nobody writes. */
  readonly writer: string | undefined;
  /** Whether that is this client. */
  readonly ours: boolean;
  /** How many holds of the read side there are; readers of one process that share one count as one. */
  readonly readers: number;
  /** What is left of the longest lease; undefined when nobody holds it, and for a foreign key that never expires. */
  readonly ttlMs: number | undefined;
  /** The last fencing token given for this name, as long as the server remembers it. */
  readonly token: bigint | undefined;
  /** How many processes stand in the queue. */
  readonly queued: number;
  // </api:rw-lock-inspection>
}

/** A class for its `toJSON`. */
class Seen implements RwLockInspection {
  // <api:seen> written by `python3 api/write.py` from api/records.json
  readonly writer: string | undefined;
  readonly ours: boolean;
  readonly readers: number;
  readonly ttlMs: number | undefined;
  readonly token: bigint | undefined;
  readonly queued: number;

  constructor(seen: NativeRwLockInspection) {
    this.writer = seen.writer ?? undefined;
    this.ours = seen.ours;
    this.readers = seen.readers;
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
export function openRwLock(client: Client, handle: Handle, name: string, options: RwLockOptions | undefined): RwLock {
  const op = "rw_lock";
  const object = objectName(name, op);
  const { leaseMs, watchdogLeaseMs, reentrant, sharedAgeMs } = readOptions(options, OPEN_RW, "rwLock(name, options)", {
    op,
    object,
  });
  const open = (side: Side): Handle =>
    unwrap(native.rwLockOpen(handle, object, side === "write", leaseMs, watchdogLeaseMs, reentrant, sharedAgeMs));
  return new RwLock(client, object, open);
}

const hold: Kind<RwLockSide, RwHeld, Wanted>["hold"] = (side, grant, advice) => new RwHeld(side, grant, advice);

const KINDS = { read: kindOf("withRead", hold), write: kindOf("withWrite", hold) };

/** One side of a read-write lock, `RwLock.read` or `RwLock.write`, which is acquired as a lock is. */
export class RwLockSide extends Lockable<RwHeld> {
  readonly side: Side;
  readonly #rwLock: RwLock;
  readonly #steals: boolean;

  /** @internal */
  constructor(rwLock: RwLock, side: Side, handle: Handle, steals = false) {
    super(rwLock.client, rwLock.name, handle);
    this.side = side;
    this.#rwLock = rwLock;
    this.#steals = steals;
  }

  /** The lock of which it is a side. */
  get rwLock(): RwLock {
    return this.#rwLock;
  }

  /** @internal */
  override get [TYPE](): "read-write lock" {
    return "read-write lock";
  }

  /** @internal */
  override get [KIND](): Kind<RwLockSide, RwHeld, Wanted> {
    return KINDS[this.side];
  }

  /** @internal */
  override [START](id: Id, waitMs: number | undefined, leaseMs: number | undefined): Submitted {
    if (this.#steals) return native.rwLockSteal(id, this[HANDLE], leaseMs);
    return native.rwLockAcquire(id, this[HANDLE], waitMs, leaseMs);
  }
}

refuseUnbound(RwLockSide, "side", "side");

/**
 * A read-write lock of one name, made by `Client.rwLock`: any number read at a time, or one writes. It is served in the order of
 * arrival: readers that stand next to one another are admitted together, and a reader that comes while a writer waits stands behind
 * it. So neither readers nor writers starve.
 */
export class RwLock {
  /** The name, without the client's key prefix. */
  readonly name: string;
  /** The client, which lives as long as its locks. */
  readonly client: Client;
  /** The side that any number may hold at a time, while nobody writes. */
  readonly read: RwLockSide;
  /** The side that one may hold at a time, while nobody reads. */
  readonly write: RwLockSide;
  readonly #open: (side: Side) => Handle;

  /** @internal */
  constructor(client: Client, name: string, open: (side: Side) => Handle) {
    this.#open = open;
    this.client = client;
    this.name = name;
    this.read = new RwLockSide(this, "read", open("read"));
    this.write = new RwLockSide(this, "write", open("write"));
  }

  /** Runs `run` while it may read, beside other readers, and resolves with its result; else as `Lock.withLock`. */
  withRead<T>(run: (held: RwHeld) => T | PromiseLike<T>): Promise<T>;
  withRead<T>(options: AcquireOptions, run: (held: RwHeld) => T | PromiseLike<T>): Promise<T>;
  withRead<T>(first: AcquireOptions | Run<RwHeld, T>, second?: Run<RwHeld, T>, ...surplus: unknown[]): Promise<T> {
    return this.read[RUN]("withRead(options, run)", first, second, surplus);
  }

  /**
   * Runs `run` while it alone may write, and read, and resolves with its result; else as `Lock.withLock`. After
   * `await held.downgrade()` it goes on beside other readers.
   */
  withWrite<T>(run: (held: RwHeld) => T | PromiseLike<T>): Promise<T>;
  withWrite<T>(options: AcquireOptions, run: (held: RwHeld) => T | PromiseLike<T>): Promise<T>;
  withWrite<T>(first: AcquireOptions | Run<RwHeld, T>, second?: Run<RwHeld, T>, ...surplus: unknown[]): Promise<T> {
    return this.write[RUN]("withWrite(options, run)", first, second, surplus);
  }

  /**
   * Takes the lock for writing at once, whoever holds either side and whoever waits: nobody else is granted it in between. The holds
   * of others are lost, with the reason `taken`; those of this client when this resolves. Other clients are sent a message and
   * look at once; until then only the new fencing token protects the resource. Those that wait keep their places. Rejects as
   * `acquire` of a side does.
   */
  async steal(options?: { leaseMs?: number | undefined }): Promise<RwHeld> {
    const { leaseMs } = readOptions(options, TRY, "steal(options)", { op: "steal", object: this.name });
    return this[STEALING]().acquire({ leaseMs, ...AT_ONCE });
  }

  /** @internal The write side; each acquire of it takes the lock from whoever holds it. */
  [STEALING](): RwLockSide {
    return new RwLockSide(this, "write", this.#open("write"), true);
  }

  /** Who writes or how many read, for how long, and the last token, as the server says now. */
  async inspect(): Promise<RwLockInspection> {
    const inspecting = submit<NativeRwLockInspection>(this, (id) => native.rwLockInspect(id, this.read[HANDLE]));
    return new Seen(unwrap(await inspecting));
  }

  /**
   * Ends every hold of both sides, whoever has it; resolves with whether anybody had one. Holds of this client are lost when
   * this resolves; other clients are sent a message and look at once; until then only their fencing tokens protect the
   * resource.
   */
  async forceRelease(): Promise<boolean> {
    return unwrap(await submit<boolean>(this, (id) => native.rwLockForceRelease(id, this.read[HANDLE])));
  }
}

refuseUnbound(RwLock, "lock", "lock");

const WHICH = "of which of its sides? Each is acquired as a lock is:";
const THROUGH_THE_HOLD =
  "the hold that acquire() resolves with has it: const held = await rw.read.acquire(), then await held.release()";

// What the read-write locks, mutexes and semaphores of other libraries have, and where it is here.
refuseElsewhere(RwLock, "a read-write lock", {
  acquire: `${WHICH} rw.read.acquire() or rw.write.acquire()`,
  tryAcquire: `${WHICH} rw.read.tryAcquire() or rw.write.tryAcquire()`,
  withLock: "withRead(run) runs beside other readers, withWrite(run) alone",
  runExclusive: "withWrite(run) runs alone, withRead(run) beside other readers",
  runShared: "withRead(run)",
  request: "withRead(options, run) is shared, withWrite(options, run) exclusive",
  readLock: "const held = await rw.read.acquire(), or withRead(run)",
  writeLock: "const held = await rw.write.acquire(), or withWrite(run)",
  acquireRead: "rw.read.acquire(), or withRead(run)",
  acquireWrite: "rw.write.acquire(), or withWrite(run)",
  upgradeableRead:
    "a reader cannot become a writer: withWrite(run) may read as well, and held.downgrade() lets others read too",
  upgrade:
    "a reader cannot become a writer: withWrite(run) may read as well, and held.downgrade() lets others read too",
  downgrade: "the hold of the write side has it: await held.downgrade()",
  release: THROUGH_THE_HOLD,
  unlock: THROUGH_THE_HOLD,
  isLocked: "(await inspect()) has writer and readers",
  getState: "(await inspect()) has writer and readers",
});

refuseElsewhere(RwLockSide, "a side of a read-write lock", {
  lock: "acquire() waits, tryAcquire() does not",
  runExclusive: "withLock(run), which is rw.withRead(run) or rw.withWrite(run)",
  release: THROUGH_THE_HOLD,
  unlock: THROUGH_THE_HOLD,
  isLocked: "(await rw.inspect()) has writer and readers",
  waitForUnlock: "acquire({ waitMs }) or withLock waits, and then holds",
  cancel: "acquire({ signal }) ends one wait, client.close() all of them",
  inspect: "(await rw.inspect()) says it of both sides",
});
