/**
 * What clients count, for prom-client.
 *
 * ```js
 * import { register } from "prom-client";
 * import { collectStats } from "libdlock/prom-client";
 *
 * collectStats(client, { name: "orders" });
 * console.log(await register.metrics());
 * ```
 *
 * @packageDocumentation
 */

import { type Metric, type Registry, register as defaultRegister } from "prom-client";

import { type ReadersOf, readOptions, words } from "./arguments.js";
import { wrongType } from "./convert.js";
import { microtask } from "./loop.js";
import type { Histogram, Stats } from "./stats.js";

/** How the statistics of a client are exported. */
export interface CollectOptions {
  /** The label `client`, which tells the clients of a registry apart: `libdlock` without it. */
  name?: string | undefined;
  /** The registry: prom-client's own without it. */
  register?: Registry | undefined;
}

const COLLECT = {
  name: words,
  register: (value: Registry | undefined, what: string): Registry => {
    const { registerMetric } = Object(value ?? defaultRegister) as Partial<Registry>;
    if (typeof registerMetric !== "function") throw wrongType(what, "a Registry of prom-client", value);
    return value ?? defaultRegister;
  },
} satisfies ReadersOf<CollectOptions>;

/**
 * Exports what a client counts, with the label `client`, and with the label `kind` of what it is about: `lock`, `rate-limiter` and so
 * on, in the words of `dlock serve`. Kinds that the client has not used are left out. Returns a function that ends it: call it
 * when the client is closed. Throws when the registry has a client of that name.
 */
export function collectStats(client: { stats(): Stats }, options?: CollectOptions): () => void {
  const { stats } = Object(client) as Partial<typeof client>;
  if (typeof stats !== "function") throw wrongType("client", "a client that connect() made", client);
  const { name = "libdlock", register } = readOptions(options, COLLECT, "collectStats(client, options)", {
    op: "collectStats",
  });
  const sources = sourcesOf(register);
  if (sources.has(name)) {
    throw new Error(
      `this registry has a client ${JSON.stringify(name)} already: collectStats(client, { name }) takes another`,
    );
  }
  sources.add(name, client);
  return () => {
    sources.delete(name, client);
  };
}

const registries = new WeakMap<Registry, Sources>();

function sourcesOf(register: Registry): Sources {
  let sources = registries.get(register);
  const there: readonly unknown[] = register.getMetricsAsArray();
  // A registry that was cleared meanwhile has no clients any more.
  if (!sources?.metrics.some((metric) => there.includes(metric))) registries.set(register, (sources = new Sources()));
  // It needs no more of a metric than its name, `get` and `reset`.
  for (const metric of sources.metrics) register.registerMetric(metric as unknown as Metric);
  return sources;
}

/** What stands in one block of the statistics, by its kind. */
type Block = Readonly<Record<string, number | Histogram>>;
type Labels = Readonly<Record<string, string | number>>;
interface Value {
  readonly value: number;
  readonly labels: Labels;
  readonly metricName?: string;
}

/** The clients of a registry. */
class Sources {
  readonly #clients = new Map<string, { stats(): Stats }>();
  #seen: readonly [labels: Labels, block: Block][] | undefined;
  readonly metrics: readonly Exported[];

  constructor() {
    const blocks = (): readonly [Labels, Block][] => this.#blocks();
    this.metrics = Object.entries(FIELDS).map(([field, help]) => new Exported(field, help, blocks));
  }

  has(name: string): boolean {
    return this.#clients.has(name);
  }

  add(name: string, client: { stats(): Stats }): void {
    this.#clients.set(name, client);
  }

  delete(name: string, client: { stats(): Stats }): void {
    if (this.#clients.get(name) === client) this.#clients.delete(name);
  }

  /** A registry asks all metrics in turn: they show one instant. */
  #blocks(): readonly [Labels, Block][] {
    if (!this.#seen) {
      this.#seen = [...this.#clients].flatMap(([name, client]) => blocksOf(name, client.stats()));
      microtask(() => (this.#seen = undefined));
    }
    return this.#seen;
  }
}

function blocksOf(client: string, stats: Stats): [Labels, Block][] {
  const { retries, ...kinds } = stats;
  const used = (Object.entries(kinds) as unknown as [Kind, Block][]).filter(([, block]) =>
    Object.values(block).some(isUsed),
  );
  const blocks = used.map(([kind, block]): [Labels, Block] => [{ client, kind: KINDS[kind] }, block]);
  return [[{ client }, { retries }], ...blocks];
}

function isUsed(value: number | Histogram): boolean {
  return (typeof value === "number" ? value : value.count) > 0;
}

/** As a registry asks it. It changes the name for OpenMetrics. */
class Exported {
  name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly aggregator = "sum";
  readonly #field: string;
  readonly #blocks: () => readonly [Labels, Block][];

  constructor(field: string, help: string, blocks: () => readonly [Labels, Block][]) {
    const words = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const isTime = field.endsWith("Time");
    this.type = isTime ? "histogram" : GAUGES.includes(field) ? "gauge" : "counter";
    const unit = { histogram: "_seconds", gauge: "", counter: "_total" }[this.type];
    this.name = `dlock_client_${isTime ? words.replace(/_time$/, "") : words}${unit}`;
    this.help = help;
    this.#field = field;
    this.#blocks = blocks;
  }

  get(): Promise<object> {
    const { name, help, type, aggregator } = this;
    return Promise.resolve({
      name,
      help,
      type,
      aggregator,
      values: this.#blocks().flatMap((block) => this.#values(block)),
    });
  }

  /** `register.resetMetrics()` calls it of each metric: what a client has counted is its own, and goes on. */
  reset(): void {
    return undefined;
  }

  #values([labels, block]: [Labels, Block]): Value[] {
    const value = block[this.#field];
    if (value === undefined) return [];
    return typeof value === "number" ? [{ value, labels }] : histogram(this.name, labels, value);
  }
}

function histogram(name: string, labels: Labels, { buckets, count, sumMs }: Histogram): Value[] {
  let below = 0;
  const values = buckets.map((bucket, at): Value => {
    below += bucket;
    const isLast = at === buckets.length - 1;
    // The first has what took less than 1 us, and each next one is twice as wide.
    return {
      metricName: `${name}_bucket`,
      labels: { ...labels, le: isLast ? "+Inf" : boundOf(2 ** at / 1e6) },
      value: below,
    };
  });
  return [
    ...values,
    { metricName: `${name}_sum`, labels, value: sumMs / 1000 },
    { metricName: `${name}_count`, labels, value: count },
  ];
}

/** As Prometheus itself writes a number, and the clients of other languages do: with an exponent of two digits below 1e-4. */
function boundOf(seconds: number): string {
  return seconds < 1e-4 ? seconds.toExponential().replace(/-(?=\d$)/, "-0") : String(seconds);
}

type Kind = Exclude<keyof Stats, "retries">;

type FieldsOf<Block> = Block extends object ? keyof Block : never;
type Field = "retries" | FieldsOf<Stats[Kind]>;

// <api:metrics> written by `python3 api/write.py` from api/records.json
/** As `dlock serve` says them. */
const KINDS: Readonly<Record<Kind, string>> = {
  lock: "lock",
  limiter: "rate-limiter",
  semaphore: "semaphore",
  rwLock: "rw-lock",
  countingSemaphore: "counting-semaphore",
  latch: "latch",
  worker: "worker",
  queue: "queue",
};

const GAUGES: readonly string[] = ["waiting", "held"] satisfies Field[];

/** What each statistic is, of whatever kind. */
const FIELDS: Readonly<Record<Field, string>> = {
  retries: "Requests sent again because no answer came.",
  acquired: "Grants to a caller.",
  contended: "Grants for which the caller had to wait.",
  handedOverLocal: "Of the grants that were waited for, those that a holder of this process handed over.",
  handedOverRemote: "Of the grants that were waited for, those whose turn came in the queue between processes.",
  waitTimeouts: "Calls that got nothing within their wait.",
  cancelled: "Calls whose caller gave up while it waited.",
  renewals: "Leases prolonged by the watchdog.",
  renewalFailures: "Renewals that got no answer or a passing error, and were tried again.",
  lost: "Holds that were lost.",
  released: "Holds that ended by a release.",
  waiting: "Callers that wait now.",
  held: "Holds that are looked after now.",
  granted: "Calls that got their tokens.",
  refused: "Calls that were refused.",
  tokens: "Tokens that were granted.",
  byPolicy: "Calls that a policy decided while the server was away.",
  countedDown: "Calls that counted a latch down.",
  opened: "Waits that found a latch open.",
  put: "Jobs put.",
  duplicates: "Jobs that were not put because a job of their id was there.",
  full: "Requests to put jobs that were refused because the queue was full.",
  taken: "Jobs delivered to a caller.",
  acked: "Deliveries that were acknowledged.",
  nacked: "Deliveries that were put back.",
  dead: "Deliveries put back whose job is dead.",
  removed: "Jobs that were cancelled, purged, or removed from the dead ones.",
  waitTime: "From a call to its grant.",
  holdTime: "From a grant to the beginning of its end.",
};
// </api:metrics>
