// How every call reads the object of its options: each option by a reader of its own, and none that the call does not know. An
// option that is ignored is worse than one that is refused: `acquire({ timeout: 100 })` would wait for ever.

import { anyMilliseconds, kindOf, milliseconds, tagOf, text, whole, wrongType } from "./convert.js";

/** What is said about a value that is refused: the operation, and the name of the lock or limiter. */
export interface About {
  readonly op: string;
  readonly object?: string | undefined;
}

/** Checks one option; `what` is its name. */
export type Reader<T> = (value: never, what: string, about: About) => T;

/** The options of one call. */
export type Readers = Readonly<Record<string, Reader<unknown>>>;

/** A reader for each option of a call whose options are described by `O`. */
export type ReadersOf<O> = {
  readonly [K in keyof Required<O>]: (value: O[K], what: string, about: About) => unknown;
};

/** What `readOptions` gives. */
export type Read<R extends Readers> = { readonly [K in keyof R]: ReturnType<R[K]> };

type Known = Reader<unknown> & ((value: unknown, what: string, about: About) => unknown);

/**
 * The options in `given`; `call` is how the user calls the function, as in `acquire(options)`. Undefined is no options, and an
 * option that is undefined is not given. Throws a TypeError for anything but an object, and for an option that `readers` does not
 * have.
 */
export function readOptions<R extends Readers>(given: unknown, readers: R, call: string, about: About): Read<R> {
  if (given !== undefined) checkNames(given, readers, call);
  const options = (given ?? {}) as Record<string, unknown>;
  const read: Record<string, unknown> = {};
  for (const name in readers) read[name] = (readers[name] as Known)(options[name], name, about);
  return read as Read<R>;
}

function checkNames(given: unknown, readers: Readers, call: string): void {
  // A class of the caller's is as good as an object literal. What has a kind of its own, such as a signal, would have no option at
  // all, and so would be taken for options that are not given.
  if (typeof given !== "object" || given === null || tagOf(given) !== "Object") throw noOptions(given, readers, call);
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(readers, name)) throw unknownOption(name, readers, call);
  }
}

function noOptions(given: unknown, readers: Readers, call: string): TypeError {
  const [first = ""] = Object.keys(readers);
  const isNumber = first.endsWith("Ms") || first === "permits";
  const such = typeof given === "number" && isNumber ? `{ ${first}: ${String(given)} }` : `{ ${first} }`;
  return wrongArgument(
    `${call}: options must be an object such as ${such}, not ${kindOf(given)}${whatInstead(given, readers)}`,
  );
}

function whatInstead(given: unknown, readers: Readers): string {
  const tag = tagOf(given);
  if (tag === "Promise") return "; await it first";
  if (!Object.hasOwn(readers, "signal")) return "";
  if (tag === "AbortSignal") return "; give it as { signal }";
  return tag === "AbortController" ? "; give its signal as { signal }" : "";
}

function unknownOption(name: string, readers: Readers, call: string): TypeError {
  const known = Object.keys(readers);
  const meant = MEANT.get(plain(name)) ?? [];
  const alike = known.find((other) => plain(other) === plain(name)) ?? meant.find((other) => known.includes(other));
  const hint = alike === undefined ? (ELSEWHERE.get(plain(name)) ?? ".") : `; did you mean ${alike}?`;
  return wrongArgument(`${call} has no option ${JSON.stringify(name)}${hint} Its options are ${known.join(", ")}`);
}

/** Without what is easily mistaken: case, underscores, the unit. */
function plain(name: string): string {
  return name
    .toLowerCase()
    .replace(/[_-]/g, "")
    .replace(/(ms|s|sec|seconds|millis)$/, "");
}

/** What other libraries call an option, by its plain name. */
const MEANT = new Map<string, readonly string[]>(
  Object.entries({
    timeout: ["waitMs", "connectTimeoutMs"],
    waittimeout: ["waitMs"],
    acquiretimeout: ["waitMs"],
    blocking: ["waitMs"],
    ttl: ["leaseMs"],
    expire: ["leaseMs"],
    duration: ["leaseMs", "perMs"],
    leasetime: ["leaseMs"],
    locktimeout: ["watchdogLeaseMs", "leaseMs"],
    weight: ["permits"],
    count: ["permits"],
    lockwatchdogtimeout: ["watchdogLeaseMs"],
    abortsignal: ["signal"],
    limit: ["tokens"],
    point: ["tokens"],
    interval: ["perMs"],
    period: ["perMs"],
    window: ["perMs"],
    username: ["user"],
    database: ["db"],
    prefix: ["keyPrefix"],
    name: ["clientName"],
    jobid: ["id"],
    attempt: ["maxAttempts"],
    workerid: ["worker"],
    datacenterid: ["datacenter"],
  }),
);

/** What the Web Locks of browsers have as an option, and is a call of its own here. */
const ELSEWHERE = new Map<string, string>(
  Object.entries({
    mode: "; client.locks.request has it, and client.rwLock(name) has withRead(run), which is shared, and withWrite(run), which is exclusive.",
    ifavailable: "; client.locks.request has it, and tryAcquire() resolves with null when it would have to wait.",
    steal: "; client.locks.request has it, and forceRelease() frees a lock whoever holds it.",
  }),
);

/** A call that no argument of it could make sense of. */
export function wrongArgument(message: string): TypeError {
  return Object.assign(new TypeError(message), { code: "ERR_INVALID_ARG_VALUE" });
}

/** Refuses what stands behind a call's last argument, where only undefined may. `says` is the message. */
export function refuseSurplus(surplus: readonly unknown[], says: string): void {
  for (const argument of surplus) if (argument !== undefined) throw wrongArgument(says);
}

/** A function to be run, and the options that may stand before it. */
export function optionsAndRun<Run>(
  first: unknown,
  second: unknown,
  surplus: readonly unknown[],
  call: string,
): [options: unknown, run: Run] {
  refuseSurplus(surplus, `${call} has no argument behind the function`);
  if (typeof first === "function") {
    if (second === undefined) return [undefined, first as Run];
    throw wrongArgument(`${call}: the options stand before the function`);
  }
  if (typeof second !== "function") throw wrongType(`${call}: run`, "a function", second);
  return [first, second as Run];
}

// The readers.

/** Whole milliseconds, if given. */
export function duration(value: number | undefined, what: string, { op, object }: About): number | undefined {
  return anyMilliseconds(value, what, op, object);
}

/** Whole milliseconds, or `"none"`. */
export function durationOrNone(
  value: number | "none" | undefined,
  what: string,
  about: About,
): number | "none" | undefined {
  return value === undefined || value === "none" ? value : milliseconds(value, what, about.op, about.object);
}

/** A whole number. */
export function integer(value: number, what: string, { op, object }: About): number {
  return whole(value, what, op, object);
}

/** A reader of something that need not be given. */
export function optional<T, V>(reader: (value: V, what: string, about: About) => T) {
  return (value: V | undefined, what: string, about: About): T | undefined =>
    value === undefined ? undefined : reader(value, what, about);
}

/** `true` or `false`, if given. */
export function boolean(value: boolean | undefined, what: string): boolean | undefined {
  if (value !== undefined && typeof value !== "boolean") throw wrongType(what, "true or false", value);
  return value;
}

/** A text, if given; no error repeats it. */
export function words(value: string | undefined, what: string, { op }: About): string | undefined {
  return value === undefined ? undefined : text(value, what, op);
}

/** Options in an object of their own, if given. */
export function group<R extends Readers>(readers: R) {
  return (value: unknown, what: string, about: About): Read<R> | undefined => {
    if (value === undefined) return undefined;
    const named = Object.entries(readers).map(([name, reader]): [string, Reader<unknown>] => [
      name,
      (given, _, about) => reader(given, `${what}.${name}`, about),
    ]);
    return readOptions(value, Object.fromEntries(named), `option ${what}`, about) as Read<R>;
  };
}

/** A function, if given. */
export function callback<F>(value: F | undefined, what: string): F | undefined {
  if (value !== undefined && typeof value !== "function") throw wrongType(what, "a function", value);
  return value;
}

/** An `AbortSignal`, if given: of this realm or another. */
export function abortSignal(value: AbortSignal | undefined, what: string): AbortSignal | undefined {
  if (value === undefined) return undefined;
  const { aborted, addEventListener, removeEventListener } = Object(value) as Partial<AbortSignal>;
  const listens = typeof addEventListener === "function" && typeof removeEventListener === "function";
  if (typeof aborted !== "boolean" || !listens) {
    const controller = value instanceof AbortController ? ": give the signal of the AbortController" : "";
    throw wrongType(what, "an AbortSignal", value, controller);
  }
  return value;
}
