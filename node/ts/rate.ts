// What a rate limiter lets through: its rates, and how each of them counts.

import { type About, type ReadersOf, integer, optional, readOptions } from "./arguments.js";
import { microseconds, wrongType } from "./convert.js";
import type { Rate as NativeRate } from "./native.js";

/**
 * How a rate counts, by the server's clock:
 *
 * - `"gcra"`, the default: a bucket of `burst` tokens that fills evenly. Never more than the burst and what the rate brings in any
 *   interval.
 * - `"fixed_window"`: at most `tokens` in each window of `perMs`, which begins with the first request after the last window is
 *   over. Around the border of two windows up to twice as many can pass.
 * - `"aligned_window"`: the same, with windows at the multiples of the period since 2025-01-01 00:00 UTC: full minutes, hours, days.
 * - `"sliding_log"`: at most `tokens` in any interval of `perMs`, exactly. The server keeps an entry for each request that was
 *   granted in the last period, so it has 100,000 tokens at most.
 * - `"sliding_counter"`: as a sliding log in about, in four numbers on the server; less than twice `tokens` in any interval.
 * - `"redisson"`: that of Redisson's `RRateLimiter`, on its keys, for those who share a limiter with it: all clients together
 *   (`OVERALL`). It has no `reserve`, `penalty`, `reward` and `block`.
 * - `"redisson_per_client"`: the same, and each client has the rate for itself (`PER_CLIENT`).
 */
export type Algorithm =
  "gcra" | "fixed_window" | "aligned_window" | "sliding_log" | "sliding_counter" | "redisson" | "redisson_per_client";

/** `tokens` in `perMs`, and at most `burst` of them at once. */
export interface Rate {
  /** Tokens of one period; 0 refuses everything. */
  tokens: number;
  /** The period in milliseconds, from 0.001 in steps of 0.001 (whole microseconds) to 100 years. */
  perMs: number;
  /** The most tokens at once, the whole bucket; without it as many as `tokens`. With `"gcra"` alone. */
  burst?: number | undefined;
  /** How it counts; `"gcra"` without it. */
  algorithm?: Algorithm | undefined;
}

function word(value: Algorithm | undefined, what: string): string {
  if (value === undefined) return "gcra";
  if (typeof value !== "string") throw wrongType(what, "an algorithm's name", value);
  return value;
}

/** @internal */
export const RATE = {
  tokens: integer,
  perMs: (value: number, what: string, { op, object }: About) => microseconds(value, what, op, object),
  burst: optional(integer),
  algorithm: word,
} satisfies ReadersOf<Rate>;

type ReadRate = { readonly [K in keyof typeof RATE]: ReturnType<(typeof RATE)[K]> };

/** As it crosses. @internal */
export function nativeRate({ tokens, perMs: perUs, burst, algorithm }: ReadRate): NativeRate {
  return { tokens, perUs, burst, algorithm };
}

/** How many there may be is the core's to say. @internal */
export function readRates(rates: readonly Rate[], what: string, about: About): NativeRate[] {
  if (!Array.isArray(rates)) throw wrongType(what, "an array of rates", rates);
  // By index: what an array lacks is refused too.
  return Array.from(rates as readonly Rate[], (rate, at) => {
    if ((rate as unknown) === undefined)
      throw wrongType(`${what}[${String(at)}]`, "an object with tokens and perMs", rate);
    return nativeRate(readOptions(rate, RATE, `${what}[${String(at)}]`, about));
  });
}

/** A rate as a user gave it, for `limiter.rates`: frozen, with all that was not given. @internal */
export function givenRate({ tokens, perUs, burst, algorithm }: NativeRate): Readonly<Rate> {
  return Object.freeze({ tokens, perMs: perUs / 1000, burst: burst ?? tokens, algorithm: algorithm as Algorithm });
}
