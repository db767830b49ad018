import {
  type ReadersOf,
  abortSignal,
  boolean,
  callback,
  duration,
  durationOrNone,
  group,
  integer,
  optional,
  readOptions,
  words,
} from "./arguments.js";
import { isFailure } from "./error.js";
import type { Answer, LogEvent } from "./native.js";

// <api:groups> written by `python3 api/write.py` from api/options.json
/** What holds for every lock of the client. */
export interface LockDefaults {
  /**
   * How long a token key outlives its last use; `"none"` for fleets that run Redisson's fenced lock. 1000 to
   * 31622400000; 3600000 by default.
   */
  tokenTtlMs?: number | "none" | undefined;
  /** Whether a hold may be entered again. True by default. */
  reentrant?: boolean | undefined;
  /**
   * Whether each release goes to the queue head, so that waiters of the same process have no advantage. False by
   * default.
   */
  strictFifo?: boolean | undefined;
  /**
   * How many holders in a row, the first included, a process may have by handing a lock, or the permits of one grant,
   * over within itself before other processes get their turn; 1 turns that off. 1 to 1024; 32 by default.
   */
  cohortMax?: number | undefined;
  /**
   * How long after the server's grant a process may hand a lock or permits over within itself before other processes
   * get their turn. 1 to 10000; 1 by default.
   */
  cohortAgeMs?: number | undefined;
}
// </api:groups>

/**
 * Options of `connect`, on top of what the URL says. Durations are whole milliseconds. Defaults and limits are the core's,
 * the same in every language.
 */
export interface ConnectOptions {
  // <api:options> written by `python3 api/write.py` from api/options.json
  /** TCP connect, handshake and login together. 1 to 86400000; 5000 by default. */
  connectTimeoutMs?: number | undefined;
  /**
   * How long `connect` keeps trying while the server is not up yet; a wrong password ends it at once. 0 to 86400000; 0
   * by default.
   */
  connectWaitMs?: number | undefined;
  /**
   * Whether `connect` returns at once and connects in the background: a program then starts while its server is away,
   * and calls fail, or wait for the server as long as they may, until it is there. A wrong password is told by the
   * calls and the log. False by default.
   */
  lazyConnect?: boolean | undefined;
  /** One attempt at one request. 1 to 86400000; 1000 by default. */
  responseTimeoutMs?: number | undefined;
  /**
   * A call that does not wait, such as `tryAcquire` and `release`, including its retries; also an unbounded wait while
   * the server does not answer. 1 to 86400000; 10000 by default.
   */
  operationTimeoutMs?: number | undefined;
  /**
   * The lease that the watchdog renews every third of it, for objects opened without `watchdogLeaseMs`. 100 to
   * 86400000; 30000 by default.
   */
  leaseMs?: number | undefined;
  /**
   * The margin of a fixed lease in percent: how much the clocks of client and server may differ in rate. A time daemon
   * slews a clock by up to 8.3 %. 0 to 50; 1 by default.
   */
  clockDrift?: number | undefined;
  /**
   * How often the first two waiters of the queue ask by themselves, in case a message is lost; capped at 2 s. 20 to
   * 3600000; 1000 by default.
   */
  pollIntervalMs?: number | undefined;
  /** How often the waiters behind the first two ask by themselves. 20 to 3600000; 5000 by default. */
  queuePollIntervalMs?: number | undefined;
  /** How long a connection may be idle before the client tests it. 100 to 3600000; 5000 by default. */
  pingIntervalMs?: number | undefined;
  /** As `lock.tokenTtlMs`. */
  tokenTtlMs?: number | "none" | undefined;
  /** As `lock.reentrant`. */
  reentrant?: boolean | undefined;
  /** As `lock.strictFifo`. */
  strictFifo?: boolean | undefined;
  /** As `lock.cohortMax`. */
  cohortMax?: number | undefined;
  /** As `lock.cohortAgeMs`. */
  cohortAgeMs?: number | undefined;
  /** For blocking calls, which Node does not have. 0 to 64; 4 by default. */
  blockingConnections?: number | undefined;
  /**
   * How many replicas must have a grant before it counts; a grant that fewer have is released, and the error says how
   * many had it. 0 to 16; 0 by default.
   */
  replicas?: number | undefined;
  /** How long a grant waits for its replicas. 1 to 10000; 1000 by default. */
  replicaTimeoutMs?: number | undefined;
  /** Worker threads of libdlock; the first client of the process decides. 1 to 64; 1 by default. */
  runtimeThreads?: number | undefined;
  /** Put before every name, as Redisson's NameMapper does. */
  keyPrefix?: string | undefined;
  /** The user that logs in. */
  user?: string | undefined;
  /** The password of the login; no error and no log shows it. */
  password?: string | undefined;
  /** The environment variable with the password, read again for each connection; not in a URL. */
  passwordEnv?: string | undefined;
  /** The file with the password, read again for each connection; not in a URL. */
  passwordFile?: string | undefined;
  /** The user that logs in to the sentinels. */
  sentinelUser?: string | undefined;
  /** The password of the login to the sentinels; `password` is only for the servers. */
  sentinelPassword?: string | undefined;
  /** The environment variable with the password for the sentinels, read again for each connection; not in a URL. */
  sentinelPasswordEnv?: string | undefined;
  /** The file with the password for the sentinels, read again for each connection; not in a URL. */
  sentinelPasswordFile?: string | undefined;
  /** Number of the database. 0 to 65535; 0 by default. */
  db?: number | undefined;
  /**
   * File with the certificates (PEM) of the authorities that may have signed the server's, in place of the system's;
   * read again for each connection.
   */
  tlsCaFile?: string | undefined;
  /**
   * File with the client's certificate, and those between it and its authority (PEM); read again for each connection.
   */
  tlsCertFile?: string | undefined;
  /** File with the private key of that certificate (PEM, no passphrase); read again for each connection. */
  tlsKeyFile?: string | undefined;
  /** The name or IP address that the server's certificate has to be for, if that is not the host of the URL. */
  tlsServerName?: string | undefined;
  /**
   * Whether any certificate will do: then whoever is on the way to the server can read and change everything, the
   * password included. False by default.
   */
  tlsDangerAcceptAnyCertificate?: boolean | undefined;
  /**
   * With several servers (`redis+quorum`): the longest lease of any client; a server that has restarted counts when it
   * has passed. The same for all clients. 100 to 86400000; 60000 by default.
   */
  longestLeaseMs?: number | undefined;
  /**
   * With several servers (`redis+quorum`): whether they keep every write over a restart (`appendfsync always`), so
   * that each counts at once. False by default.
   */
  dataSurvives?: boolean | undefined;
  /** As the server's `CLIENT LIST` shows it. Printable ASCII without spaces; `libdlock-<version>` by default. */
  clientName?: string | undefined;
  /** What holds for every lock of the client. */
  lock?: LockDefaults | undefined;
  // </api:options>
  /** Ends the attempt: the promise rejects with the signal's reason, and no connection is left. */
  signal?: AbortSignal | undefined;
  /** Told what happens in the background: a connection lost, a hold lost, a renewal that is late. */
  onEvent?: ((event: LogEvent) => void) | undefined;
}

// The options that JavaScript does not pass on: what they are is its own affair.
const OWN = { signal: abortSignal, onEvent: callback<ConnectOptions["onEvent"]> };

// <api:readers> written by `python3 api/write.py` from api/options.json
const CORE = {
  connectTimeoutMs: duration,
  connectWaitMs: duration,
  lazyConnect: boolean,
  responseTimeoutMs: duration,
  operationTimeoutMs: duration,
  leaseMs: duration,
  clockDrift: optional(integer),
  pollIntervalMs: duration,
  queuePollIntervalMs: duration,
  pingIntervalMs: duration,
  tokenTtlMs: durationOrNone,
  reentrant: boolean,
  strictFifo: boolean,
  cohortMax: optional(integer),
  cohortAgeMs: duration,
  blockingConnections: optional(integer),
  replicas: optional(integer),
  replicaTimeoutMs: duration,
  runtimeThreads: optional(integer),
  keyPrefix: words,
  user: words,
  password: words,
  passwordEnv: words,
  passwordFile: words,
  sentinelUser: words,
  sentinelPassword: words,
  sentinelPasswordEnv: words,
  sentinelPasswordFile: words,
  db: optional(integer),
  tlsCaFile: words,
  tlsCertFile: words,
  tlsKeyFile: words,
  tlsServerName: words,
  tlsDangerAcceptAnyCertificate: boolean,
  longestLeaseMs: duration,
  dataSurvives: boolean,
  clientName: words,
  lock: group({
    tokenTtlMs: durationOrNone,
    reentrant: boolean,
    strictFifo: boolean,
    cohortMax: optional(integer),
    cohortAgeMs: duration,
  }),
};
// </api:readers>

const CONNECT = { ...CORE, ...OWN } satisfies ReadersOf<ConnectOptions>;

/** Options as the texts that the core parses, and what JavaScript keeps to itself. */
export interface Connect {
  readonly texts: [string, string][];
  readonly signal: AbortSignal | undefined;
  readonly onEvent: ((event: LogEvent) => void) | undefined;
  /** Names an option that the core refuses as it was given here. */
  readonly inOwnWords: <T>(answer: Answer<T>) => Answer<T>;
}

/** Reads what `connect` was given. */
export function connectOptions(given: unknown): Connect {
  const { signal, onEvent, ...forCore } = readOptions(given, CONNECT, "connect(url, options)", { op: "connect" });
  const entries = Object.entries(forCore)
    .flatMap(inItsGroup)
    .filter(([, value]) => value !== undefined);
  const texts = entries.map(([name, value]): [string, string] => [coreName(name), coreText(name, value)]);
  const inOwnWords = <T>(answer: Answer<T>): Answer<T> => {
    if (!isFailure(answer) || answer.kind !== "INVALID_ARGUMENT") return answer;
    // One that stands in the URL keeps the name that it has there.
    const own = (core: string): string => entries.find(([name]) => coreName(name) === core)?.[0] ?? core;
    const message = answer.message.replace(/(?<=^[^"]*\b(?:option|also given as) )[a-z_.]+(?=[:;] )/g, own);
    return { ...answer, message };
  };
  return { texts, signal, onEvent, inOwnWords };
}

/** The options of a group, under the group's name and theirs. */
function inItsGroup([name, value]: [string, unknown]): [string, unknown][] {
  if (typeof value !== "object" || value === null) return [[name, value]];
  return Object.entries(value).map(([member, of]) => [`${name}.${member}`, of]);
}

function coreName(name: string): string {
  return name.replace(/Ms$/, "").replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

function coreText(name: string, value: unknown): string {
  return typeof value === "number" && name.endsWith("Ms") ? `${String(value)}ms` : String(value);
}
