import type { Client } from "./client.js";
import {
  type About,
  type ReadersOf,
  abortSignal,
  duration,
  integer,
  optional,
  readOptions,
  refuseSurplus,
} from "./arguments.js";
import { milliseconds, objectName, whole, wrongType } from "./convert.js";
import { answersOf, pairs } from "./decisions.js";
import { DlockError, invalidArgument, invalidName, isFailure, unwrap } from "./error.js";
import { jsonFields } from "./json.js";
import type { Answer, Decisions, Handle, NativeDecision } from "./native.js";
import { freeWith, native, submit, unlessAborted } from "./port.js";
import { RATE, type Rate, givenRate, nativeRate, readRates } from "./rate.js";
import { decide } from "./turn.js";
import { refuseUnbound } from "./unbound.js";

/** What a limiter is, besides its rates. */
interface Policy {
  /**
   * What is answered while the server cannot be reached or refuses for now: an error (`"fail"`, the default), a refusal, a
   * permission, or one by a share of the rate that this client counts by itself, as one of `localShare` clients.
   */
  absent?: "fail" | "deny" | "allow" | { readonly localShare: number } | undefined;
  /**
   * The largest part of the burst that this client may fetch ahead, more than 0 and at most 1, for a name that is asked for
   * thousands of times a second; without it nothing. While the client has tokens, `tryAcquire` decides in about a microsecond
   * without a round trip; the server is asked some 25 times a second, up to 45 when there is less than is wanted. The rate is
   * kept as without it. The price: a client that has fetched its share goes on for 80 ms or so while another is refused, and
   * what a process has that dies, never more than the rate brings in 0.9 s, is lost. Calls with a `key` fetch nothing ahead.
   */
  prefetch?: number | undefined;
}

/** Several rates, each as one alone would be given. */
interface Several extends Policy, Partial<Record<keyof Rate, undefined>> {
  /**
   * 1 to 8 rates, of which each decision needs all: when one of them refuses, none is charged. Of two, the one with the longer
   * period has more tokens.
   */
  rates: readonly Rate[];
}

/** What a limiter lets through: one rate, or several as `rates`. */
export type RateLimiterOptions = (Rate & Policy & { rates?: undefined }) | Several;

/** A limiter's answer. Lengths of time are in milliseconds, with their fraction. */
export interface Decision {
  // <api:decision> written by `python3 api/write.py` from api/records.json
  /** Whether the tokens were granted; of a `peek`, whether one could be had. */
  readonly allowed: boolean;
  /** How many were: the cost, or 0. */
  readonly granted: number;
  /** How many could be had at once now; zero while a block refuses all. */
  readonly remaining: number;
  /** How long until the same cost can be granted, at the soonest: zero when it was granted, undefined for never. */
  readonly retryAfterMs: number | undefined;
  /** How long until the bucket is full again, and a block over. */
  readonly resetAfterMs: number;
  /** The most that can be had at once: the burst, or this client's share of it when a policy granted that. */
  readonly limit: number;
  /**
   * Which of the limiter's rates is the last to have the tokens of a request that was refused, counted from 0;
   * undefined when it was granted, and when a block or a policy refused it.
   */
  readonly refusedBy: number | undefined;
  /** How long until the tokens that were granted may be used: zero except after `reserve`. */
  readonly usableAfterMs: number;
  /**
   * When it was decided, or from when on the tokens that were waited for may be used, on the server's clock, in
   * microseconds since 1970; undefined when a policy decided without the server.
   */
  readonly serverTimeUs: bigint | undefined;
  // </api:decision>
}

/** An item of a batch that has no decision, but an error of its own: what a single call would have been rejected with. */
export interface Undecided {
  /** Nothing was allowed. */
  readonly allowed: false;
  /** What the item met. */
  readonly error: DlockError;
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
  readonly refusedBy: number | undefined;
  readonly usableAfterMs: number;
  readonly serverTimeUs: bigint | undefined;

  constructor(decision: NativeDecision) {
    this.allowed = decision.allowed;
    this.granted = decision.granted;
    this.remaining = decision.remaining;
    this.retryAfterMs = decision.retryAfterMs ?? undefined;
    this.resetAfterMs = decision.resetAfterMs;
    this.limit = decision.limit;
    this.refusedBy = decision.refusedBy ?? undefined;
    this.usableAfterMs = decision.usableAfterMs;
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
  const { rates, absent, prefetch } = readOpening(options, { op, object: wanted });
  const [word, shareOf] = absent;
  const opened = unwrap(native.limiterOpen(handle, wanted, rates, word, shareOf, prefetch));
  const alike = JSON.stringify([handle, rates, absent, prefetch, wanted]);
  return new RateLimiter(client, wanted, opened, Object.freeze(rates.map(givenRate)), prefetch !== undefined, alike);
}

const OP = "rate limit";

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

/** Its range is the core's to check. */
function share(value: number, what: string): number {
  if (typeof value !== "number") throw wrongType(what, "a number", value);
  return value;
}

// `rates` is among them to be named to those who mistype it.
const ONE = { ...RATE, rates: () => undefined, absent: policy, prefetch: optional(share) } satisfies ReadersOf<
  Rate & Policy & { rates: undefined }
>;
const SEVERAL = { rates: readRates, absent: policy, prefetch: optional(share) } satisfies ReadersOf<
  Pick<Several, "rates" | "absent" | "prefetch">
>;

function readOpening(
  options: RateLimiterOptions,
  about: About,
): { rates: ReturnType<typeof readRates>; absent: ReturnType<typeof policy>; prefetch: number | undefined } {
  const call = "rateLimiter(name, options)";
  if ((options as RateLimiterOptions | null)?.rates !== undefined) {
    const given = Object.entries(options).filter(([, value]) => value !== undefined);
    return readOptions(Object.fromEntries(given), SEVERAL, `${call} with rates`, about);
  }
  const { absent, prefetch, ...rate } = readOptions(options, ONE, call, about);
  return { rates: [nativeRate(rate)], absent, prefetch };
}

/** Where the native module writes the numbers of a decision that needed no server. */
const NUMBERS = new Float64Array(6);
type SixNumbers = [number, number, number, number, number, number];
const ASK = 0;
const GRANTED = 2;

interface AcquireOptions {
  waitMs?: number | undefined;
  signal?: AbortSignal | undefined;
  key?: string | undefined;
}

const KEY = { key: optional(keyOf) } satisfies ReadersOf<Pick<AcquireOptions, "key">>;
const RESERVE = { waitMs: duration, ...KEY } satisfies ReadersOf<Omit<AcquireOptions, "signal">>;
const ACQUIRE = { waitMs: duration, signal: abortSignal, ...KEY } satisfies ReadersOf<AcquireOptions>;

/** A key. A lone surrogate has no UTF-8; its other rules are the core's. */
function keyOf(key: string, what: string, { op, object }: About): string {
  if (typeof key !== "string") throw wrongType(what, "a string", key);
  if (key.isWellFormed()) return key;
  throw invalidName(op, `a key of ${JSON.stringify(object)} has a lone surrogate`, "keys of UTF-8 without NUL");
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
  /** What it lets through, as it was given here: one rate or several. */
  readonly rates: readonly Readonly<Rate>[];
  readonly #handle: Handle;
  readonly #prefetches: boolean;
  /** The same for all of the client that let the same through under this name. */
  readonly #alike: string;

  /** @internal */
  constructor(
    client: Client,
    name: string,
    handle: Handle,
    rates: readonly Readonly<Rate>[],
    prefetches: boolean,
    alike: string,
  ) {
    this.client = client;
    this.name = name;
    this.rates = rates;
    this.#handle = handle;
    this.#prefetches = prefetches;
    this.#alike = alike;
    freeWith(this, handle);
  }

  /**
   * Takes `cost` tokens if they are there now. A refusal is a decision, not an error, also for a cost that can never be granted:
   * one above the burst has `retryAfterMs` undefined. With a `key`, such as a user's id, those of
   * the bucket of that key: each key has one, under the name `NAME:KEY`. The client keeps nothing of a key that nobody waits for,
   * so there may be millions of them.
   */
  tryAcquire(cost?: number, options?: { key?: string | undefined }): Promise<Decision>;
  async tryAcquire(cost?: number, options?: { key?: string | undefined }, ...surplus: unknown[]): Promise<Decision> {
    refuseSurplus(surplus, "tryAcquire(cost, options) has no argument behind the options");
    const key = this.#key(options, "tryAcquire(cost, options)");
    const decision = this.#prefetches && key === undefined ? this.#atOnce(cost) : undefined;
    return decision ?? new Decided(unwrap(await this.#decide(cost, key)));
  }

  /**
   * Takes tokens of several keys, with a cost for each, in one round trip for every 256 of them: an answer for each, in the same
   * order. 1 to 10,000 pairs. What is wrong with one, such as a key of 10 kB or a cost below 0, is its own answer, with
   * an `error` and `allowed: false`, and no matter of the others. When a reply was lost, each item of that write has
   * `DLOCK_OUTCOME_UNKNOWN`. A key may occur several times.
   */
  async tryAcquireMany(items: Iterable<readonly [key: string, cost: number]>): Promise<(Decision | Undecided)[]> {
    const keys: string[] = [];
    const costs: number[] = [];
    const own = new Map<number, DlockError>();
    for (const [key, cost] of pairs(items)) {
      if (typeof key !== "string") throw wrongType("key", "a string", key);
      keys.push(key);
      try {
        costs.push(whole(cost as number, "cost", OP, this.name));
      } catch (error) {
        if (!(error instanceof DlockError)) throw error;
        own.set(costs.length, error);
        costs.push(-1); // which the core does not ask for either
      }
    }
    const ask = (id: number): ReturnType<typeof native.limiterAcquireMany> =>
      native.limiterAcquireMany(id, this.#handle, keys, costs);
    const answers = answersOf(unwrap(await submit<Decisions>(this, ask)));
    return answers.map((answer, at) =>
      isFailure(answer) ? { allowed: false, error: own.get(at) ?? new DlockError(answer) } : new Decided(answer),
    );
  }

  /**
   * Takes `cost` tokens, waiting for them at most `waitMs` (none is for ever). All that wait, in all processes, are
   * served in the order in which their requests reach the server; a wait that cannot be long enough is refused at once. A `signal`
   * that fires gives the tokens back, unless they could be used already. A cost of 0 asks how things stand, as `peek`, and never
   * waits. A `key` is as in `tryAcquire`.
   */
  async acquire(
    cost?: number,
    options?: { waitMs?: number | undefined; signal?: AbortSignal | undefined; key?: string | undefined },
  ): Promise<Decision> {
    const about = { op: OP, object: this.name };
    const { waitMs, signal, key } = readOptions(options, ACQUIRE, "acquire(cost, options)", about);
    return this.#ask(cost, waitMs, signal, key);
  }

  /** How things stand for one token, without spending any; with a `key`, for that key. */
  async peek(options?: { key?: string | undefined }): Promise<Decision> {
    return this.#ask(0, 0, undefined, this.#key(options, "peek(options)"));
  }

  /**
   * Takes `cost` tokens now, for use when they are there, within `waitMs` (none is for ever): `usableAfterMs` of the decision says
   * how long that is. Refused when it would be longer. Nothing waits here; the caller keeps to that time, and gives back with
   * `reward` what is not wanted after all. A `key` is as in `tryAcquire`.
   */
  async reserve(cost?: number, options?: { waitMs?: number | undefined; key?: string | undefined }): Promise<Decision> {
    const { waitMs, key } = readOptions(options, RESERVE, "reserve(cost, options)", {
      op: "reserve",
      object: this.name,
    });
    const tokens = cost === undefined ? 1 : whole(cost, "cost", "reserve", this.name);
    const ask = (id: number): ReturnType<typeof native.limiterReserve> =>
      native.limiterReserve(id, this.#handle, tokens, waitMs, key);
    return new Decided(unwrap(await submit<NativeDecision>(this, ask)));
  }

  /**
   * Takes `tokens`, 1 to the burst, whether or not they are there: who comes next waits the longer for it. For a request that turned
   * out to cost more than it was let in for. Always asks the server: no policy for an absent one applies.
   */
  async penalty(tokens: number, options?: { key?: string | undefined }): Promise<void> {
    const key = this.#key(options, "penalty(tokens, options)");
    const taken = whole(tokens, "tokens", "penalty", this.name);
    unwrap(await submit(this, (id) => native.limiterPenalty(id, this.#handle, taken, key)));
  }

  /**
   * Gives `tokens`, 1 to the burst, back as if they had not been taken: never more than were. For a request that turned out to cost
   * less, or that failed. Those that wait already keep their times.
   */
  async reward(tokens: number, options?: { key?: string | undefined }): Promise<void> {
    const key = this.#key(options, "reward(tokens, options)");
    const given = whole(tokens, "tokens", "reward", this.name);
    unwrap(await submit(this, (id) => native.limiterReward(id, this.#handle, given, key)));
  }

  /**
   * Refuses everybody for `lengthMs` from now on, whatever the rates would allow; 0 ends it. The last call counts. Those that wait
   * get their tokens after it; those that have reserved keep their times. What other clients have fetched ahead can be used for
   * another second at most. Whole milliseconds, up to 100 years.
   */
  async block(lengthMs: number, options?: { key?: string | undefined }): Promise<void> {
    const key = this.#key(options, "block(lengthMs, options)");
    const length = milliseconds(lengthMs, "lengthMs", "block", this.name);
    unwrap(await submit(this, (id) => native.limiterBlock(id, this.#handle, length, key)));
  }

  /** Forgets what was taken, and a block, for everybody; with a `key`, of that key. */
  async reset(options?: { key?: string | undefined }): Promise<void> {
    const key = this.#key(options, "reset(options)");
    unwrap(await submit(this, (id) => native.limiterReset(id, this.#handle, key)));
  }

  #key(options: { key?: string | undefined } | undefined, call: string): string | undefined {
    return options === undefined ? undefined : readOptions(options, KEY, call, { op: OP, object: this.name }).key;
  }

  #decide(cost: number | undefined, key: string | undefined): Promise<Answer<NativeDecision>> {
    return decide(this, this.#handle, this.#alike, this.#tokens(cost), key);
  }

  #tokens(cost: number | undefined): number {
    return cost === undefined ? 1 : whole(cost, "cost", OP, this.name);
  }

  /** The decision, if the tokens that were fetched ahead allow one without the server. */
  #atOnce(cost: number | undefined): Decided | undefined {
    const answer = unwrap(native.limiterTryAcquireNow(this.#handle, this.#tokens(cost), NUMBERS));
    if (answer === ASK) return undefined;
    const [granted, remaining, retryAfterMs, resetAfterMs, limit, serverTimeUs] = NUMBERS as unknown as SixNumbers;
    return new Decided({
      allowed: answer === GRANTED,
      granted,
      remaining,
      retryAfterMs: retryAfterMs < 0 ? null : retryAfterMs,
      resetAfterMs,
      limit,
      // What fetches ahead has one rate, and reserves nothing.
      refusedBy: answer === GRANTED ? null : 0,
      usableAfterMs: 0,
      serverTimeUs: serverTimeUs < 0 ? null : BigInt(serverTimeUs),
    });
  }

  async #ask(
    cost: number | undefined,
    waitMs: number | undefined,
    signal: AbortSignal | undefined,
    key: string | undefined,
  ): Promise<Decision> {
    if (waitMs === 0 && signal === undefined) return new Decided(unwrap(await this.#decide(cost, key)));
    const tokens = this.#tokens(cost);
    const ask = (id: number): ReturnType<typeof native.limiterAcquire> =>
      native.limiterAcquire(id, this.#handle, tokens, waitMs, key);
    const decision = unlessAborted(await submit<NativeDecision>(this, ask, signal), signal, () => undefined);
    return new Decided(decision);
  }
}

refuseUnbound(RateLimiter, "limiter", "limiter");
