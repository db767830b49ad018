import type { Kind, Wanted } from "./acquiring.js";
import { readOptions } from "./arguments.js";
import type { Client } from "./client.js";
import { objectName, wrongType } from "./convert.js";
import { refuseElsewhere } from "./elsewhere.js";
import { unwrap } from "./error.js";
import { HeldAll } from "./held-all.js";
import { HANDLE } from "./hold.js";
import { type LockOptions, OPEN } from "./lock.js";
import { KIND, Lockable, START, kindOf } from "./lockable.js";
import type { Handle, Id, Submitted } from "./native.js";
import { native } from "./port.js";
import { NAMES, TYPE } from "./reentrant-hold.js";
import { refuseUnbound } from "./unbound.js";

const OP = "lock all";
const CALL = "lockAll(names, options)";

/** @internal */
export function openLockAll(
  client: Client,
  handle: Handle,
  given: readonly string[],
  options: LockOptions | undefined,
): LockAll {
  const names = readNames(given);
  const { leaseMs, watchdogLeaseMs, reentrant } = readOptions(options, OPEN, CALL, { op: OP });
  return new LockAll(client, unwrap(native.lockAllOpen(handle, names, leaseMs, watchdogLeaseMs, reentrant)));
}

function readNames(given: readonly string[]): string[] {
  if (!Array.isArray(given)) throw wrongType("names", "an array of strings", given, `: ${CALL}`);
  return Array.from(given as readonly string[], (name, at) => {
    if (typeof name !== "string") throw wrongType(`names[${String(at)}]`, "a string", name);
    return objectName(name, OP);
  });
}

const SETS: Kind<LockAll, HeldAll, Wanted> = kindOf(
  "withLock",
  (set, grant, advice) => new HeldAll(set, grant, advice),
);

/**
 * Several locks that are acquired and released as one, made by `Client.lockAll`: all of them are held, or none. Sets that overlap
 * never block each other for ever, in whatever order their names are given. A `Lock` of one of the names excludes the set, and
 * the set excludes it.
 *
 * It has the calls of a `Lock`: `waitMs` is for all of them together, and the error of an acquire names the lock that it is about.
 */
export class LockAll extends Lockable<HeldAll> {
  /** The names, each once, in the order in which the locks are waited for: that of their keys. */
  readonly names: readonly string[];

  /** @internal */
  constructor(client: Client, handle: Handle) {
    const names = Object.freeze(unwrap(native.lockAllNames(handle)));
    super(client, names.join(", "), handle);
    this.names = names;
  }

  /** @internal */
  override get [NAMES](): readonly string[] {
    return this.names;
  }

  /** @internal */
  override get [TYPE](): "lock" {
    return "lock";
  }

  /** @internal */
  override get [KIND](): Kind<LockAll, HeldAll, Wanted> {
    return SETS;
  }

  /** @internal */
  override [START](id: Id, waitMs: number | undefined, leaseMs: number | undefined): Submitted {
    return native.lockAllAcquire(id, this[HANDLE], waitMs, leaseMs);
  }
}

refuseUnbound(LockAll, "set of locks", "locks");

const THROUGH_THE_HOLD =
  "the hold that acquire() resolves with has it: const held = await locks.acquire(), then await held.release()";
const ONE_BY_ONE = "client.lock(name) has it, for each of the names";

// What the locks of other libraries and a lock of one name have, and where it is here.
refuseElsewhere(LockAll, "a set of locks", {
  lock: "acquire() waits, tryAcquire() does not",
  request: "withLock(options, run)",
  runExclusive: "withLock(run)",
  using: "withLock(run)",
  release: THROUGH_THE_HOLD,
  unlock: THROUGH_THE_HOLD,
  extend: THROUGH_THE_HOLD.replace("release()", "extend(leaseMs)"),
  inspect: ONE_BY_ONE,
  locked: ONE_BY_ONE,
  isLocked: "(await client.lock(name).locked()), for each of the names",
  attach: ONE_BY_ONE,
  forceRelease: ONE_BY_ONE,
});
