// What `JSON.stringify` makes of the things that libdlock gives: it has no bigint.

/** A bigint as JSON can hold it: a number while that is exact, below 2^53, else a string. */
export function jsonValue(value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : String(value);
}

/** The fields of an object, for its `toJSON`. */
export function jsonFields(object: object): object {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, jsonValue(value)]));
}
