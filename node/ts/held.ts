import { unwrap } from "./error.js";
import { FencedHold } from "./fenced-hold.js";
import { END_WITH, HANDLE } from "./hold.js";
import type { Lock } from "./lock.js";
import { type Grant, native, submit } from "./port.js";
import { NESTED, type Nestable, type Nested, nestedLocks } from "./reentrant-hold.js";
import { refuseUnbound } from "./unbound.js";

/** One hold of a lock. */
export class Held extends FencedHold {
  readonly lock: Lock;

  /** @internal */
  constructor(lock: Lock, grant: Grant, advice: string) {
    super(lock, grant, advice);
    this.lock = lock;
  }

  /**
   * Lets go of the hold without freeing the lock, and resolves with a text for `Lock.attach` elsewhere. The lock stays taken
   * for a lease that starts anew, and is not renewed until it is attached.
   */
  async detach(): Promise<string> {
    return unwrap(await this[END_WITH](submit<string>(this, (id) => native.heldDetach(id, this[HANDLE]))));
  }

  /** @internal */
  override [NESTED](wanted: Nestable): Nested {
    return nestedLocks(this.lock, wanted);
  }
}

refuseUnbound(Held, "hold", "held");
