import { type ReadersOf, abortSignal, boolean, optionsAndRun, readOptions } from "./arguments.js";
import type { Client } from "./client.js";
import { objectName, wrongType } from "./convert.js";
import { DlockError } from "./error.js";
import type { RwHeld } from "./rw-held.js";
import { STEALING, type Side } from "./rw-lock.js";
import { refuseUnbound } from "./unbound.js";

/** Shared: beside other shared holds; exclusive: alone. */
export type WebLockMode = "exclusive" | "shared";

/** How a lock is requested, as of `navigator.locks`. */
export interface WebLockOptions {
  /** `"exclusive"` by default. */
  mode?: WebLockMode | undefined;
  /** Whether the callback is called with null if the lock is not to be had at once. */
  ifAvailable?: boolean | undefined;
  /**
   * Whether the lock is taken from whoever holds it, and granted before all that wait. Their requests reject with an `AbortError` while
   * their callbacks go on: only the fencing token keeps what they still write apart.
   */
  steal?: boolean | undefined;
  /** Ends the wait for the lock: the request rejects with its reason. It does nothing once the callback was called. */
  signal?: AbortSignal | undefined;
}

/** What a callback of `request` is given: as of `navigator.locks`, and what a lock among machines has besides. */
export interface WebLock {
  readonly name: string;
  readonly mode: WebLockMode;
  /** The fencing token, which grows with each grant: send it along with each write. */
  readonly token: bigint;
  /** Fires when the lock is lost, such as when the server was away for longer than the lease. */
  readonly signal: AbortSignal;
}

/** A hold or a wait, as `query` tells it. */
export interface WebLockInfo {
  readonly name: string;
  /** Undefined for one that waits in another process: the server does not say which mode it waits for. */
  readonly mode: WebLockMode | undefined;
  /** The id of the client; undefined where the server does not say it, and of a request of this client that waits. */
  readonly clientId: string | undefined;
}

/** What `query` resolves with. */
export interface WebLockSnapshot {
  readonly held: WebLockInfo[];
  readonly pending: WebLockInfo[];
}

type Callback<L, T> = (lock: L) => T | PromiseLike<T>;

function modeOf(value: WebLockMode | undefined, what: string): WebLockMode {
  if (value === undefined) return "exclusive";
  if (["exclusive", "shared"].includes(value)) return value;
  throw wrongType(what, '"exclusive" or "shared"', value);
}

const OPTIONS = {
  mode: modeOf,
  ifAvailable: boolean,
  steal: boolean,
  signal: abortSignal,
} satisfies ReadersOf<WebLockOptions>;
const SIDES: Readonly<Record<WebLockMode, Side>> = { exclusive: "write", shared: "read" };

/** A request of this client, for `query`. */
interface Request {
  readonly name: string;
  readonly mode: WebLockMode;
  readonly steal: boolean;
  /** Whether it waits until the lock is to be had. */
  readonly waits: boolean;
  held?: RwHeld | undefined;
}

/** @internal */
export function openLockManager(client: Client): LockManager {
  return new LockManager(client);
}

/**
 * Locks as browsers have them in `navigator.locks`, among all processes that use the server: `Client.locks`. A lock is the read-write
 * lock of its name.
 */
export class LockManager {
  readonly #client: Client;
  readonly #requests = new Set<Request>();

  /** @internal */
  constructor(client: Client) {
    this.#client = client;
  }

  /**
   * Runs `callback` while the lock is held, until the promise that it returns settles, and resolves or rejects with that.
   *
   * Rejects with an `AbortError` when the lock was taken away from it, and with `DLOCK_LOST` when it was lost otherwise, at once, while
   * the callback may still run; with the reason of `signal` when that fires while it waits; with a `NotSupportedError` for
   * options that contradict each other; with `DLOCK_DEADLOCK` inside of a callback that has the lock; with `DLOCK_CONNECTION` and
   * its kin when the server cannot be asked.
   */
  request<T>(name: string, callback: Callback<WebLock, T>): Promise<T>;
  request<T>(
    name: string,
    options: WebLockOptions & { ifAvailable?: false | undefined },
    callback: Callback<WebLock, T>,
  ): Promise<T>;
  request<T>(name: string, options: WebLockOptions, callback: Callback<WebLock | null, T>): Promise<T>;
  async request<T>(name: string, first: unknown, second?: unknown, ...surplus: unknown[]): Promise<T> {
    const call = "request(name, options, callback)";
    const [given, callback] = optionsAndRun<Callback<WebLock | null, T>>(first, second, surplus, call);
    const about = { op: "request", object: objectName(name, "request") };
    const { mode, ifAvailable = false, steal = false, signal } = readOptions(given, OPTIONS, call, about);
    if (name.startsWith("-")) throw notSupported("names that begin with - are reserved");
    if (steal && mode === "shared") throw notSupported("steal takes the lock from all others: its mode is exclusive");
    if (steal && ifAvailable) throw notSupported("ifAvailable leaves the lock to its holder, and steal takes it");
    if (signal && (steal || ifAvailable)) {
      throw notSupported(`signal ends a wait, and with ${steal ? "steal" : "ifAvailable"} there is none`);
    }
    const request: Request = { name, mode, steal, waits: !ifAvailable && !steal };
    this.#requests.add(request);
    try {
      return await this.#run(request, { waitMs: request.waits ? undefined : 0, signal }, callback);
    } finally {
      this.#requests.delete(request);
    }
  }

  async #run<T>(
    request: Request,
    options: { waitMs: number | undefined; signal: AbortSignal | undefined },
    callback: Callback<WebLock | null, T>,
  ): Promise<T> {
    const { name, mode, steal } = request;
    let lose: (error: unknown) => void = () => undefined;
    const losing = new Promise<never>((_, reject) => (lose = reject));
    const run = (held: RwHeld): T | PromiseLike<T> => {
      request.held = held;
      const { token, signal } = held;
      const lost = () => {
        lose(lossOf(signal.reason));
      };
      // Taken away before anything of it was heard: the request has ended, and no work begins.
      if (signal.aborted) return (lost(), losing);
      signal.addEventListener("abort", lost);
      return callback({ name, mode, token, signal });
    };
    const rwLock = this.#client.rwLock(name);
    const side = steal ? rwLock[STEALING]() : rwLock[SIDES[mode]];
    const running = side.withLock(options, run);
    try {
      return await Promise.race([running, losing]);
    } catch (error) {
      const isBusy = error instanceof DlockError && error.kind === "BUSY";
      if (!isBusy || steal || request.held !== undefined) throw error;
    }
    return callback(null);
  }

  /**
   * Who holds and who waits now, for the locks of these names; without names, for those that this client has or waits for. Of
   * other processes the server says which one has a lock exclusively, how many have it shared, and how many wait.
   * What is said of this client and of others may be of different instants.
   */
  async query(names?: readonly string[]): Promise<WebLockSnapshot> {
    if (names !== undefined && !Array.isArray(names)) throw wrongType("names", "an array of names", names);
    const wanted: readonly string[] = names ?? Array.from(this.#requests, ({ name }) => name);
    const seen = await Promise.all(Array.from(new Set(wanted), (name) => this.#queryOne(name)));
    return { held: seen.flatMap(({ held }) => held), pending: seen.flatMap(({ pending }) => pending) };
  }

  async #queryOne(name: string): Promise<WebLockSnapshot> {
    const { writer, readers, queued } = await this.#client.rwLock(name).inspect();
    const requests = [...this.#requests].filter((request) => request.name === name);
    const holding = requests.filter(({ held }) => held?.valid);
    const waiting = requests.filter(({ held, waits }) => waits && held === undefined);
    const held: WebLockInfo[] = holding.map(({ mode, held }) => ({
      name,
      mode,
      clientId: held && clientOf(held.owner),
    }));
    // Those of one process that share a hold on the server have one token.
    const shared = new Set(holding.filter(({ mode }) => mode === "shared").map(({ held }) => held?.token));
    // One of this client that is no request, of rwLock(name).write, is as good as another's.
    const isRequest = holding.some(({ mode, held }) => mode === "exclusive" && held?.owner === writer);
    if (writer !== undefined && !isRequest) held.push({ name, mode: "exclusive", clientId: clientOf(writer) });
    held.push(...times(readers - shared.size, { name, mode: "shared", clientId: undefined }));
    const pending = waiting.map(({ mode }): WebLockInfo => ({ name, mode, clientId: undefined }));
    // This client stands in the queue once, however many of its requests wait.
    const others = queued - Math.min(1, waiting.length);
    return { held, pending: [...pending, ...times(others, { name, mode: undefined, clientId: undefined })] };
  }
}

refuseUnbound(LockManager, "client", "client.locks");

function times(count: number, info: WebLockInfo): WebLockInfo[] {
  return Array.from({ length: Math.max(0, count) }, () => ({ ...info }));
}

function clientOf(owner: string): string {
  return owner.slice(0, owner.indexOf(":"));
}

function notSupported(why: string): DOMException {
  return new DOMException(`request: ${why}`, "NotSupportedError");
}

/** As of a lock of browsers that was stolen; what else a hold may be lost by is an error of its own. */
function lossOf(reason: unknown): unknown {
  if (!(reason instanceof DlockError) || (reason.lossReason !== "deleted" && reason.lossReason !== "taken"))
    return reason;
  return Object.assign(new DOMException(`${reason.message}: it was taken away`, "AbortError"), { cause: reason });
}
