import { types } from "node:util";

import { type ReadersOf, duration, integer, readOptions, refuseSurplus } from "./arguments.js";
import type { Client } from "./client.js";
import { objectName, wrongType } from "./convert.js";
import { refuseElsewhere } from "./elsewhere.js";
import { invalidArgument, unwrap } from "./error.js";
import type { Handle, Item } from "./native.js";
import { freeWith, native, submit } from "./port.js";
import { refuseUnbound } from "./unbound.js";

/** How a Bloom filter is made. */
export interface BloomFilterOptions {
  /** For how many items, 1 to 2^53 - 1: as long as no more were added, false positives stay about the rate. */
  expected: number;
  /** The share of items that were not added and are found all the same, once all those that are expected were. Above 0, below 1. */
  falsePositiveRate: number;
  /** How long the filter lives from its first item on, 1 ms to 100 years; without, it stays until it is cleared. */
  ttlMs?: number | undefined;
}

const OPEN = { expected: integer, falsePositiveRate: rate, ttlMs: duration } satisfies ReadersOf<BloomFilterOptions>;

const OP = "bloom filter";

/** Its range is the core's to check. */
function rate(value: number, what: string): number {
  if (typeof value !== "number") throw wrongType(what, "a number", value);
  return value;
}

/** @internal */
export function openBloomFilter(
  client: Client,
  handle: Handle,
  name: string,
  options: BloomFilterOptions,
): BloomFilter {
  const object = objectName(name, OP);
  const given = readOptions(options, OPEN, "bloomFilter(name, options)", { op: OP, object });
  const { expected, falsePositiveRate, ttlMs } = given;
  return new BloomFilter(
    client,
    object,
    unwrap(native.bloomFilterOpen(handle, object, expected, falsePositiveRate, ttlMs)),
  );
}

/**
 * A Bloom filter of one name, made by `Client.bloomFilter`: Redisson's `RBloomFilter`, bit for bit. It is made on the server when the
 * first item is added. From then on a filter of another size or with other hashes is refused with `DLOCK_WRONG_TYPE`, by a message that
 * shows both, until it is cleared. One that is not on the server contains nothing.
 */
export class BloomFilter {
  /** The name, without the client's key prefix. */
  readonly name: string;
  /** The client, which lives as long as its filters. */
  readonly client: Client;
  readonly #handle: Handle;

  /** @internal */
  constructor(client: Client, name: string, handle: Handle) {
    this.client = client;
    this.name = name;
    this.#handle = handle;
    freeWith(this, handle);
  }

  /** How many bits the filter has: eight times its bytes on the server. No I/O. */
  get size(): number {
    return unwrap(native.bloomFilterSize(this.#handle));
  }

  /** How many bits an item has. No I/O. */
  get hashes(): number {
    return unwrap(native.bloomFilterHashes(this.#handle));
  }

  /**
   * Adds items, strings or bytes, 1,000,000 at most; of each whether it is new. False may be a false positive. One script adds them
   * all, or one for each 16,384 bits; an error may leave a part of them added. Rejects with `DLOCK_OUTCOME_UNKNOWN` when a reply was lost
   * and it is unknown which were new: adding them again adds what is missing. With `DLOCK_WRONG_TYPE` when the filter on the server has
   * another configuration, and when the keys hold something else.
   */
  add(items: Iterable<string | Uint8Array>): Promise<boolean[]>;
  async add(items: Iterable<string | Uint8Array>, ...surplus: unknown[]): Promise<boolean[]> {
    refuseSurplus(surplus, "add(items) has one argument");
    const given = each(items, this.name);
    return unwrap(await submit<boolean[]>(this, (id) => native.bloomFilterAdd(id, this.#handle, given)));
  }

  /**
   * Looks for items; of each whether it was added. True may be a false positive, false is certain. Errors as `add`, but for
   * `DLOCK_OUTCOME_UNKNOWN`.
   */
  contains(items: Iterable<string | Uint8Array>): Promise<boolean[]>;
  async contains(items: Iterable<string | Uint8Array>, ...surplus: unknown[]): Promise<boolean[]> {
    refuseSurplus(surplus, "contains(items) has one argument");
    const given = each(items, this.name);
    return unwrap(await submit<boolean[]>(this, (id) => native.bloomFilterContains(id, this.#handle, given)));
  }

  /**
   * How many different items were added, as the bits that are set let expect; `Number.MAX_SAFE_INTEGER` when all are set. The server
   * counts all bits: 50 ms for a filter of 512 MiB.
   */
  async count(): Promise<number> {
    return unwrap(await submit<number>(this, (id) => native.bloomFilterCount(id, this.#handle)));
  }

  /** The rate of false positives now, from 0 of an empty filter to 1 of a full one. Costs as `count`. */
  async falsePositiveRate(): Promise<number> {
    return unwrap(await submit<number>(this, (id) => native.bloomFilterFalsePositiveRate(id, this.#handle)));
  }

  /** Removes the filter, whatever configuration it has; false when it was not there. */
  async clear(): Promise<boolean> {
    return unwrap(await submit<boolean>(this, (id) => native.bloomFilterClear(id, this.#handle)));
  }
}

refuseUnbound(BloomFilter, "filter", "filter");

/** The items as the native module takes them. */
function each(items: Iterable<Item>, object: string): Item[] {
  const wanted = "an iterable of strings and Uint8Arrays";
  if (typeof items !== "object" || (items as unknown) === null || typeof items[Symbol.iterator] !== "function") {
    throw wrongType("items", wanted, items, typeof items === "string" ? ": give [item]" : "");
  }
  if (ArrayBuffer.isView(items)) throw wrongType("items", wanted, items, ": give [item]");
  const all: Item[] = [];
  for (const item of items) all.push(checked(item, object));
  return all;
}

function checked(item: Item, object: string): Item {
  if (typeof item === "string") {
    if (item.isWellFormed()) return item;
    throw invalidArgument(OP, "an item has a lone surrogate", "bytes, and text without lone surrogates", object);
  }
  // Also one of another realm, such as a Buffer under Jest, and none that only has the prototype.
  if (types.isUint8Array(item)) return item;
  throw wrongType("an item", "a string or a Uint8Array", item);
}

// What Redisson, Redis' own filters, and JavaScript's sets call it.
refuseElsewhere(BloomFilter, "a Bloom filter", {
  tryInit: "client.bloomFilter(name, { expected, falsePositiveRate })",
  has: "await filter.contains([item])",
  exists: "await filter.contains([item])",
  mightContain: "await filter.contains([item])",
  insert: "await filter.add([item])",
  put: "await filter.add([item])",
  delete: "filter.clear(): no single item can be removed",
  expire: "client.bloomFilter(name, { ..., ttlMs })",
});
