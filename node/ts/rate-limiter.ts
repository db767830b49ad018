import type { Client } from "./client.js";
import { anyMilliseconds, microseconds, objectName, whole, wrongType } from "./convert.js";
import { unwrap } from "./error.js";
import type { Handle, NativeDecision } from "./native.js";
import { native, submit } from "./port.js";

/** What a limiter lets through: `tokens` in `perMs`, and at most `burst` of them at once. */
export interface RateLimiterOptions {
  /** Tokens of one period; 0 refuses everything. */
  tokens: number;
  /** The period in milliseconds, from 0.001 in steps of 0.001 (whole microseconds) to 100 years. */
  perMs: number;
  /** The most tokens at once, the whole bucket; without it as many as `tokens`. */
  burst?: number | undefined;
  /**
   * What is answered while the server cannot be reached or refuses for now: an error (`"fail"`, the default), a refusal, a
   * permission, or one by a share of the rate that this client counts by itself, as one of `localShare` clients.
   */
  absent?: "fail" | "deny" | "allow" | { readonly localShare: number } | undefined;
}

/** A limiter's answer. Lengths of time are in milliseconds, with their fraction. */
export interface Decision {
  /** Whether the tokens were granted; of a `peek`, whether one could be had. */
  readonly allowed: boolean;
  /** How many were. */
  readonly granted: number;
  /** How many could be had at once now. */
  readonly remaining: number;
  /** Until the same cost can be granted, at the soonest; undefined is never. */
  readonly retryAfterMs: number | undefined;
  /** Until the bucket is full. */
  readonly resetAfterMs: number;
  /** The burst: the most that can be had at once. Of this client's share while `localShare` decides. */
  readonly limit: number;
  /**
   * When, on the server's clock, in microseconds since 1970; undefined when the server was not asked: a policy decided, or a
   * wait ended in the line before its turn.
   */
  readonly serverTimeUs: bigint | undefined;
}

const NO_WAIT = 0;

const collected = new FinalizationRegistry<Handle>((handle) => native.free(handle));

/** @internal */
export function openLimiter(client: Client, handle: Handle, name: string, options: RateLimiterOptions): RateLimiter {
  const op = "rate limiter";
  const wanted = objectName(name, op);
  const { tokens, perMs, burst, absent = "fail" } = options;
  const rate = {
    tokens: whole(tokens, "tokens", op, wanted),
    perUs: microseconds(perMs, "perMs", op, wanted),
    burst: burst === undefined ? undefined : whole(burst, "burst", op, wanted),
  };
  const [policy, shareOf] =
    typeof absent === "string" ? [absent, undefined] : ["local_share", shareOfPolicy(absent, wanted)];
  return new RateLimiter(client, wanted, unwrap(native.limiterOpen(handle, wanted, rate, policy, shareOf)));
}

function shareOfPolicy(absent: { readonly localShare: number }, name: string): number {
  if (typeof absent !== "object" || (absent as unknown) === null) {
    throw wrongType("absent", "a policy's name or { localShare }", absent);
  }
  return whole(absent.localShare, "localShare", "rate limiter", name);
}

/**
 * A rate limit of one name, made by `Client.rateLimiter` and shared by all that any process makes of that name. It is
 * judged by the server's clock. A decision is never asked for twice: one whose reply was lost (`DLOCK_OUTCOME_UNKNOWN`)
 * counts as spent.
 */
export class RateLimiter {
  /** The name, without the client's key prefix. */
  readonly name: string;
  /** The client, which lives as long as its limiters. */
  readonly client: Client;
  readonly #handle: Handle;

  /** @internal */
  constructor(client: Client, name: string, handle: Handle) {
    this.client = client;
    this.name = name;
    this.#handle = handle;
    collected.register(this, handle);
  }

  /** Takes `cost` tokens if they are there now. A refusal is a decision, not an error. */
  tryAcquire(cost = 1): Promise<Decision> {
    return this.#ask(cost, NO_WAIT);
  }

  /**
   * Takes `cost` tokens, waiting for them at most `waitMs` (up to 24 h; none is for ever). Those who wait in one process are served in
   * the order in which they came; a wait that cannot be long enough is refused at once. A `signal` that fires gives up the
   * place in the line, and may have spent the tokens when the decision was under way.
   */
  acquire(
    cost = 1,
    options: { waitMs?: number | undefined; signal?: AbortSignal | undefined } = {},
  ): Promise<Decision> {
    return this.#ask(cost, options.waitMs, options.signal);
  }

  /** How things stand for one token, without spending any. */
  peek(): Promise<Decision> {
    return this.#ask(0, NO_WAIT);
  }

  /** Fills the bucket, for everybody. */
  async reset(): Promise<void> {
    unwrap(await submit(this, (id) => native.limiterReset(id, this.#handle)));
  }

  async #ask(cost: number, wait: number | undefined, signal?: AbortSignal): Promise<Decision> {
    const op = "rate limit";
    const tokens = whole(cost, "cost", op, this.name);
    const longest = anyMilliseconds(wait, "waitMs", op, this.name);
    const ask = (id: number): ReturnType<typeof native.limiterAcquire> =>
      native.limiterAcquire(id, this.#handle, tokens, longest);
    const decision = unwrap(await submit<NativeDecision>(this, ask, signal));
    const { retryAfterMs, serverTimeUs } = decision;
    return { ...decision, retryAfterMs: retryAfterMs ?? undefined, serverTimeUs: serverTimeUs ?? undefined };
  }
}
