// From a call to a hold and to its end, whatever it is a hold of: what locks and semaphores have in common.

import { type Read, type ReadersOf, abortSignal, duration } from "./arguments.js";
import { DlockError, isFailure } from "./error.js";
import type { Hold, Holdable } from "./hold.js";
import type { Answer } from "./native.js";
import { type Grant, discard, native, unlessAborted } from "./port.js";
import { type Scope, leave, within } from "./scope.js";
import { warn } from "./warning.js";

/** How something that can be held is opened. */
export interface LeaseOptions {
  /** A lease of whole milliseconds, 100 to 86400000, that is not renewed; without one `watchdogLeaseMs`, renewed while held. */
  leaseMs?: number | undefined;
  /** The lease that is renewed, every third of it; without one the client's `leaseMs`. Not together with `leaseMs`. */
  watchdogLeaseMs?: number | undefined;
}

/** How it is acquired. */
export interface AcquireOptions {
  /** How long to wait, in whole milliseconds below 2^53; 0 does not wait, none is for ever. */
  waitMs?: number | undefined;
  /** As the lock's or the semaphore's, for this hold. */
  leaseMs?: number | undefined;
  /** Ends the wait: the promise rejects with the signal's reason, and nothing is held. */
  signal?: AbortSignal | undefined;
}

export const LEASE = { leaseMs: duration, watchdogLeaseMs: duration } satisfies ReadersOf<LeaseOptions>;
export const TRY = { leaseMs: duration };
export const ACQUIRE = { waitMs: duration, leaseMs: duration, signal: abortSignal } satisfies ReadersOf<AcquireOptions>;

/** What an acquire of any kind was asked for. */
export type Wanted = Read<typeof ACQUIRE>;

/** What an attempt without a wait adds to its options. */
export const AT_ONCE = { waitMs: 0, signal: undefined };

/** What warnings say about things of one kind. */
interface Words {
  /** The name of the method that runs a function under a hold. */
  readonly scoped: string;
  /** What the program should do about a hold that was collected while held. */
  readonly releaseIt: string;
  /** The same about one of that method. */
  readonly settleIt: string;
}

export function words(scoped: string): Words {
  return {
    scoped,
    releaseIt: `release() it, or use ${scoped}`,
    settleIt:
      `The function of its ${scoped} waits for a promise that nothing can settle any more: settle every promise, ` +
      "or bound the wait",
  };
}

/** What differs between the kinds of things that can be held. */
export interface Kind<Of extends Holdable, H extends Hold, W extends Wanted> extends Words {
  submit(of: Of, wanted: W): Promise<Answer<Grant>>;
  hold(of: Of, grant: Grant, advice: string): H;
  /** The inside of the method that runs a function, for a kind whose calls from there have to know of it. */
  inside?(held: H): Scope;
}

/** The hold that an acquire has brought, for the caller's promise to resolve with: see `unlessAborted`. */
export function granted<Of extends Holdable, H extends Hold, W extends Wanted>(
  kind: Kind<Of, H, W>,
  of: Of,
  answer: Answer<Grant>,
  signal: AbortSignal | undefined,
  advice = kind.releaseIt,
): H {
  return kind.hold(of, unlessAborted(answer, signal, releaseUnused), advice);
}

/** The same of an attempt without a wait: null when it was not its turn. */
export function grantedOrNull<Of extends Holdable, H extends Hold, W extends Wanted>(
  kind: Kind<Of, H, W>,
  of: Of,
  answer: Answer<Grant>,
): H | null {
  return isFailure(answer) && answer.kind === "BUSY" ? null : granted(kind, of, answer, undefined);
}

function releaseUnused([handle]: Grant): void {
  discard(handle, (id) => native.heldRelease(id, handle));
}

/** A function to be run under a hold. */
export type Run<H extends Hold, T> = (held: H) => T | PromiseLike<T>;

/** What the call was asked for. */
export interface Asked<Of extends Holdable, H extends Hold, W extends Wanted, T> {
  readonly of: Of;
  readonly wanted: W;
  readonly run: Run<H, T>;
}

/** One asynchronous function for all of it: each costs turns and promises, and a wrong argument has to reject like the rest. */
export async function runWith<Of extends Holdable, H extends Hold, W extends Wanted, T>(
  kind: Kind<Of, H, W>,
  read: () => Asked<Of, H, W, T>,
): Promise<T> {
  const { of, wanted, run } = read();
  const held = granted(kind, of, await kind.submit(of, wanted), wanted.signal, kind.settleIt);
  const scope = kind.inside?.(held);
  let result: T;
  try {
    result = await within(scope, run, held);
  } catch (error) {
    leave(scope);
    try {
      await held[Symbol.asyncDispose]();
    } catch (failed) {
      // Of a loss the signal has told, and most often that is why `run` failed.
      if (!isLost(held, failed)) releaseFailed(of, kind.scoped, failed);
    }
    throw error;
  }
  leave(scope);
  try {
    await held[Symbol.asyncDispose]();
  } catch (failed) {
    if (isLost(held, failed)) throw failed;
    releaseFailed(of, kind.scoped, failed);
  }
  return result;
}

/** Whether a release failed because the hold was over before: what ran under it may have run beside another holder. */
function isLost(held: Hold, failed: unknown): boolean {
  return held.lossReason !== undefined || (failed instanceof DlockError && failed.kind === "NOT_HELD");
}

/** What ran under the hold was protected to its end: only the next holder waits longer. */
function releaseFailed({ name }: Holdable, scoped: string, failed: unknown): void {
  const why = failed instanceof Error ? failed.message : String(failed);
  warn("DLOCK_RELEASE_FAILED", `the release of ${JSON.stringify(name)} at the end of ${scoped} failed: ${why}`);
}
