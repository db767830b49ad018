import { milliseconds, text, wrongType } from "./convert.js";
import { invalidArgument } from "./error.js";
import type { LogEvent } from "./native.js";

/**
 * Options of `connect`, on top of what the URL says. Durations are whole milliseconds. Defaults and limits are the core's,
 * the same in every language.
 */
export interface ConnectOptions {
  /** TCP, handshake and password together; 5000. */
  connectTimeoutMs?: number | undefined;
  /** One attempt at one request; 1000. */
  responseTimeoutMs?: number | undefined;
  /** A call that does not wait, its retries included; 10000. */
  operationTimeoutMs?: number | undefined;
  /** The lease of locks that give none, renewed every third of it; 30000, from 100 to 86400000. */
  leaseMs?: number | undefined;
  /** How often the first two of the queue look by themselves, should a message be lost; 1000. */
  pollIntervalMs?: number | undefined;
  /** How often those behind them do; 5000. */
  queuePollIntervalMs?: number | undefined;
  /** How long a connection may be idle before it is tried; 5000. */
  pingIntervalMs?: number | undefined;
  /** How long the token's key outlives its last use; 3600000. `"none"` for fleets that run Redisson's fenced lock. */
  tokenTtlMs?: number | "none" | undefined;
  /** Whether a hold may be entered again; true. */
  reentrant?: boolean | undefined;
  /** Whether each release goes to the head of the queue, so that this process's own waiters have no advantage; false. */
  strictFifo?: boolean | undefined;
  /** How often a lock may change hands within the process before others get their turn; 32, 1 is not at all. */
  cohortMax?: number | undefined;
  /** For how long it may; 50. */
  cohortAgeMs?: number | undefined;
  /** The most connections for blocking calls, 0 to 64; 4. Calls of Node do not block and use none. */
  blockingConnections?: number | undefined;
  /** Worker threads of libdlock, 1 to 64; 1. The first client of the process decides. */
  runtimeThreads?: number | undefined;
  /** Put before every name. */
  keyPrefix?: string | undefined;
  user?: string | undefined;
  password?: string | undefined;
  /** The environment variable that has the password. */
  passwordEnv?: string | undefined;
  /** The file that has the password. */
  passwordFile?: string | undefined;
  /** The number of the database; 0. */
  db?: number | undefined;
  /** As the server's `CLIENT LIST` shows it; `libdlock-<version>`. */
  clientName?: string | undefined;
  /** Ends the attempt: the promise rejects with the signal's reason, and no connection is left. */
  signal?: AbortSignal | undefined;
  /** Told what happens in the background: a connection lost, a hold lost, a renewal that is late. */
  onEvent?: ((event: LogEvent) => void) | undefined;
}

// Not the core's: what they are is JavaScript's own affair.
const OWN = ["signal", "onEvent"];

type OptionName = Exclude<keyof ConnectOptions, "signal" | "onEvent">;

const OPTIONS: readonly OptionName[] = [
  "connectTimeoutMs",
  "responseTimeoutMs",
  "operationTimeoutMs",
  "leaseMs",
  "pollIntervalMs",
  "queuePollIntervalMs",
  "pingIntervalMs",
  "tokenTtlMs",
  "reentrant",
  "strictFifo",
  "cohortMax",
  "cohortAgeMs",
  "blockingConnections",
  "runtimeThreads",
  "keyPrefix",
  "user",
  "password",
  "passwordEnv",
  "passwordFile",
  "db",
  "clientName",
];

/** The options as the texts that the core parses. One that is undefined counts as not given. */
export function optionTexts(options: ConnectOptions): [string, string][] {
  return Object.entries(options)
    .filter(([name, value]) => !OWN.includes(name) && value !== undefined)
    .map(([name, value]) => {
      if (!OPTIONS.includes(name as OptionName)) {
        throw invalidArgument("connect", `there is no option ${name}; there are ${[...OPTIONS, ...OWN].join(", ")}`);
      }
      return [coreName(name), optionText(name, value)];
    });
}

function coreName(name: string): string {
  return name.replace(/Ms$/, "").replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}

function optionText(name: string, value: unknown): string {
  if (typeof value === "string") return text(value, `option ${name}`, "connect");
  if (typeof value === "number") {
    return name.endsWith("Ms") ? `${String(milliseconds(value, name, "connect"))}ms` : String(value);
  }
  if (typeof value === "boolean") return String(value);
  throw wrongType(`option ${name}`, "a string, a number or a boolean", value);
}
