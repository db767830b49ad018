import { type ReadersOf, integer, optional, readOptions, refuseSurplus } from "./arguments.js";
import type { Client } from "./client.js";
import { objectName, whole } from "./convert.js";
import { refuseElsewhere } from "./elsewhere.js";
import { unwrap } from "./error.js";
import type { Handle } from "./native.js";
import { freeWith, native, submit } from "./port.js";
import { refuseUnbound } from "./unbound.js";

/** How a generator of ids begins, where the server knows nothing yet. */
export interface IdGeneratorOptions {
  /** How many ids a process takes from the server at a time, 1 to 2^53 - 1; 5000 by default. */
  block?: number | undefined;
  /** The first id of all, a whole number from -(2^53 - 1) to 2^53 - 1; 1 by default. */
  start?: number | undefined;
}

const OPEN = { block: optional(integer), start: optional(integer) } satisfies ReadersOf<IdGeneratorOptions>;

/** As Redisson's. */
const BLOCK = 5_000;

/** @internal */
export function openIdGenerator(
  client: Client,
  handle: Handle,
  name: string,
  options: IdGeneratorOptions | undefined,
): IdGenerator {
  const object = objectName(name, "id generator");
  const about = { op: "id generator", object };
  const { block = BLOCK, start = 1 } = readOptions(options, OPEN, "idGenerator(name, options)", about);
  return new IdGenerator(client, object, unwrap(native.idGeneratorOpen(handle, object, block, start)));
}

/**
 * A generator of ids of one name, made by `Client.idGenerator`: numbers that the server counts, each given out once among all
 * processes. A process takes a block of them at a time and hands them out without asking the server; the next block is fetched when a
 * fifth is left. What a process has of a block is lost when its client is closed, when its last generator of the name goes, and when
 * it ends: there are gaps.
 */
export class IdGenerator {
  /** The name, without the client's key prefix. */
  readonly name: string;
  /** The client, which lives as long as its generators. */
  readonly client: Client;
  readonly #handle: Handle;

  /** @internal */
  constructor(client: Client, name: string, handle: Handle) {
    this.client = client;
    this.name = name;
    this.#handle = handle;
    freeWith(this, handle);
  }

  /** How many ids a block has: what the server said with the last one, and the option before the first. No I/O. */
  get blockSize(): number {
    return unwrap(native.idGeneratorBlockSize(this.#handle));
  }

  /**
   * The next id, mostly without asking the server. Rejects with `DLOCK_CONNECTION` when none is left and the server did not answer
   * within `operationTimeoutMs`: the call may be repeated, and never gets an id that somebody else has. With `DLOCK_UNSUPPORTED` when
   * the ids are used up, at 2^63 - 1, and with `DLOCK_WRONG_TYPE` when one of the keys holds something else.
   */
  async nextId(): Promise<bigint> {
    const [id] = (await this.#next(1)) as unknown as readonly [bigint];
    return id;
  }

  /** The next `count` ids, 1 to 1,000,000, in increasing order, not always without gaps. Errors as `nextId`. */
  nextIds(count: number): Promise<BigInt64Array>;
  async nextIds(count: number, ...surplus: unknown[]): Promise<BigInt64Array> {
    refuseSurplus(surplus, "nextIds(count) has one argument");
    return this.#next(whole(count, "count", "next ids", this.name));
  }

  async #next(count: number): Promise<BigInt64Array> {
    return unwrap(await submit<BigInt64Array>(this, (id) => native.idGeneratorNextIds(id, this.#handle, count)));
  }
}

refuseUnbound(IdGenerator, "generator", "ids");

// What sequences, and the generators of Redisson, have, and where it is here.
refuseElsewhere(IdGenerator, "an id generator", {
  next: "await ids.nextId()",
  nextval: "await ids.nextId()",
  incr: "await ids.nextId()",
  tryInit: "client.idGenerator(name, { block, start })",
  block: "ids.blockSize",
  close: "client.close(): with the client goes what is left of the block",
});
