// The fields and problems with which a limit over HTTP is answered; docs/http.md has the rules, and names and syntax are those of
// draft-ietf-httpapi-ratelimit-headers-10.

import type { Rate } from "../rate.js";
import type { Decision } from "../rate-limiter.js";

/** What an answer says about a limit. A field that is undefined is left out. */
export interface Fields {
  /** `RateLimit-Policy` */
  readonly policy?: string | undefined;
  /** `RateLimit` */
  readonly limit?: string | undefined;
  /** `Retry-After`, in seconds. */
  readonly retryAfter?: string | undefined;
}

/** The body of an answer that is not the handler's, as RFC 9457 describes it. */
export interface Problem {
  readonly type: "about:blank";
  readonly title: string;
  readonly status: number;
  readonly detail: string;
}

export const PROBLEM_TYPE = "application/problem+json";

/** An integer of structured fields (RFC 9651) has at most 15 digits. */
const LARGEST = 999_999_999_999_999n;

type Rates = readonly Readonly<Rate>[];
type Decided = Pick<
  Decision,
  "allowed" | "remaining" | "retryAfterMs" | "resetAfterMs" | "limit" | "refusedBy" | "serverTimeUs"
>;

/** `RateLimit-Policy` of a limiter: what its rates bring. */
export function policyField(name: string, rates: Rates): string {
  return rates.map((rate, at) => `${nameOf(name, rates, at)};${quota(rate)}`).join(", ");
}

/** The fields of an answer with a decision; `policy` is what `policyField` gave for the same limiter. */
export function decisionFields(name: string, rates: Rates, policy: string, decision: Decided): Fields {
  const { allowed, retryAfterMs } = decision;
  const retryAfter = allowed || retryAfterMs === undefined ? undefined : String(Math.max(1, seconds(retryAfterMs)));
  // A policy that decided without the server does not know how things stand.
  const limit = decision.serverTimeUs === undefined ? undefined : limitField(name, rates, decision);
  return { policy, limit, retryAfter };
}

function limitField(name: string, rates: Rates, { limit, refusedBy, remaining, resetAfterMs }: Decided): string {
  const narrowest = rates.findIndex(({ tokens, burst = tokens }) => burst === limit);
  const about = nameOf(name, rates, refusedBy ?? Math.max(0, narrowest));
  const left = `${about};r=${String(remaining)}`;
  return rates.length > 1 ? left : `${left};t=${String(seconds(resetAfterMs))}`;
}

/** The name of a rate as a string of structured fields (RFC 9651). */
function nameOf(name: string, rates: Rates, at: number): string {
  return quoted(rates.length > 1 ? `${name}-${String(at + 1)}` : name);
}

function quoted(text: string): string {
  const escaped = Array.from(Buffer.from(text), (byte) => {
    const character = String.fromCharCode(byte);
    if (character === '"' || character === "\\") return `\\${character}`;
    const isPlain = byte >= 0x20 && byte <= 0x7e && character !== "%";
    return isPlain ? character : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  });
  return `"${escaped.join("")}"`;
}

/** How many tokens a rate brings in its period, which is rounded up to whole seconds. */
function quota({ tokens, perMs }: Readonly<Rate>): string {
  const window = seconds(perMs);
  const perUs = BigInt(Math.round(perMs * 1000));
  const brought = (BigInt(tokens) * BigInt(window) * 1_000_000n) / perUs;
  return `q=${String(brought < LARGEST ? brought : LARGEST)};w=${String(window)}`;
}

/** Whole seconds, rounded up. Milliseconds have whole microseconds, of which a quotient could lose the last. */
function seconds(ms: number): number {
  const us = Math.round(ms * 1000);
  const rest = us % 1_000_000;
  return (us - rest) / 1_000_000 + (rest > 0 ? 1 : 0);
}

/** The problem of a request that a limit refused. */
export function refusedProblem({ retryAfter }: Fields): Problem {
  const when = retryAfter === undefined ? "this request can never be granted" : `try again in ${retryAfter} s`;
  return problem(429, "Too Many Requests", `rate limit reached; ${when}`);
}

/** The problem of a request that could not be decided. */
export function unavailableProblem(): Problem {
  return problem(503, "Service Unavailable", "the rate limit cannot be decided now; try again in 1 s");
}

/** The problem of a request whose key is none. It repeats nothing of the request. */
export function badKeyProblem(): Problem {
  return problem(400, "Bad Request", "the key of the rate limit is too long, or has characters that it may not have");
}

function problem(status: number, title: string, detail: string): Problem {
  return { type: "about:blank", title, status, detail };
}
