// Decisions that are asked for in one turn of the loop, such as by many requests that a server reads at once: one native call
// asks for all that one limiter is asked for, which takes a fraction of what a call for each does.

import { answersOf } from "./decisions.js";
import { isFailure } from "./error.js";
import type { Answer, Decisions, Handle, NativeDecision } from "./native.js";
import { atEndOfTurn, native, type Settle, submitEach, submitFor } from "./port.js";

/** Those who ask one limiter, by whichever of the objects that are alike. */
interface Asking {
  readonly about: unknown;
  readonly limiter: Handle;
  readonly costs: number[];
  /** One for each, or none at all. */
  readonly keys: string[];
  readonly settles: Settle[];
}

/** The most of one call. */
const MOST = 1024;
const asks = new Float64Array(2 * MOST);
// By what the limiters are, see `decide`. Calls with keys ask for other buckets than those without, so the two need no common order.
const withoutKeys = new Map<string, Asking>();
const withKeys = new Map<string, Asking>();

/**
 * Takes `cost` tokens of the limiter `about`, whose handle is `limiter`, if they are there now; of the bucket of a `key`, if one is
 * given. Limiters that are `alike`, of one client with one name and the same options, are one: a program may make an object for each
 * call. The server is asked when this turn of the loop ends, for all that have come by then, in the order of their calls.
 */
export function decide(
  about: unknown,
  limiter: Handle,
  alike: string,
  cost: number,
  key: string | undefined,
): Promise<Answer<NativeDecision>> {
  return new Promise((resolve) => {
    const byLimiter = key === undefined ? withoutKeys : withKeys;
    let asking = byLimiter.get(alike);
    if (asking === undefined) {
      asking = { about, limiter, costs: [], keys: [], settles: [] };
      byLimiter.set(alike, asking);
      atEndOfTurn(askAll);
    }
    asking.costs.push(cost);
    if (key !== undefined) asking.keys.push(key);
    asking.settles.push(resolve as Settle);
    if (asking.costs.length < MOST) return;
    byLimiter.delete(alike);
    ask(asking);
  });
}

function askAll(): void {
  const all = [...withoutKeys.values(), ...withKeys.values()];
  withoutKeys.clear();
  withKeys.clear();
  all.forEach(ask);
}

function ask({ about, limiter, costs, keys, settles }: Asking): void {
  const [cost, settle] = [costs[0], settles[0]];
  if (settles.length === 1 && cost !== undefined && settle !== undefined) {
    submitFor(about, settle, (id) => native.limiterAcquire(id, limiter, cost, 0, keys[0]));
    return;
  }
  submitEach(about, settles, tell, (ids) => {
    for (const [at, id] of ids.entries()) {
      asks[2 * at] = id;
      asks[2 * at + 1] = costs[at] ?? 0;
    }
    return native.limiterSubmitEach(limiter, ids.length, asks, keys);
  });
}

/** Tells each its answer, or all what kept them from having one. */
function tell(settles: readonly Settle[], answer: unknown): void {
  const answers = isFailure(answer) ? undefined : answersOf(answer as Decisions);
  for (const [at, settle] of settles.entries()) settle(answers === undefined ? answer : answers[at]);
}
