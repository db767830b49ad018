import type { Client } from "./client.js";
import {
  type About,
  type Read,
  type ReadersOf,
  abortSignal,
  duration,
  integer,
  optional,
  readOptions,
  refuseSurplus,
} from "./arguments.js";
import { microseconds, objectName, whole, wrongType } from "./convert.js";
import { invalidArgument, unwrap } from "./error.js";
import { jsonFields } from "./json.js";
import type { Handle, NativeDecision } from "./native.js";
import { freeWith, native, submit, unlessAborted } from "./port.js";

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
  // <api:decision> written by `python3 api/write.py` from api/records.json
  /** Whether the tokens were granted; of a `peek`, whether one could be had. */
  readonly allowed: boolean;
  /** How many were: the cost, or 0. */
  readonly granted: number;
  /** How many could be had at once now. */
  readonly remaining: number;
  /** How long until the same cost can be granted, at the soonest: zero when it was granted, undefined for never. */
  readonly retryAfterMs: number | undefined;
  /** How long until the bucket is full again. */
  readonly resetAfterMs: number;
  /** The most that can be had at once: the burst, or this client's share of it when a policy granted that. */
  readonly limit: number;
  /**
   * When it was decided, or from when on the tokens that were waited for may be used, on the server's clock, in
   * microseconds since 1970; undefined when a policy decided without the server.
   */
  readonly serverTimeUs: bigint | undefined;
  // </api:decision>
}

/** A class for its `toJSON` alone: to define that on each object takes longer than all else. */
class Decided implements Decision {
  // <api:decided> written by `python3 api/write.py` from api/records.json
  readonly allowed: boolean;
  readonly granted: number;
  readonly remaining: number;
  readonly retryAfterMs: number | undefined;
  readonly resetAfterMs: number;
  readonly limit: number;
  readonly serverTimeUs: bigint | undefined;

  constructor(decision: NativeDecision) {
    this.allowed = decision.allowed;
    this.granted = decision.granted;
    this.remaining = decision.remaining;
    this.retryAfterMs = decision.retryAfterMs ?? undefined;
    this.resetAfterMs = decision.resetAfterMs;
    this.limit = decision.limit;
    this.serverTimeUs = decision.serverTimeUs ?? undefined;
  }
  // </api:decided>

  toJSON(): object {
    return jsonFields(this);
  }
}

/** @internal */
export function openLimiter(client: Client, handle: Handle, name: string, options: RateLimiterOptions): RateLimiter {
  const op = "rate limiter";
  const wanted = objectName(name, op);
  if ((options as unknown) === undefined) throw wrongType("options", "an object with tokens and perMs", options);
  const about = { op, object: wanted };
  const { tokens, perMs: perUs, burst, absent } = readOptions(options, OPEN, "rateLimiter(name, options)", about);
  const rate = { tokens, perUs, burst };
  return new RateLimiter(client, wanted, unwrap(native.limiterOpen(handle, wanted, rate, ...absent)));
}

const SHARE = { localShare: integer };

type Absent = RateLimiterOptions["absent"];

/** A policy's word, and for a local share one in how many it is. */
function policy(absent: Absent, what: string, about: About): [word: string, shareOf?: number] {
  if (absent === undefined) return ["fail"];
  if (typeof absent === "string") return [policyWord(absent, about)];
  if (typeof absent !== "object" || (absent as unknown) === null) {
    throw wrongType(what, "a policy's name or { localShare }", absent);
  }
  return ["local_share", readOptions(absent, SHARE, what, about).localShare];
}

// Core has a word for the share too, which in JavaScript is an object.
function policyWord(word: string, { op, object }: About): string {
  if (["fail", "deny", "allow"].includes(word)) return word;
  const allowed = '"fail", "deny", "allow" and { localShare: 8 }';
  throw invalidArgument(op, `absent: ${JSON.stringify(word)} given`, allowed, object);
}

const OPEN = {
  tokens: integer,
  perMs: (value: number, what: string, { op, object }: About) => microseconds(value, what, op, object),
  burst: optional(integer),
  absent: policy,
} satisfies ReadersOf<RateLimiterOptions>;

interface AcquireOptions {
  waitMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

const ACQUIRE = { waitMs: duration, signal: abortSignal } satisfies ReadersOf<AcquireOptions>;
const AT_ONCE: Read<typeof ACQUIRE> = { waitMs: 0, signal: undefined };

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
    freeWith(this, handle);
  }

  /** Takes `cost` tokens if they are there now. A refusal is a decision, not an error. */
  tryAcquire(cost?: number): Promise<Decision>;
  async tryAcquire(cost?: number, ...surplus: unknown[]): Promise<Decision> {
    refuseSurplus(surplus, "tryAcquire(cost) has no options: acquire(cost, { waitMs }) waits");
    return this.#ask(cost, AT_ONCE);
  }

  /**
   * Takes `cost` tokens, waiting for them at most `waitMs` (none is for ever). All that wait, in all processes, are
   * served in the order in which their requests reach the server; a wait that cannot be long enough is refused at once. A `signal`
   * that fires gives the tokens back, unless they could be used already. A cost of 0 asks how things stand, as `peek`, and never waits.
   */
  acquire(
    cost?: number,
    options?: { waitMs?: number | undefined; signal?: AbortSignal | undefined },
  ): Promise<Decision> {
    return this.#ask(cost, options);
  }

  /** How things stand for one token, without spending any. */
  peek(): Promise<Decision> {
    return this.#ask(0, AT_ONCE);
  }

  /** Fills the bucket, for everybody. */
  async reset(): Promise<void> {
    unwrap(await submit(this, (id) => native.limiterReset(id, this.#handle)));
  }

  async #ask(cost: number | undefined, options: AcquireOptions | undefined): Promise<Decision> {
    const op = "rate limit";
    const tokens = cost === undefined ? 1 : whole(cost, "cost", op, this.name);
    const about = { op, object: this.name };
    const { waitMs, signal } =
      options === AT_ONCE ? AT_ONCE : readOptions(options, ACQUIRE, "acquire(cost, options)", about);
    const ask = (id: number): ReturnType<typeof native.limiterAcquire> =>
      native.limiterAcquire(id, this.#handle, tokens, waitMs);
    const decision = unlessAborted(await submit<NativeDecision>(this, ask, signal), signal, () => undefined);
    return new Decided(decision);
  }
}
