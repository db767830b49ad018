import { once } from "node:events";
import { constants } from "node:os";

import {
  type About,
  type ReadersOf,
  callback,
  duration,
  group,
  integer,
  optional,
  readOptions,
  refuseSurplus,
  wrongArgument,
} from "./arguments.js";
import { wrongType } from "./convert.js";
import { type Delivery, TAKE_AWAY, unended } from "./delivery.js";
import { refuseElsewhere } from "./elsewhere.js";
import { DlockError, cancelled, invalidArgument, isFailure, unwrap } from "./error.js";
import { microtask, pause } from "./loop.js";
import type { Failure } from "./native.js";
import { native } from "./port.js";
import type { Queue } from "./queue.js";
import { DELIVERY, TAKEN } from "./queue-jobs.js";
import { hearSignals } from "./signals.js";
import { warn } from "./warning.js";
import { refuseUnbound } from "./unbound.js";

/** What a consumer calls with each delivery. */
export type Handler = (delivery: Delivery) => unknown;

/**
 * How long a job waits that failed: `baseMs` at most after the first time, twice as long after each further one, `longestMs` at most;
 * by chance up to half of that less, so that jobs that failed together do not come back together.
 */
export interface Backoff {
  /** Whole milliseconds; 1000 by default. With 0 it does not wait. */
  baseMs?: number | undefined;
  /** Whole milliseconds; 300000 by default. */
  longestMs?: number | undefined;
}

/** How jobs are consumed. */
export interface ConsumeOptions {
  /** How many jobs are worked on at a time, 1 to 10000; 1 by default. */
  concurrency?: number | undefined;
  backoff?: Backoff | undefined;
  /** How long `stop` waits for jobs in hand, in whole milliseconds; 10000 by default. What is not done then is put back. */
  graceMs?: number | undefined;
  /**
   * The part of an error that is kept as the reason of its job, which the dead list shows: its `name`, `"type"`, by default; with
   * `"text"` its `message`, too, which may have what not everybody should read.
   */
  reason?: "type" | "text" | undefined;
  /**
   * Told what a handler threw, with the delivery that it threw for; of a delivery whose end was not confirmed, with it; and of a server
   * that could not be asked for jobs, without one. By default these are warnings of the process (`DLOCK_JOB_FAILED`, `DLOCK_CONSUMER`).
   */
  onError?: ((error: unknown, delivery: Delivery | undefined) => void) | undefined;
}

const BACKOFF = { baseMs: duration, longestMs: duration } satisfies ReadersOf<Backoff>;
const CONSUME = {
  concurrency: optional(integer),
  backoff: group(BACKOFF),
  graceMs: duration,
  reason: optional(reasonKind),
  onError: callback<ConsumeOptions["onError"]>,
} satisfies ReadersOf<ConsumeOptions>;
const STOP = { graceMs: duration };
const RUN = { signals: signalNames };

const OP = "consume";
const MOST = 10_000;
/** How long a consumer waits before it asks again a server that it could not ask: at first, and at most. */
const RETRY = [100, 5_000] as const;
const STOPPED = "its consumer stopped";
/** The time that a stop waits for jobs that it puts back: when the server is away, that may take as long as an operation. */
const PUT_BACK_MS = 1_000;

/**
 * Takes jobs of a queue and has a handler do them; made, and started, by `Queue.consume`. A server that cannot be reached does not end it:
 * it asks again, with pauses of up to 5 s. An error that does not pass, such as `DLOCK_NO_PERMISSION` or `DLOCK_CLOSED`, ends it. It keeps
 * the process alive until then.
 *
 * `await using` stops it at the end of a scope.
 */
export class Consumer implements AsyncDisposable {
  readonly queue: Queue;
  readonly #handler: Handler;
  readonly #backoff: readonly [baseMs: number, longestMs: number];
  readonly #graceMs: number;
  readonly #reasonOf: (error: unknown) => string;
  readonly #onError: ConsumeOptions["onError"];
  readonly #stopping = new AbortController();
  readonly #inHand = new Set<Delivery>();
  readonly #loops: Promise<unknown>;
  readonly #over: Promise<boolean>;
  /** What puts back the jobs that were not done within the grace. */
  #takingAway: Promise<unknown> | undefined;
  #isOver: (inTime: boolean) => void = () => undefined;
  #failure: DlockError | undefined;

  /** @internal */
  constructor(queue: Queue, handler: Handler, options: ConsumeOptions | undefined) {
    if (typeof handler !== "function") throw wrongType("handler", "a function", handler);
    const about = { op: OP, object: queue.name };
    const given = readOptions(options, CONSUME, "consume(handler, options)", about);
    const concurrency = given.concurrency ?? 1;
    if (concurrency < 1 || concurrency > MOST) {
      throw invalidArgument(OP, `concurrency: ${String(concurrency)} given`, `1 to ${String(MOST)}`, queue.name);
    }
    const { baseMs = 1_000, longestMs = 300_000 } = given.backoff ?? {};
    unwrap(native.backoffMs(1, baseMs, longestMs));
    this.queue = queue;
    this.#handler = handler;
    this.#backoff = [baseMs, longestMs];
    this.#graceMs = this.#grace(given.graceMs ?? 10_000);
    this.#reasonOf = given.reason === "text" ? textOf : reasonOf;
    this.#onError = given.onError;
    this.#loops = Promise.all(Array.from({ length: concurrency }, () => this.#work()));
    this.#over = new Promise((resolve) => {
      this.#isOver = resolve;
    });
    void this.#loops.then(() => {
      if (this.#takingAway === undefined) this.#isOver(true);
    });
  }

  /** Takes no more jobs, and returns at once; what is in hand goes on. For handlers of jobs, which `stop` would wait for. */
  requestStop(): void {
    this.#stopping.abort();
  }

  /**
   * Takes no more jobs and waits for those in hand, `graceMs` at most, the consumer's own by default. What is not done by then is put
   * back, for another worker, and that delivery counts; its `signal` fires, and what its handler still does goes on. Resolves with
   * whether all were done in time. It waits up to 1 s for the server to have put them back, which goes on after that.
   */
  stop(options?: { graceMs?: number | undefined }): Promise<boolean>;
  async stop(options?: { graceMs?: number | undefined }, ...surplus: unknown[]): Promise<boolean> {
    refuseSurplus(surplus, "stop(options) has one argument");
    const given = readOptions(options, STOP, "stop(options)", { op: OP, object: this.queue.name });
    const graceMs = this.#grace(given.graceMs ?? this.#graceMs);
    this.requestStop();
    const inTime = await comesWithin(this.#loops, graceMs);
    if (!inTime) {
      this.#takingAway ??= Promise.all(Array.from(this.#inHand, (delivery) => this.#takeAway(delivery)));
      await comesWithin(this.#takingAway, PUT_BACK_MS);
    }
    this.#isOver(inTime);
    return inTime;
  }

  #grace(graceMs: number): number {
    if (graceMs >= 0) return graceMs;
    throw invalidArgument(OP, `graceMs: ${String(graceMs)} given`, "0 or more milliseconds", this.queue.name);
  }

  /**
   * Resolves when it has stopped, by `stop` or `requestStop`, with whether all jobs in hand were done in time; rejects with the error
   * that ended it. It stops nothing itself.
   */
  async wait(): Promise<boolean> {
    const inTime = await this.#over;
    if (this.#failure !== undefined) throw this.#failure;
    return inTime;
  }

  /**
   * Stops when the process gets one of `signals`, SIGTERM and SIGINT by default, or `requestStop` is called; then as `wait`. The signals do
   * not end the process meanwhile.
   */
  run(options?: { signals?: readonly NodeJS.Signals[] | undefined }): Promise<boolean>;
  async run(options?: { signals?: readonly NodeJS.Signals[] | undefined }, ...surplus: unknown[]): Promise<boolean> {
    refuseSurplus(surplus, "run(options) has one argument");
    const about = { op: OP, object: this.queue.name };
    const { signals } = readOptions(options, RUN, "run(options)", about);
    const unheard = hearSignals(signals, () => {
      this.requestStop();
    });
    try {
      const stopped = once(this.#stopping.signal, "abort");
      if (!this.#stops()) await stopped;
      await this.stop();
      return await this.wait();
    } finally {
      unheard();
    }
  }

  /** Stops it, and rejects with the error that ended it, if one did. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    if (this.#failure !== undefined) throw this.#failure;
  }

  #stops(): boolean {
    return this.#stopping.signal.aborted;
  }

  /** One job after the other; never rejects. */
  async #work(): Promise<void> {
    let failures = 0;
    // Nobody may stop it, or be called, before the constructor is done.
    await Promise.resolve();
    while (!this.#stops()) {
      const taken = await this.queue[TAKEN]({ waitMs: undefined, signal: this.#stopping.signal });
      if (!isFailure(taken)) {
        failures = 0;
        for (const delivered of taken) await this.#do(this.queue[DELIVERY](delivered));
      } else if (!this.#stops()) {
        failures += 1;
        await this.#away(taken, failures);
      }
    }
  }

  /** No job could be taken. */
  async #away(failure: Failure, failures: number): Promise<void> {
    const error = new DlockError(failure);
    const queue = JSON.stringify(this.queue.name);
    if (!error.retryable) {
      this.#failure ??= error;
      if (error.kind !== "CLOSED")
        this.#tell(error, undefined, "DLOCK_CONSUMER", `the consumer of ${queue} ends: ${error.message}`);
      void this.stop();
      return;
    }
    const ms = unwrap(native.backoffMs(failures, ...RETRY));
    const message = `no job could be taken from queue ${queue}; the next attempt follows in ${String(ms)} ms: ${error.message}`;
    this.#tell(error, undefined, "DLOCK_CONSUMER", message);
    await pause(ms, undefined, { signal: this.#stopping.signal }).catch(() => undefined);
  }

  async #do(delivery: Delivery): Promise<void> {
    this.#inHand.add(delivery);
    try {
      // It came as the consumer was stopped.
      if (this.#stops()) await delivery.giveBack();
      else await this.#handle(delivery);
    } catch (error) {
      this.#tell(error, delivery, "DLOCK_JOB_FAILED", unended(delivery, error));
    } finally {
      this.#inHand.delete(delivery);
    }
  }

  async #handle(delivery: Delivery): Promise<void> {
    try {
      await this.#handler(delivery);
    } catch (error) {
      const { id, attempt, queue } = delivery;
      const which = `job ${JSON.stringify(id)} of queue ${JSON.stringify(queue.name)}`;
      const message = `${which} failed in its delivery ${String(attempt)}: ${reasonOf(error)}`;
      this.#tell(error, delivery, "DLOCK_JOB_FAILED", message);
      if (delivery.ended) return;
      const delayMs = unwrap(native.backoffMs(attempt, ...this.#backoff));
      await delivery.nack({ delayMs, reason: this.#reasonOf(error) });
      return;
    }
    if (!delivery.ended) await delivery.ack();
  }

  /** The grace is over. */
  async #takeAway(delivery: Delivery): Promise<void> {
    const why = cancelled(OP, this.queue.name, `job ${JSON.stringify(delivery.id)} was put back: ${STOPPED}`);
    try {
      await delivery[TAKE_AWAY](STOPPED, why);
    } catch (error) {
      this.#tell(error, delivery, "DLOCK_JOB_FAILED", unended(delivery, error));
    }
  }

  #tell(
    error: unknown,
    delivery: Delivery | undefined,
    code: "DLOCK_JOB_FAILED" | "DLOCK_CONSUMER",
    message: string,
  ): void {
    if (this.#onError === undefined) {
      warn(code, message);
      return;
    }
    try {
      this.#onError(error, delivery);
    } catch (thrown) {
      // The caller's mistake comes up as from any callback, and ends no consumer.
      microtask(() => {
        throw thrown;
      });
    }
  }
}

refuseUnbound(Consumer, "consumer", "consumer");

/** Whether `done` comes within `ms`. */
async function comesWithin(done: Promise<unknown>, ms: number): Promise<boolean> {
  const enough = new AbortController();
  // A timer of Node takes 2^31 - 1 ms at most.
  const late = pause(Math.min(ms, 2 ** 31 - 1), false, { signal: enough.signal }).catch(() => false);
  const inTime = await Promise.race([done.then(() => true), late]);
  enough.abort();
  return inTime;
}

/** Why a job failed: what kind of error it was, whose text may be anything. */
function reasonOf(error: unknown): string {
  const name = error instanceof Error ? error.name : typeof error;
  return typeof name === "string" ? name.toWellFormed() : "Error";
}

/** The same with its text. */
function textOf(error: unknown): string {
  const text: unknown = error instanceof Error ? error.message : error;
  return typeof text === "string" && text !== "" ? `${reasonOf(error)}: ${text.toWellFormed()}` : reasonOf(error);
}

function reasonKind(value: "type" | "text", what: string, about: About): "type" | "text" {
  const given: unknown = value;
  if (given === "type" || given === "text") return given;
  throw invalidArgument(about.op, `${what}: ${String(given)} given`, '"type" or "text"', about.object);
}

function signalNames(value: readonly NodeJS.Signals[] | undefined, what: string): readonly NodeJS.Signals[] {
  if (value === undefined) return ["SIGTERM", "SIGINT"];
  if (!Array.isArray(value)) throw wrongType(what, 'an array such as ["SIGTERM"]', value);
  const names: readonly unknown[] = value;
  const wrong = names.find((name) => typeof name !== "string" || !Object.hasOwn(constants.signals, name));
  if (wrong !== undefined || names.includes(undefined)) throw wrongArgument(`${what}: one of them is no signal's name`);
  return value as readonly NodeJS.Signals[];
}

// What BullMQ's worker has.
refuseElsewhere(Consumer, "a consumer", {
  close: "await consumer.stop(), or stop({ graceMs })",
  pause: "await consumer.stop(); another queue.consume(handler) goes on",
  on: "queue.consume(handler, { onError }) is told what fails",
  waitUntilReady: "it has started when queue.consume(handler) returns",
});
