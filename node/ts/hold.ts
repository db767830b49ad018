import type { Client } from "./client.js";
import { milliseconds } from "./convert.js";
import { type DlockError, isFailure, lost, unwrap } from "./error.js";
import type { Answer, Handle, Loss, LossReason } from "./native.js";
import { type Grant, native, submit, watch } from "./port.js";
import { warn } from "./warning.js";
import { refuseUnbound } from "./unbound.js";

/** What can be held: a lock or several, a side of a read-write lock, permits of a semaphore, a number of a pool. */
export interface Holdable {
  readonly name: string;
  readonly client: Client;
}

interface Kept {
  readonly handle: Handle;
  readonly token: number;
  /** The whole object, so that its client is not collected first: that would end the hold without a word. */
  readonly of: Holdable;
  /** What the program should do about a hold that was collected while held; undefined where that gives it back. */
  readonly advice: string | undefined;
}

const collected = new FinalizationRegistry<Kept>(({ handle, token, of, advice }) => {
  if (native.free(handle) === true && advice !== undefined) {
    // Permits have no token, and several locks have one each.
    const which = token === 0 ? "" : ` with token ${String(token)}`;
    warn(
      "DLOCK_COLLECTED",
      `the hold of ${JSON.stringify(of.name)}${which} was collected while held: its lease is not renewed any more. ${advice}`,
    );
  }
});

/** Known to the kinds of holds and to scopes only: no methods of a user. */
export const OF = Symbol("of");
export const HANDLE = Symbol("handle");
export const ADD_LEVEL = Symbol("add level");
export const END_WITH = Symbol("end with");
export const LOST = Symbol("lost");

/**
 * What holds of every kind have. Reading it costs no I/O. `await using` releases it at the end of a scope.
 *
 * A hold that is collected while it is held is not renewed any more, and a warning is emitted. One whose `signal` was asked
 * for is kept while it is held: somebody may be listening.
 */
export class Hold<Of extends Holdable = Holdable> implements AsyncDisposable {
  readonly #of: Of;
  readonly #handle: Handle;
  #lost: AbortController | undefined;
  /** How many levels are still to be released through this object. */
  #levels = 1;
  /** The answer to the first of the calls under way that end the hold if they succeed. */
  #ending: Promise<Answer<unknown>> | undefined;
  #ended = false;

  /** @internal */
  constructor(of: Of, [handle, token]: Grant, advice: string | undefined) {
    this.#of = of;
    this.#handle = handle;
    collected.register(this, { handle, token, of, advice });
  }

  /**
   * The owner as the server knows it: of a lock or of a reader `<client uuid>:<n>`, of a writer `<client uuid>:<n>:write`, of
   * permits `<client uuid>:<n>/<permits>`; empty for several locks, which have one each.
   */
  get owner(): string {
    return unwrap(native.heldOwner(this.#handle));
  }

  /** Whether it is still held for certain, on this machine's monotonic clock. */
  get valid(): boolean {
    return unwrap(native.heldValid(this.#handle));
  }

  /** Milliseconds for which the hold stays valid without another renewal, with their fraction; 0 when it is over. */
  get remainingMs(): number {
    return unwrap(native.heldRemainingMs(this.#handle));
  }

  /** How many levels are held: 1, and one more for each `reenter`; 0 when the hold is over. */
  get holdCount(): number {
    return unwrap(native.heldHoldCount(this.#handle));
  }

  /** Why the hold was lost; undefined while it is not. */
  get lossReason(): LossReason | undefined {
    return unwrap(native.heldLoss(this.#handle)).reason ?? undefined;
  }

  /**
   * Fires when the hold is lost, with a `DlockError` (`DLOCK_LOST`, with `lossReason`) as its reason; never when it is
   * released. It fires before the server can grant what was held to somebody else, also while the server cannot be reached.
   * Only a removed key or a jump of the server's clock or data is noticed later: at the next renewal, a third of the lease at
   * most, or when a fixed lease ends, which is not renewed. The forced release of a lock is noticed at once. Work that blocks
   * the event loop delays it: `valid` does not depend on the loop.
   */
  get signal(): AbortSignal {
    this.#lost ??= this.#watch();
    return this.#lost.signal;
  }

  #watch(): AbortController {
    const controller = new AbortController();
    const known = this.lossReason;
    if (known !== undefined) controller.abort(this[LOST](known));
    else {
      watch<Loss>(
        this,
        (id) => native.heldWaitLost(id, this.#handle),
        ({ reason }) => {
          if (reason) controller.abort(this[LOST](reason));
        },
      );
    }
    return controller;
  }

  /** Makes the hold last `leaseMs` from now, or as long as it did if that is longer. */
  async extend(leaseMs: number): Promise<void> {
    const lease = milliseconds(leaseMs, "leaseMs", "extend", this.#of.name);
    unwrap(await submit(this, (id) => native.heldExtend(id, this.#handle, lease)));
  }

  /**
   * Gives back what is held; of a hold that was reentered, one level. It ends the hold whatever comes back: should the server
   * not be reached, the lease runs out. `DLOCK_NOT_HELD` when it is not held any more.
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

  /** @internal */
  get [OF](): Of {
    return this.#of;
  }

  /** @internal */
  get [HANDLE](): Handle {
    return this.#handle;
  }

  /** @internal With what the signal fires. */
  [LOST](reason: LossReason): DlockError {
    return lost(this.#of.name, reason);
  }

  /** @internal One more release is needed to end the hold. */
  [ADD_LEVEL](): void {
    this.#levels++;
  }

  /** @internal Waits for a call that ends every level of the hold if it succeeds. */
  async [END_WITH]<T>(end: Promise<Answer<T>>): Promise<Answer<T>> {
    this.#ending ??= end;
    const answer = await end;
    this.#ended ||= !isFailure(answer);
    this.#answered(end);
    return answer;
  }

  #answered(end: Promise<Answer<unknown>>): void {
    if (this.#ending === end) this.#ending = undefined;
  }

  /** What `JSON.stringify` writes, as it is now. */
  toJSON(): Record<string, unknown> {
    const { owner, valid, remainingMs, holdCount, lossReason } = this;
    return { name: this.#of.name, owner, valid, remainingMs, holdCount, lossReason };
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

refuseUnbound(Hold, "hold", "held");
