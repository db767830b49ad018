/**
 * Rate limits in Express 4 and 5.
 *
 * ```js
 * import { rateLimit } from "libdlock/express";
 *
 * app.use(rateLimit({ limiter: client.rateLimiter("api", { tokens: 100, perMs: 60_000 }) }));
 * ```
 *
 * @packageDocumentation
 */

import type { NextFunction, Request, Response } from "express";

import { callback } from "./arguments.js";
import { type LimitOptions, Limiting, type Refusal, readLimit } from "./http/limiting.js";
import { addFieldsLast, isOver } from "./http/response.js";
import { PROBLEM_TYPE } from "./http/fields.js";

export type { LimitOptions, Limiter, Refusal } from "./http/limiting.js";
export type { Problem } from "./http/fields.js";

/** How requests are limited in Express. */
export interface RateLimitOptions extends LimitOptions<Request> {
  /**
   * Answers a request that the handler does not get. Status and fields are set already. Without this function the answer is a problem
   * (RFC 9457).
   */
  onRefused?: ((refusal: Refusal, request: Request, response: Response, next: NextFunction) => unknown) | undefined;
}

/**
 * A middleware that asks a rate limiter for each request. Throws a TypeError for options that are none. What `key`, `cost`, `skip` or
 * `onRefused` throws goes to Express's error handlers.
 */
export function rateLimit(
  options: RateLimitOptions,
): (request: Request, response: Response, next: NextFunction) => void {
  const { onRefused = answer, ...limit } = readLimit<Request, typeof OWN>(options, OWN, "rateLimit(options)");
  const limiting = new Limiting(limit, (request) => request.ip);
  const run = async (request: Request, response: Response, next: NextFunction): Promise<void> => {
    const verdict = await limiting.decide(request);
    // Meanwhile the client went away, or somebody else answered, such as a timeout.
    if (isOver(response)) return;
    if (verdict) addFieldsLast(response, verdict.fields);
    if (verdict?.refusal === undefined) {
      next();
      return;
    }
    response.status(verdict.refusal.status);
    await onRefused(verdict.refusal, request, response, next);
  };
  return (request, response, next) => {
    run(request, response, next).catch(next);
  };
}

const OWN = { onRefused: callback<RateLimitOptions["onRefused"]> };

function answer({ problem }: Refusal, _: Request, response: Response): void {
  response.setHeader("Content-Type", PROBLEM_TYPE);
  response.end(JSON.stringify(problem));
}
