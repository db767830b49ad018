/**
 * Rate limits in Koa.
 *
 * ```js
 * import { rateLimit } from "libdlock/koa";
 *
 * app.use(rateLimit({ limiter: client.rateLimiter("api", { tokens: 100, perMs: 60_000 }) }));
 * ```
 *
 * @packageDocumentation
 */

import type { Context, Next } from "koa";

import { callback } from "./arguments.js";
import { type LimitOptions, Limiting, type Refusal, readLimit } from "./http/limiting.js";
import { addFieldsLast, isOver } from "./http/response.js";
import { PROBLEM_TYPE } from "./http/fields.js";

export type { LimitOptions, Limiter, Refusal } from "./http/limiting.js";
export type { Problem } from "./http/fields.js";

/** How requests are limited in Koa. */
export interface RateLimitOptions extends LimitOptions<Context> {
  /**
   * Answers a request that the handler does not get. Status and fields are set already. Without this function the answer is a problem
   * (RFC 9457).
   */
  onRefused?: ((refusal: Refusal, context: Context, next: Next) => unknown) | undefined;
}

/**
 * A middleware that asks a rate limiter for each request. Throws a TypeError for options that are none. What `key`, `cost`, `skip` or
 * `onRefused` throws comes up as from any middleware.
 */
export function rateLimit(options: RateLimitOptions): (context: Context, next: Next) => Promise<void> {
  const { onRefused = answer, ...limit } = readLimit<Context, typeof OWN>(options, OWN, "rateLimit(options)");
  const limiting = new Limiting(limit, (context) => context.ip);
  return async (context, next) => {
    const verdict = await limiting.decide(context);
    // Meanwhile the client went away, or somebody else answered.
    if (isOver(context.res)) return;
    if (verdict) addFieldsLast(context.res, verdict.fields);
    if (verdict?.refusal === undefined) {
      await next();
      return;
    }
    context.status = verdict.refusal.status;
    await onRefused(verdict.refusal, context, next);
  };
}

const OWN = { onRefused: callback<RateLimitOptions["onRefused"]> };

function answer({ problem }: Refusal, context: Context): void {
  context.type = PROBLEM_TYPE;
  context.body = JSON.stringify(problem);
}
