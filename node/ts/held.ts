import { milliseconds } from "./convert.js";
import { isFailure, lost, unwrap } from "./error.js";
import type { Lock } from "./lock.js";
import type { Handle, Loss, LossReason } from "./native.js";
import { type Grant, native, submit, watch } from "./port.js";
import { warn } from "./warning.js";

interface Kept {
  readonly handle: Handle;
  readonly token: bigint;
  readonly lock: Lock;
}

const collected = new FinalizationRegistry<Kept>(({ handle, token, lock }) => {
  if (native.free(handle) === true) {
    warn(
      "DLOCK_COLLECTED",
      `the hold of ${JSON.stringify(lock.name)} with token ${String(token)} was collected while held: its lease is not ` +
        "renewed any more. release() it, or use withLock",
    );
  }
});

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
  #ended = false;

  /** @internal */
  constructor(lock: Lock, [handle, token]: Grant) {
    this.lock = lock;
    this.token = BigInt(token);
    this.#handle = handle;
    collected.register(this, { handle, token: this.token, lock });
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
   * most. Work that blocks the event loop delays it: `valid` does not depend on the loop.
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
    const isLast = --this.#levels <= 0;
    const answer = await submit(this, (id) => native.heldRelease(id, this.#handle));
    this.#ended ||= isLast || (isFailure(answer) && this.holdCount === 0);
    unwrap(answer);
  }

  /**
   * Lets go of the hold without freeing the lock, and resolves with a text for `Lock.attach` elsewhere. The lock stays taken
   * for a lease that starts anew, and is not renewed until it is attached.
   */
  async detach(): Promise<string> {
    const detached = unwrap(await submit<string>(this, (id) => native.heldDetach(id, this.#handle)));
    this.#ended = true;
    return detached;
  }

  /** Releases every level, unless the hold was released or detached before. Rejects when it was lost meanwhile. */
  async [Symbol.asyncDispose](): Promise<void> {
    while (!this.#ended) await this.release();
  }
}
