import { type About, type ReadersOf, duration, integer, readOptions } from "./arguments.js";
import { text, whole, wrongType } from "./convert.js";
import { invalidArgument, unwrap } from "./error.js";
import { type Generator, type Handle, type Layout, type Parts, binding } from "./native.js";
import { refuseUnbound } from "./unbound.js";

/** The layouts that have a name: libdlock's own, Twitter's, and one whose ids fit a JavaScript number. */
export type LayoutName = "default" | "twitter" | "js53";

/** The bases in which an id can be written. */
export type Base = 10 | 32 | 36 | 58 | 62;

/** Who makes the ids, and how. */
export interface SnowflakeOptions {
  /** The datacenter's number; 0 to 31 in the default layout. */
  datacenter: number;
  /** The worker's number, this process's and no other's; 0 to 31 in the default layout. */
  worker: number;
  /** Which bits hold what; `"default"` without it. */
  layout?: LayoutName | Layout | undefined;
  /** How far ids may run ahead of the clock instead of waiting for the next millisecond; 0 to 10, 0 without it. */
  borrowAheadMs?: number | undefined;
  /** How long the start may wait for a clock that was set back, blocking; up to 60000, 1000 without it. */
  startWaitMs?: number | undefined;
}

const field = (value: number, what: string, { op }: About): number => whole(value, `layout.${what}`, op);
const LAYOUT = {
  epochMs: field,
  timeBits: field,
  datacenterBits: field,
  workerBits: field,
  sequenceBits: field,
} satisfies ReadersOf<Layout>;

const OPEN = {
  datacenter: integer,
  worker: integer,
  layout: checkedLayout,
  borrowAheadMs: duration,
  startWaitMs: duration,
} satisfies ReadersOf<SnowflakeOptions>;

/** What a generator keeps from being collected. */
const kept = new WeakMap<Snowflake, object>();

/** @internal Known to worker numbers only. */
export const LEASED = Symbol("leased");

/** @internal A worker number that is leased. */
export interface Leased {
  /** Of its hold. */
  readonly [LEASED]: Handle;
  /** Lives as long as the generator: the hold's client among it, whose end would end the hold. */
  readonly keeps: object;
  readonly layout: LayoutName | Layout | undefined;
}

/**
 * A generator of ids without a server: 63-bit numbers that grow with time and that no two workers share. Generators of one
 * datacenter and worker in this process, in worker threads too, make no duplicates: state is shared per loaded copy of the
 * library. A process may take over the numbers of one that has ended unless the clock was set back since that predecessor
 * started: then wait that long, or take another number.
 *
 * Where numbers need not be given, lease one: `Client.worker`.
 */
export class Snowflake {
  readonly #generator: Generator;
  readonly #layout: LayoutName | Layout;

  /** Throws `DLOCK_INVALID_ARGUMENT` for numbers that do not fit the layout, `DLOCK_CLOCK` for a time that does not. */
  constructor(options: SnowflakeOptions);
  /** @internal One under a worker number. */
  // eslint-disable-next-line @typescript-eslint/unified-signatures -- the declarations have the first one only
  constructor(options: SnowflakeOptions | Leased);
  constructor(options: SnowflakeOptions | Leased) {
    if (isLeased(options)) {
      this.#layout = checkedLayout(options.layout);
      kept.set(this, options.keeps);
      this.#generator = unwrap(binding.workerSnowflake(options[LEASED], this.#layout));
      return;
    }
    if ((options as unknown) === undefined) throw wrongType("options", "an object with datacenter and worker", options);
    const read = readOptions(options, OPEN, "new Snowflake(options)", { op: "snowflake" });
    const { datacenter, worker, layout, borrowAheadMs = 0, startWaitMs } = read;
    this.#layout = layout;
    this.#generator = unwrap(binding.snowflakeOpen(datacenter, worker, layout, borrowAheadMs, startWaitMs));
  }

  /** The next id. Blocks for less than a millisecond when those of this millisecond are used up. */
  nextId(): bigint {
    return unwrap(this.#generator.nextId());
  }

  /**
   * The next `count` ids in increasing order, 1 to 1,000,000. Blocks as long as the layout makes it take: 1 ms for every
   * 4,096 of the default one.
   */
  nextIds(count: number): BigInt64Array {
    return unwrap(this.#generator.nextIds(whole(count, "count", "next ids")));
  }

  /** Takes an id of this generator's layout apart. */
  decode(id: bigint): Parts {
    return Snowflake.decode(id, this.#layout);
  }

  /** Takes an id of that layout apart; no generator is needed. */
  static decode(id: bigint, layout?: LayoutName | Layout): Parts {
    return unwrap(binding.idDecode(checkedId(id, "decode"), checkedLayout(layout)));
  }

  /** Writes an id as a text. */
  static encode(id: bigint, base: Base): string {
    return unwrap(binding.idEncode(checkedId(id, "encode"), whole(base, "base", "encode")));
  }

  /** Reads what `encode` wrote in the same base. */
  static parse(written: string, base: Base): bigint {
    return unwrap(binding.idParse(text(written, "id", "parse"), whole(base, "base", "parse")));
  }
}

refuseUnbound(Snowflake, "generator", "ids");

function isLeased(options: SnowflakeOptions | Leased): options is Leased {
  return typeof options === "object" && (options as unknown) !== null && LEASED in options;
}

/** An id has 64 bits; what has more does not fit what crosses. */
function checkedId(id: bigint, op: string): bigint {
  if (typeof id !== "bigint") throw wrongType("id", "a bigint", id);
  if (BigInt.asIntN(64, id) !== id) throw invalidArgument(op, `id: ${String(id)} given`, "ids of 63 bits");
  return id;
}

function checkedLayout(layout: LayoutName | Layout = "default"): LayoutName | Layout {
  if (typeof layout === "string") return text(layout, "layout", "layout") as LayoutName;
  if (typeof layout !== "object" || (layout as unknown) === null) {
    throw wrongType("layout", "a name or a layout", layout);
  }
  return readOptions(layout, LAYOUT, "layout", { op: "layout" });
}
