import { jsonValue } from "./json.js";
import type { Grant } from "./port.js";
import { type Nestable, ReentrantHold } from "./reentrant-hold.js";
import { refuseUnbound } from "./unbound.js";

/** A hold with a fencing token, which may be entered again. */
export abstract class FencedHold extends ReentrantHold {
  /** The fencing token: larger than that of any earlier hold of this name, below 2^53. Readers that share a hold share it. */
  readonly token: bigint;

  /** @internal */
  constructor(of: Nestable, grant: Grant, advice: string) {
    super(of, grant, advice);
    this.token = BigInt(grant[1]);
  }

  /** As for every hold; the token as a number. */
  override toJSON(): Record<string, unknown> {
    return { ...super.toJSON(), token: jsonValue(this.token) };
  }
}

refuseUnbound(FencedHold, "hold", "held");
