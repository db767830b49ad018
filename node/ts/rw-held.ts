import { isFailure, unwrap } from "./error.js";
import { FencedHold } from "./fenced-hold.js";
import { END_WITH, HANDLE } from "./hold.js";
import type { Answer } from "./native.js";
import { type Grant, native, submit } from "./port.js";
import { NESTED, NEVER, type Nestable, type Nested, PRESENT, type ReentrantHold, USE_IT } from "./reentrant-hold.js";
import type { RwLock, RwLockSide, Side } from "./rw-lock.js";
import { refuseUnbound } from "./unbound.js";

/** One hold of one side of a read-write lock. Readers that share a hold on the server share its token, its lease and its loss. */
export class RwHeld extends FencedHold {
  readonly side: Side;
  readonly #of: RwLockSide;
  readonly #advice: string;
  /** What this hold of the write side has become. */
  #reads: RwHeld | undefined;

  /** @internal */
  constructor(of: RwLockSide, grant: Grant, advice: string) {
    super(of, grant, advice);
    this.side = of.side;
    this.#of = of;
    this.#advice = advice;
  }

  /** The lock of which a side is held. */
  get rwLock(): RwLock {
    return this.#of.rwLock;
  }

  /**
   * Goes on as a reader: ends this hold of the write side, resolves with one of the read side, and wakes the readers that wait.
   * Nobody else writes in between. The new hold has a token and a `signal` of its own, and the lease of the lock. What would have
   * ended this hold at the end of a scope, `withWrite` or `await using`, ends the new one there; otherwise `release` it.
   *
   * Rejects with `DLOCK_NOT_HELD` when it is not held any more, with `DLOCK_LOST` when it was lost, with `DLOCK_INVALID_ARGUMENT`
   * for a hold of the read side and for one that was reentered, and with `DLOCK_CONNECTION` and its kin.
   */
  async downgrade(): Promise<RwHeld> {
    const downgraded = this.#downgrade();
    await this[END_WITH](downgraded);
    return unwrap(await downgraded);
  }

  /** The new hold is there before anybody who waits for the end of this one goes on. */
  async #downgrade(): Promise<Answer<RwHeld>> {
    const answer = await submit<Grant>(this, (id) => native.heldDowngrade(id, this[HANDLE]));
    if (isFailure(answer)) return answer;
    this.#reads = new RwHeld(this.rwLock.read, answer, this.#advice);
    return this.#reads;
  }

  /** As for every hold; what it has become ends too. */
  override async [Symbol.asyncDispose](): Promise<void> {
    try {
      await super[Symbol.asyncDispose]();
    } finally {
      await this.#reads?.[Symbol.asyncDispose]();
    }
  }

  /** As for every hold, with the side and the token. */
  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), side: this.side };
  }

  /** @internal */
  override [PRESENT](): ReentrantHold | undefined {
    return this.#reads === undefined ? super[PRESENT]() : this.#reads[PRESENT]();
  }

  /** @internal */
  override [NESTED](wanted: Nestable): Nested {
    if (this.side === "write") {
      const instead = `${USE_IT}; a writer may read as well, and held.downgrade() lets others read too`;
      return { then: NEVER, instead };
    }
    if ("side" in wanted && wanted.side === "read") {
      return { then: "neither would ever end once a writer waits in between", instead: USE_IT };
    }
    return { then: NEVER, instead: "let it end first, or begin with withWrite, whose function may read as well" };
  }
}

refuseUnbound(RwHeld, "hold", "held");
