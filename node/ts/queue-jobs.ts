// What a queue takes and gives: jobs that are to be put, what a put has done, counts, jobs in lists.

import { type About, type ReadersOf, duration, integer, optional, readOptions } from "./arguments.js";
import { kindOf, milliseconds, tagOf, wrongType } from "./convert.js";
import { invalidArgument } from "./error.js";
import type { NativeListedJob, NativeNewJob } from "./native.js";

/** What a job may be: bytes, or a string, of which the UTF-8 is put. */
export type Payload = string | Uint8Array;

/** How a job is put. */
export interface PutOptions {
  /** After how many whole milliseconds it is due, up to 100 years; at once by default. Not together with `at`. */
  delayMs?: number | undefined;
  /** When it is due, by the server's clock: a `Date`, or whole milliseconds since 1970. What is past is due at once. */
  at?: Date | number | undefined;
  /**
   * Its id, 1 to 512 bytes of UTF-8: while a job with this id waits, is being done or is dead, another put does nothing. A new one
   * by default.
   */
  id?: string | undefined;
  /** Jobs that are due come by priority, -32768 to 32767, the higher first; 0 by default. */
  priority?: number | undefined;
}

/** A job for `Queue.putMany`. */
export interface NewJob extends PutOptions {
  payload: Payload;
}

/** What a put has done. */
export interface Put {
  /** The id of the job: the given one, or a new one. */
  readonly id: string;
  /** False when a job with this id was there already: nothing was put. */
  readonly isNew: boolean;
}

/** How many jobs a queue has, at one instant. */
export interface QueueCounts {
  /** Jobs that are due. */
  readonly ready: number;
  /** Jobs that are not due yet. */
  readonly delayed: number;
  /** Jobs that were delivered and not ended. Some may be lost already: the next take puts them back. */
  readonly inFlight: number;
  /** Jobs that were delivered as often as they may be. */
  readonly dead: number;
  /** Processes that wait for jobs. */
  readonly waiters: number;
}

/** A job as a list shows it. */
export interface ListedJob {
  readonly id: string;
  /** What was put. */
  readonly payload: Buffer;
  /** How often it was delivered. */
  readonly attempts: number;
  /** When it is due, or was, by the server's clock. */
  readonly due: Date;
  /** When it died, by the server's clock; undefined for a job that waits. */
  readonly deadSince: Date | undefined;
  /** Why its last delivery failed; undefined for a job that waits. */
  readonly reason: string | undefined;
}

const PUT = {
  delayMs: duration,
  at: time,
  id: optional(jobId),
  priority: optional(integer),
} satisfies ReadersOf<PutOptions>;
const JOB = { payload, ...PUT } satisfies ReadersOf<NewJob>;

/** @internal The method of a queue that consumers take with. */
export const TAKEN = Symbol("taken");

/** @internal The method of a queue that makes a delivery of what consumers took. */
export const DELIVERY = Symbol("delivery");

/** @internal A job with the options of a put. */
export function newJob(given: Payload, options: unknown, call: string, about: About): NativeNewJob {
  const checked = payload(given, "payload", about);
  return native(checked, readOptions(options, PUT, call, about));
}

/** @internal A job of several: a payload, or an object with the same options. */
export function oneOfMany(given: Payload | NewJob, about: About): NativeNewJob {
  if (typeof given === "string" || isBytes(given)) return native(payload(given, "payload", about), {});
  if (typeof given !== "object" || (given as unknown) === null || tagOf(given) !== "Object") {
    throw wrongType("a job of jobs", `${PAYLOAD}, or an object such as { payload, delayMs }`, given);
  }
  const { payload: checked, ...rest } = readOptions(given, JOB, "putMany(jobs)", about);
  return native(checked, rest);
}

interface Read {
  readonly delayMs?: number | undefined;
  readonly at?: number | undefined;
  readonly id?: string | undefined;
  readonly priority?: number | undefined;
}

/** An option that is not given has no property: to look for it takes longer than to leave it out. */
function native(payload: Payload, { delayMs, at, id, priority = 0 }: Read): NativeNewJob {
  return {
    payload,
    priority,
    ...(id === undefined ? undefined : { id }),
    ...(delayMs === undefined ? undefined : { delayMs }),
    ...(at === undefined ? undefined : { atMs: at }),
  };
}

const PAYLOAD = "a string or a Uint8Array";

function payload(value: Payload, what: string, { op, object }: About): Payload {
  if (isBytes(value)) return value;
  if (typeof value !== "string") {
    const hint = kindOf(value) === "an object" ? ": give JSON.stringify(value)" : "";
    throw wrongType(what, PAYLOAD, value, hint);
  }
  return wellFormed(value, what, op, object);
}

/** A `Buffer` too, and one of another realm. */
function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value) && tagOf(value) === "Uint8Array";
}

/** @internal The id of a job. Its other rules are the core's. */
export function jobId(value: string, what: string, { op, object }: About): string {
  if (typeof value !== "string") throw wrongType(what, "a string", value);
  return wellFormed(value, what, op, object);
}

function wellFormed(value: string, what: string, op: string, object: string | undefined): string {
  if (value.isWellFormed()) return value;
  throw invalidArgument(op, `${what} has a lone surrogate`, "bytes, or text without lone surrogates", object);
}

function time(value: Date | number | undefined, what: string, { op, object }: About): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number") return milliseconds(value, what, op, object);
  if (tagOf(value) !== "Date") throw wrongType(what, "a Date or a number of milliseconds since 1970", value);
  return milliseconds(Date.prototype.getTime.call(value), what, op, object);
}

/** @internal A list as the port brings it. */
export function listed(jobs: readonly NativeListedJob[]): ListedJob[] {
  return jobs.map(({ id, payload, attempts, dueMs, deadSinceMs, reason }) => ({
    id,
    payload,
    attempts,
    due: new Date(dueMs),
    deadSince: deadSinceMs === undefined || deadSinceMs === null ? undefined : new Date(deadSinceMs),
    reason: reason ?? undefined,
  }));
}
