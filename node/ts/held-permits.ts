import { unwrap } from "./error.js";
import { HANDLE, Hold } from "./hold.js";
import { type Grant, native } from "./port.js";
import type { Semaphore } from "./semaphore.js";
import { refuseUnbound } from "./unbound.js";

/** Permits that one acquire of a semaphore brought, which end together. They have no fencing token: several hold at once. */
export class HeldPermits extends Hold {
  readonly semaphore: Semaphore;
  #permits: readonly string[] | undefined;

  /** @internal */
  constructor(semaphore: Semaphore, grant: Grant, advice: string) {
    super(semaphore, grant, advice);
    this.semaphore = semaphore;
  }

  /** The ids of the permits, as many as were acquired, each 32 hexadecimal digits. */
  get permits(): readonly string[] {
    this.#permits ??= Object.freeze(unwrap(native.heldPermits(this[HANDLE])));
    return this.#permits;
  }

  /** As for every hold, with the ids of the permits. */
  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), permits: this.permits };
  }

  /** @internal For those who know the semaphore of async-mutex. */
  [Symbol.iterator](): never {
    throw new TypeError(
      "acquire() resolves with one hold, not with [value, release]: const held = await semaphore.acquire(), then await held.release()",
    );
  }
}

refuseUnbound(HeldPermits, "hold", "held");
