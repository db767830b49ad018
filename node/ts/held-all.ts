import { objectName } from "./convert.js";
import { refuseElsewhere } from "./elsewhere.js";
import { type DlockError, lost, unwrap } from "./error.js";
import { HANDLE, LOST } from "./hold.js";
import { jsonValue } from "./json.js";
import type { LockAll } from "./lock-all.js";
import type { LossReason } from "./native.js";
import { type Grant, native } from "./port.js";
import { NESTED, type Nestable, type Nested, ReentrantHold, nestedLocks } from "./reentrant-hold.js";
import { refuseUnbound } from "./unbound.js";

/**
 * One hold of several locks, which is held as long as each of them is: `signal` fires when the first of them is lost. The others
 * stay held, and are renewed, until this is released.
 */
export class HeldAll extends ReentrantHold {
  readonly lockAll: LockAll;
  #tokens: ReadonlyMap<string, bigint> | undefined;

  /** @internal */
  constructor(lockAll: LockAll, grant: Grant, advice: string) {
    super(lockAll, grant, advice);
    this.lockAll = lockAll;
  }

  /**
   * The fencing token of each lock by its name, in the order of `LockAll.names`: send each along with the writes to the resource of
   * its name.
   */
  get tokens(): ReadonlyMap<string, bigint> {
    this.#tokens ??= new Map(unwrap(native.heldTokens(this[HANDLE])));
    return this.#tokens;
  }

  /** The fencing token of the lock of this name. Throws `DLOCK_INVALID_ARGUMENT` for a name that is not among them. */
  tokenOf(name: string): bigint {
    return unwrap(native.heldTokenOf(this[HANDLE], objectName(name, "token")));
  }

  /**
   * The name of the lock that was lost, with `lossReason`, the first in the order of `LockAll.names` if there are more; undefined
   * while none is.
   */
  get lostName(): string | undefined {
    return unwrap(native.heldLostMember(this[HANDLE]))?.name;
  }

  /** As for every hold, with the tokens as numbers. */
  override toJSON(): Record<string, unknown> {
    const { valid, remainingMs, holdCount, lossReason, lostName } = this;
    const tokens = Object.fromEntries([...this.tokens].map(([name, token]) => [name, jsonValue(token)]));
    return { names: this.lockAll.names, valid, remainingMs, holdCount, lossReason, lostName, tokens };
  }

  /** @internal */
  override [LOST](reason: LossReason): DlockError {
    const member = unwrap(native.heldLostMember(this[HANDLE]));
    return lost(member?.name ?? this.lockAll.name, member?.reason ?? reason);
  }

  /** @internal */
  override [NESTED](wanted: Nestable): Nested {
    return nestedLocks(this.lockAll, wanted);
  }
}

refuseUnbound(HeldAll, "hold", "held");

refuseElsewhere(HeldAll, "a hold of several locks", {
  detach: "client.lock(name) has holds that are handed to another process, one by one",
});

// Whoever reads it as of one lock shall not send `undefined` along with a write.
Object.defineProperty(HeldAll.prototype, "token", {
  configurable: true,
  get(): never {
    throw new TypeError(
      "a hold of several locks has no token of its own: tokenOf(name) gives that of one of them, tokens all",
    );
  },
});
