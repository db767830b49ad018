// The items of a limiter's batch, and the answers to several callers, which cross as numbers: to make an object of each natively
// takes longer than all else.

import { wrongType } from "./convert.js";
import type { Decisions, Failure, NativeDecision } from "./native.js";

/** How many numbers stand for one, in the order of the fields of a decision. */
const NUMBERS = 9;
/** In the place of a field that is not there, and of the first of a failure. */
const NONE = -1;

/** The answer to each, in their order. */
export function answersOf({ numbers, failures }: Decisions): (NativeDecision | Failure)[] {
  const answers: (NativeDecision | Failure)[] = [];
  let failed = 0;
  for (let from = 0; from < numbers.length; from += NUMBERS) {
    const failure = numbers[from] === NONE ? failures[failed++] : undefined;
    answers.push(failure ?? decisionAt(numbers, from));
  }
  return answers;
}

function decisionAt(numbers: Float64Array, from: number): NativeDecision {
  const number = (at: number): number => numbers[from + at] ?? NONE;
  const orNull = (at: number): number | null => (number(at) === NONE ? null : number(at));
  return {
    allowed: number(0) === 1,
    granted: number(1),
    remaining: number(2),
    retryAfterMs: orNull(3),
    resetAfterMs: number(4),
    limit: number(5),
    refusedBy: orNull(6),
    usableAfterMs: number(7),
    serverTimeUs: number(8) === NONE ? null : BigInt(number(8)),
  };
}

/** The items of a batch, if they are pairs. */
export function* pairs(items: unknown): Iterable<readonly [unknown, unknown]> {
  const each = (items as Partial<Iterable<unknown>> | null | undefined)?.[Symbol.iterator];
  if (typeof items === "string" || typeof each !== "function") {
    throw wrongType("items", "an iterable of pairs [key, cost]", items);
  }
  for (const item of items as Iterable<unknown>) {
    if (!Array.isArray(item) || item.length !== 2) throw wrongType("an item", "a pair [key, cost]", item);
    yield item as [unknown, unknown];
  }
}
