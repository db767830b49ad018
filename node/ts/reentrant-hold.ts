import type { Client } from "./client.js";
import { unwrap } from "./error.js";
import { ADD_LEVEL, HANDLE, Hold, type Holdable } from "./hold.js";
import { native } from "./port.js";
import { refuseUnbound } from "./unbound.js";

/** Known to the kinds of holds and to scopes only: no methods of a user. */
export const PRESENT = Symbol("present");
export const NESTED = Symbol("nested");
export const NAMES = Symbol("names");
export const TYPE = Symbol("type");

/** What a call inside of a function under a hold waits for without end, and what it should do: two parts of a sentence. */
export interface Nested {
  readonly then: string;
  readonly instead: string;
}

/** What is acquired as a lock is, so that a function under a hold of it may wait for itself. */
export interface Nestable extends Holdable {
  readonly client: Client;
  /** @internal The names that are locked together: one, unless it is a set of locks. */
  readonly [NAMES]: readonly string[];
  /** @internal Those of one type exclude one another, name by name. */
  readonly [TYPE]: "lock" | "read-write lock";
}

/** A hold that may be entered again. */
export abstract class ReentrantHold extends Hold<Nestable> {
  /** Goes in once more, without I/O: it then takes one more `release` to end the hold. */
  reenter(): void {
    unwrap(native.heldReenter(this[HANDLE]));
    this[ADD_LEVEL]();
  }

  /** @internal The hold itself, or the one that it has become; none when that is over. */
  [PRESENT](): ReentrantHold | undefined {
    return this.holdCount > 0 ? this : undefined;
  }

  /** @internal What is said about an acquire of `wanted`, which has a name of this, by a function that runs under this hold. */
  abstract [NESTED](wanted: Nestable): Nested;
}

refuseUnbound(ReentrantHold, "hold", "held");

export const NEVER: Nested["then"] = "neither would ever end";
export const USE_IT = "use the hold that it was given (held.reenter() adds a level)";

/** What is said if `wanted` may have names that `held` has not. */
export function nestedLocks(held: Nestable, wanted: Nestable): Nested {
  const missing = wanted[NAMES].some((name) => !held[NAMES].includes(name));
  return { then: NEVER, instead: missing ? "take all of them at once, outside: client.lockAll(names)" : USE_IT };
}
