// What the middlewares of all frameworks do for a request, without what is the framework's own.

import { type About, type Read, type Readers, type ReadersOf, callback, optional, readOptions } from "../arguments.js";
import { objectName, wrongType } from "../convert.js";
import { DlockError, invalidArgument } from "../error.js";
import type { Rate } from "../rate.js";
import type { Decision } from "../rate-limiter.js";
import { addressKey } from "./address.js";
import {
  type Fields,
  type Problem,
  badKeyProblem,
  decisionFields,
  policyField,
  refusedProblem,
  unavailableProblem,
} from "./fields.js";

type Awaitable<T> = T | PromiseLike<T>;

/** What a middleware needs of a `RateLimiter`. */
export interface Limiter {
  readonly name: string;
  readonly rates: readonly Readonly<Rate>[];
  tryAcquire(cost?: number, options?: { key?: string | undefined }): Promise<Decision>;
}

/** How the requests of a framework are limited. `Request` is what the functions get, such as Express's request. */
export interface LimitOptions<Request> {
  /**
   * The rate limiter, made by `client.rateLimiter`, or a function that returns it, or a promise of it. The function is called with the
   * first request, and again with the next one if it fails.
   */
  limiter: Limiter | (() => Awaitable<Limiter>);
  /**
   * Whose tokens a request needs. Without this function each client address has its own (of IPv6 each network of 64 bits), as the
   * framework sees it: behind a proxy, tell the framework which proxies it may believe. Where it returns undefined, null or an empty
   * text, requests share the limiter's own tokens.
   */
  key?: ((request: Request) => Awaitable<string | null | undefined>) | undefined;
  /** How many tokens a request costs: 1 by default. */
  cost?: number | ((request: Request) => Awaitable<number>) | undefined;
  /** Whether a request is not limited at all. */
  skip?: ((request: Request) => Awaitable<boolean>) | undefined;
  /** The name in the answer's fields: the limiter's by default. */
  name?: string | undefined;
}

/** Why the handler does not get a request. */
export interface Refusal {
  /** 429: refused; 503: not decided; 400: the key is one that no name may be. */
  readonly status: 429 | 503 | 400;
  /** The decision, of 429. */
  readonly decision?: Decision | undefined;
  /** What the decision met, of 503 and 400. */
  readonly error?: DlockError | undefined;
  /** What the body says, unless a handler of your own answers. */
  readonly problem: Problem;
}

/** What becomes of a request. */
export interface Verdict {
  /** What the answer says about the limit. */
  readonly fields: Fields;
  /** Undefined: the handler gets the request. */
  readonly refusal?: Refusal | undefined;
}

const OP = "rateLimit";

function limiterOf(value: unknown, what: string): LimitOptions<never>["limiter"] {
  if (typeof value === "function") return value as () => Limiter;
  return checkedLimiter(value, what);
}

function checkedLimiter(value: unknown, what: string): Limiter {
  const { name, rates, tryAcquire } = Object(value) as Partial<Limiter>;
  if (typeof name === "string" && Array.isArray(rates) && typeof tryAcquire === "function") return value as Limiter;
  throw wrongType(
    what,
    "a rate limiter, such as client.rateLimiter(name, { tokens, perMs }), or a function that returns one",
    value,
  );
}

function costOf(value: unknown, what: string): LimitOptions<never>["cost"] {
  if (value === undefined) return undefined;
  if (typeof value === "number") {
    if (Number.isSafeInteger(value) && value >= 0) return value;
    throw invalidArgument(OP, `${what}: ${String(value)} given`, "whole numbers, 0 and above, below 2^53");
  }
  if (typeof value !== "function") throw wrongType(what, "a number or a function", value);
  return value as (request: never) => number;
}

const LIMIT = {
  limiter: limiterOf,
  key: callback,
  cost: costOf,
  skip: callback,
  name: optional((name: string, what: string, { op }: About) => objectName(name, op, what)),
} satisfies ReadersOf<LimitOptions<never>>;

/** Reads what every framework's options have; the rest of them is given to `own`. @internal */
export function readLimit<Request, Own extends Readers>(
  given: unknown,
  own: Own,
  call: string,
): LimitOptions<Request> & Read<Own> {
  if (given === undefined) throw wrongType(`${call}: options`, "an object with a limiter", given);
  return readOptions(given, { ...LIMIT, ...own }, call, { op: OP }) as LimitOptions<Request> & Read<Own>;
}

interface Opened {
  readonly limiter: Limiter;
  readonly name: string;
  readonly policy: string;
}

/** One limiter and the requests that it limits. @internal */
export class Limiting<Request> {
  readonly #options: LimitOptions<Request>;
  readonly #addressOf: (request: Request) => string | undefined;
  #opened: Promise<Opened> | undefined;

  /** `addressOf` gives the client's address as the framework sees it. */
  constructor(options: LimitOptions<Request>, addressOf: (request: Request) => string | undefined) {
    this.#options = options;
    this.#addressOf = addressOf;
    if (typeof options.limiter !== "function") this.#opened = Promise.resolve(this.#toOpened(options.limiter));
  }

  /**
   * Undefined: the request is not limited. Rejects with what a function of the caller's threw, and with errors that are mistakes of
   * the program.
   */
  async decide(request: Request): Promise<Verdict | undefined> {
    const { skip } = this.#options;
    if (skip !== undefined && (await skip(request))) return undefined;
    // Errors of these are the program's, also where they are this library's: of a lock that a key function takes, say.
    const key = await this.#keyOf(request);
    const cost = await this.#costOf(request);
    let policy: string | undefined;
    try {
      const opened = await this.#open();
      const { limiter, name } = opened;
      policy = opened.policy;
      const decision = await limiter.tryAcquire(cost, key === undefined ? undefined : { key });
      const fields = decisionFields(name, limiter.rates, policy, decision);
      if (decision.allowed) return { fields };
      return { fields, refusal: { status: 429, decision, problem: refusedProblem(fields) } };
    } catch (error) {
      return undecided(error, policy);
    }
  }

  /** Asked by all requests that come before there is an answer; again by the next one when that is an error. */
  #open(): Promise<Opened> {
    this.#opened ??= this.#ask().catch((error: unknown) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  async #ask(): Promise<Opened> {
    const { limiter } = this.#options;
    const made = typeof limiter === "function" ? await limiter() : limiter;
    return this.#toOpened(checkedLimiter(made, "what the function limiter returns"));
  }

  #toOpened(limiter: Limiter): Opened {
    const { name = limiter.name } = this.#options;
    return { limiter, name, policy: policyField(name, limiter.rates) };
  }

  async #keyOf(request: Request): Promise<string | undefined> {
    const { key } = this.#options;
    if (key === undefined) return addressKey(this.#addressOf(request));
    const made: unknown = await key(request);
    if (made === undefined || made === null || made === "") return undefined;
    if (typeof made === "string") return made;
    throw wrongType("what the function key returns", "a string, undefined or null", made);
  }

  async #costOf(request: Request): Promise<number | undefined> {
    const { cost } = this.#options;
    return typeof cost === "function" ? cost(request) : cost;
  }
}

/**
 * The answer to a request that has no decision; an error that is nobody's but the program's goes on. Without a `policy` the limiter
 * could not be made, and then a name that is refused is not the request's.
 */
function undecided(error: unknown, policy: string | undefined): Verdict {
  if (!(error instanceof DlockError)) throw error;
  const { kind, family } = error;
  if (kind === "INVALID_NAME" && policy !== undefined)
    return { fields: {}, refusal: { status: 400, error, problem: badKeyProblem() } };
  if (family !== "UNAVAILABLE" && kind !== "CLOSED") throw error;
  const refusal: Refusal = { status: 503, error, problem: unavailableProblem() };
  return { fields: { policy, retryAfter: "1" }, refusal };
}
