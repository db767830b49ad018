// From JavaScript's values to the core's. What a value may be is the core's to decide: refused here is only what could not
// be carried to it unchanged.

import { invalidArgument, invalidName } from "./error.js";

export const FOR_EVER = -1;
export const OWN_LEASE = 0;

/** Whole milliseconds. NaN, fractions, infinities, negative and huge numbers do not fit what crosses. */
export function milliseconds(value: number, what: string, op: string, object?: string): number {
  if (typeof value !== "number") throw wrongType(what, "a number of milliseconds", value);
  if (!Number.isSafeInteger(value) || value < 0) {
    const allowed = "allowed are whole milliseconds, 0 or more and below 2^53";
    throw invalidArgument(op, `${what}: ${String(value)} given; ${allowed}`, object);
  }
  return value;
}

/** A lease, where 0 stands for "the lock's own" and so can not be what was given. */
export function leaseMs(value: number | undefined, op: string, object?: string): number {
  if (value === undefined) return OWN_LEASE;
  if (milliseconds(value, "leaseMs", op, object) === 0) {
    throw invalidArgument(op, "leaseMs: 0 given; allowed are 100 to 86400000, or none for one that is renewed", object);
  }
  return value;
}

/** A wait; none is for ever. */
export function waitMs(value: number | undefined, op: string, object?: string): number {
  return value === undefined ? FOR_EVER : milliseconds(value, "waitMs", op, object);
}

/** A whole number. Its range is the core's, unless it does not even fit what crosses. */
export function whole(value: number, what: string, op: string, object?: string): number {
  if (typeof value !== "number") throw wrongType(what, "a number", value);
  if (!Number.isSafeInteger(value)) {
    throw invalidArgument(op, `${what}: ${String(value)} given; allowed are whole numbers below 2^53`, object);
  }
  return value;
}

/** An object's name. A lone surrogate has no UTF-8; its other rules are the core's. */
export function objectName(name: string, op: string): string {
  if (typeof name !== "string") throw wrongType("name", "a string", name);
  if (!name.isWellFormed()) {
    throw invalidName(op, `name ${JSON.stringify(name)} has a lone surrogate; allowed are 1 to 512 bytes of UTF-8`);
  }
  return name;
}

/** A text that may hold a password, so that no error repeats it. */
export function text(value: string, what: string, op: string): string {
  if (typeof value !== "string") throw wrongType(what, "a string", value);
  if (!value.isWellFormed()) throw invalidArgument(op, `${what} has a lone surrogate`);
  return value;
}

/** As Node's own functions say it. */
export function wrongType(what: string, expected: string, value: unknown): TypeError {
  const error = new TypeError(`${what} must be ${expected}, not ${value === null ? "null" : typeof value}`);
  return Object.assign(error, { code: "ERR_INVALID_ARG_TYPE" });
}
