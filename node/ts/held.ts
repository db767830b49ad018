import { milliseconds } from "./convert.js";
import { isFailure, lost, unwrap } from "./error.js";
import { jsonValue } from "./json.js";
import type { Lock } from "./lock.js";
import type { Answer, Handle, Loss, LossReason } from "./native.js";
import { type Grant, native, submit, watch } from "./port.js";
import { warn } from "./warning.js";

interface Kept {
  readonly handle: Handle;
  readonly token: bigint;
  readonly lock: Lock;
  readonly advice: string;
}

const collected = new FinalizationRegistry<Kept>(({ handle, token, lock, advice }) => {
  if (native.free(handle) === true) {
    warn(
      "DLOCK_COLLECTED",
      `the hold of ${JSON.stringify(lock.name)} with token ${String(token)} was collected while held: its lease is not ` +
        `renewed any more. ${advice}`,
    );
  }
});

/** What the program should do about a hold that was collected while held. */
export const RELEASE_IT = "release() it, or use withLock";
export const SETTLE_IT =
  "The function of its withLock waits for a promise that nothing can settle any more: settle every promise, or bound the wait";

/**
 * One hold of a lock. Reading it costs no I/O. `await using` releases it at the end of a scope.
 *
 * A hold that is collected while it is held is not renewed any more, and a warning is emitted. One whose `signal` was asked
 * for is kept while it is held: somebody may be listening.
 */
export class Held implements AsyncDisposable {
  /** The fencing token: larger than that of any earlier hold of this name, below 2^53. */
  readonly token: bigint;
  readonly lock: Lock;
  readonly #handle: Handle;
  #lost: AbortController | undefined;
  /** How many levels are still to be released through this object. */
  #levels = 1;
  /** The answer to the first of the calls under way that end the hold if they succeed. */
  #ending: Promise<Answer<unknown>> | undefined;
  #ended = false;

  /** @internal */
  constructor(lock: Lock, [handle, token]: Grant, advice: string) {
    this.lock = lock;
    this.token = BigInt(token);
    this.#handle = handle;
    collected.register(this, { handle, token: this.token, lock, advice });
  }

  /** The owner as the server knows it: `<client uuid>:<n>`. */
  get owner(): string {
    return unwrap(native.heldOwner(this.#handle));
  }

  /** Whether the lock is still held for certain, on this machine's monotonic clock. */
  get valid(): boolean {
    return unwrap(native.heldValid(this.#handle));
  }

  /** Milliseconds for which the hold stays valid without another renewal, with their fraction; 0 when it is over. */
  get remainingMs(): number {
    return unwrap(native.heldRemainingMs(this.#handle));
  }

  /** How many levels are held: 1, one more for each `reenter`; 0 when the hold is over. */
  get holdCount(): number {
    return unwrap(native.heldHoldCount(this.#handle));
  }

  /** Why the hold was lost; undefined while it is not. */
  get lossReason(): LossReason | undefined {
    return unwrap(native.heldLoss(this.#handle)).reason ?? undefined;
  }

  /**
   * Fires when the hold is lost, with a `DlockError` (`DLOCK_LOST`, with `lossReason`) as its reason; never when it is
   * released. It fires before the server can grant the name to somebody else, also while the server cannot be reached. Only
   * a removed key or a jump of the server's clock or data is noticed later: at the next renewal, a third of the lease at
   * most, or when a fixed lease ends, which is not renewed. A forced release is noticed at once. Work that blocks the
   * event loop delays it: `valid` does not depend on the loop.
   */
  get signal(): AbortSignal {
    this.#lost ??= this.#watch();
    return this.#lost.signal;
  }

  #watch(): AbortController {
    const controller = new AbortController();
    const known = this.lossReason;
    if (known !== undefined) controller.abort(lost(this.lock.name, known));
    else {
      watch<Loss>(
        this,
        (id) => native.heldWaitLost(id, this.#handle),
        ({ reason }) => {
          if (reason) controller.abort(lost(this.lock.name, reason));
        },
      );
    }
    return controller;
  }

  /** Goes in once more, without I/O: it then takes one more `release` to end the hold. */
  reenter(): void {
    unwrap(native.heldReenter(this.#handle));
    this.#levels++;
  }

  /** Makes the hold last `leaseMs` from now, or as long as it did if that is longer. */
  async extend(leaseMs: number): Promise<void> {
    const lease = milliseconds(leaseMs, "leaseMs", "extend", this.lock.name);
    unwrap(await submit(this, (id) => native.heldExtend(id, this.#handle, lease)));
  }

  /**
   * Gives up one level; the last one frees the lock, and ends the hold whatever comes back: should the server not be
   * reached, the lease runs out. `DLOCK_NOT_HELD` when it is not held any more.
   */
  async release(): Promise<void> {
    const released = submit(this, (id) => native.heldRelease(id, this.#handle));
    if (--this.#levels <= 0) this.#ending ??= released;
    const answer = await released;
    // It has levels again if it was reentered before the release began.
    this.#ended ||= this.#levels <= 0 || (isFailure(answer) && this.holdCount === 0);
    this.#answered(released);
    unwrap(answer);
  }

  #answered(end: Promise<Answer<unknown>>): void {
    if (this.#ending === end) this.#ending = undefined;
  }

  /**
   * Lets go of the hold without freeing the lock, and resolves with a text for `Lock.attach` elsewhere. The lock stays taken
   * for a lease that starts anew, and is not renewed until it is attached.
   */
  async detach(): Promise<string> {
    const detached = submit<string>(this, (id) => native.heldDetach(id, this.#handle));
    this.#ending ??= detached;
    const answer = await detached;
    this.#ended ||= !isFailure(answer);
    this.#answered(detached);
    return unwrap(answer);
  }

  /** What `JSON.stringify` writes, as it is now; the token as a number. */
  toJSON(): Record<string, unknown> {
    const { lock, owner, valid, remainingMs, holdCount, lossReason } = this;
    return { name: lock.name, token: jsonValue(this.token), owner, valid, remainingMs, holdCount, lossReason };
  }

  /**
   * Releases every level, unless the hold was released or detached before. Waits for a release or detach that is under way
   * and has its outcome. Rejects when the hold was lost meanwhile.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    while (!this.#ended) {
      if (this.#ending === undefined) await this.release();
      else await this.#endsBy(this.#ending);
    }
  }

  /** Throws why `end` failed, unless the hold goes on after it. */
  async #endsBy(end: Promise<Answer<unknown>>): Promise<void> {
    const answer = await end;
    if (this.#ended) unwrap(answer);
  }
}
