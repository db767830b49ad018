// From JavaScript's values to the core's. What a value may be is the core's to decide: refused here is only what could not
// be carried to it unchanged.

import { invalidArgument, invalidName } from "./error.js";

/** Whole milliseconds: fractions, NaN and infinities do not fit what crosses. */
export function milliseconds(value: number, what: string, op: string, object?: string): number {
  if (typeof value !== "number") throw wrongType(what, "a number of milliseconds", value);
  return fits(value, value, what, "whole milliseconds below 2^53", op, object);
}

/** The same where none may be given. */
export function anyMilliseconds(
  value: number | undefined,
  what: string,
  op: string,
  object?: string,
): number | undefined {
  return value === undefined ? undefined : milliseconds(value, what, op, object);
}

/**
 * Milliseconds as the microseconds that they are, which have to be whole. The product alone may be beside it: 1000 times
 * 1.001 is no integer.
 */
export function microseconds(value: number, what: string, op: string, object?: string): number {
  if (typeof value !== "number") throw wrongType(what, "a number of milliseconds", value);
  const us = Math.round(value * 1000);
  const allowed = "milliseconds in steps of 0.001, below 2^53 of these";
  return fits(us / 1000 === value ? us : NaN, value, what, allowed, op, object);
}

const WHOLE = "whole numbers below 2^53";

/** A whole number, for the same reason. `allowed` is what is said to be, where that ends at 2^53 for every language. */
export function whole(value: number, what: string, op: string, object?: string, allowed = WHOLE): number {
  if (typeof value !== "number") {
    throw wrongType(what, "a number", value, typeof value === "bigint" ? ": give Number(value)" : "");
  }
  return fits(value, value, what, allowed, op, object);
}

function fits(value: number, given: number, what: string, allowed: string, op: string, object?: string): number {
  if (!Number.isSafeInteger(value)) throw invalidArgument(op, `${what}: ${String(given)} given`, allowed, object);
  return value;
}

/** An object's name. A lone surrogate has no UTF-8; its other rules are the core's. */
export function objectName(name: string, op: string, what = "name"): string {
  if (typeof name !== "string") {
    const hint = op === "lock" && Array.isArray(name) ? ": client.lockAll(names) takes several" : "";
    throw wrongType(what, "a string", name, hint);
  }
  if (!name.isWellFormed()) {
    const lone = `${what} ${JSON.stringify(name)} has a lone surrogate`;
    throw invalidName(op, lone, "1 to 512 bytes of UTF-8 without NUL");
  }
  return name;
}

/** A text that may hold a password, so that no error repeats it. */
export function text(value: string, what: string, op: string): string {
  if (typeof value !== "string") throw wrongType(what, "a string", value);
  if (!value.isWellFormed()) throw invalidArgument(op, `${what} has a lone surrogate`, "text without lone surrogates");
  return value;
}

/** The text of a URL. A `URL` counts whatever realm or package it is from. */
export function urlText(value: string | URL | undefined, what: string, op: string): string {
  const given = typeof value === "object" && tagOf(value) === "URL" ? value.href : value;
  if (typeof given !== "string") throw wrongType(what, "a string or a URL object", value);
  return text(given, what, op);
}

/** As Node's own functions say it. */
export function wrongType(what: string, expected: string, value: unknown, hint = ""): TypeError {
  const error = new TypeError(`${what} must be ${expected}, not ${kindOf(value)}${hint}`);
  return Object.assign(error, { code: "ERR_INVALID_ARG_TYPE" });
}

/** What a value is, and not which: it may be a password. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  if (typeof value !== "object") return `a ${typeof value}`;
  const tag = tagOf(value);
  if (tag === "Object") return "an object";
  // A tag may be any text, and then is not ours to repeat.
  if (!/^[A-Z][A-Za-z0-9]{0,39}$/.test(tag)) return "an object of another kind";
  return `${/^[AEIO]/.test(tag) ? "an" : "a"} ${tag} object`;
}

/** What kind of object a value is, in whatever realm it was made: `"Object"` for literals and for classes without a tag. */
export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice("[object ".length, -1);
}
