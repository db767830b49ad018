import { type ReadersOf, duration, readOptions, refuseSurplus } from "./arguments.js";
import { milliseconds, wrongType } from "./convert.js";
import { refuseElsewhere } from "./elsewhere.js";
import { isFailure, notHeld, unwrap } from "./error.js";
import { HANDLE, Hold } from "./hold.js";
import { jsonValue } from "./json.js";
import type { Handle, Id, LossReason, NativeDelivered, Submitted } from "./native.js";
import { native, submit } from "./port.js";
import type { Queue } from "./queue.js";
import { jobId } from "./queue-jobs.js";
import { warn } from "./warning.js";
import { refuseUnbound } from "./unbound.js";

/** How a job is put back. */
export interface NackOptions {
  /** After how many whole milliseconds it is due again; by default it is at once, and has the place that it had. */
  delayMs?: number | undefined;
  /** Why, of which 1,024 bytes are kept: the dead list shows the last reason. */
  reason?: string | undefined;
}

const NACK = { delayMs: duration, reason: words } satisfies ReadersOf<NackOptions>;

function words(value: string | undefined, what: string, about: { op: string }): string {
  return value === undefined ? "" : jobId(value, what, about);
}

const ADVICE = "Its job goes back: end each delivery with ack() or nack(), or use queue.consume(handler)";

/** Known to consumers only: no method of a user. */
export const TAKE_AWAY = Symbol("take away");

/** Known to queues only. */
export const ACK_EACH = Symbol("ack each");

/**
 * A job that was delivered, made by `Queue.take`. It is this worker's until `ack`, which removes the job, or `nack`, which puts it
 * back; or until its lease ends, which the client renews, and then the job comes again by itself. Reading it costs no I/O.
 *
 * `await using` puts the job back at the end of a scope that has not ended the delivery. One that is collected before it was ended goes
 * back, with a warning.
 */
export class Delivery implements AsyncDisposable {
  readonly queue: Queue;
  /** What was put. */
  readonly payload: Buffer;
  /** The id of the job. */
  readonly id: string;
  /** Which delivery of the job this is, from 1 on. */
  readonly attempt: number;
  /** The priority with which it was put. */
  readonly priority: number;
  /** The fencing token: larger than that of any earlier delivery of this queue, below 2^53. */
  readonly token: bigint;
  readonly #dueMs: number;
  readonly #hold: Hold<Queue>;
  #ended = false;
  /** The answer to what ended it, or may have. */
  #ending: Promise<unknown> | undefined;
  /** Its handle is given back: how it ended. */
  #over: { readonly lossReason: LossReason | undefined } | undefined;
  #gone: AbortController | undefined;

  /** @internal */
  constructor(queue: Queue, { held, token, payload, id, attempt, dueMs, priority }: NativeDelivered) {
    this.queue = queue;
    this.payload = payload;
    this.id = id;
    this.attempt = attempt;
    this.priority = priority;
    this.token = BigInt(token);
    this.#dueMs = dueMs;
    this.#hold = new Hold(queue, [held, token], ADVICE);
  }

  /** When the job was due, by the server's clock. */
  get due(): Date {
    return new Date(this.#dueMs);
  }

  /** Whether `ack`, `nack` or `giveBack` was called. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Whether the job is still this worker's for certain, on this machine's monotonic clock. */
  get valid(): boolean {
    return this.#over === undefined && this.#hold.valid;
  }

  /** Milliseconds for which it stays valid without another renewal, with their fraction; 0 when it is over. */
  get remainingMs(): number {
    return this.#over === undefined ? this.#hold.remainingMs : 0;
  }

  /** Why the delivery was lost; undefined while it is not. */
  get lossReason(): LossReason | undefined {
    return this.#over === undefined ? this.#hold.lossReason : this.#over.lossReason;
  }

  /**
   * Fires when the job is not this worker's any more although it has not ended the delivery: as that of a held lock, with a `DlockError`
   * (`DLOCK_LOST`, with `lossReason`) as its reason; or because its consumer was stopped and the grace is over, with `DLOCK_CANCELLED`.
   * Long work looks at it: the job comes again.
   */
  get signal(): AbortSignal {
    this.#gone ??= this.#watch();
    return this.#gone.signal;
  }

  #watch(): AbortController {
    const controller = new AbortController();
    if (this.#over !== undefined) return controller;
    const { signal } = this.#hold;
    const lost = (): void => {
      controller.abort(signal.reason);
    };
    if (signal.aborted) lost();
    else signal.addEventListener("abort", lost, { once: true });
    return controller;
  }

  /**
   * The job is done: removes it from the queue. It works on a server that is full.
   *
   * Rejects with `DLOCK_NOT_HELD` when the delivery was ended before, or was lost: then the job comes again, or has come to another worker,
   * and nothing of that was touched. With `DLOCK_OUTCOME_UNKNOWN` or `DLOCK_CONNECTION` when no reply came within `operationTimeoutMs`:
   * the delivery is over all the same, and the job may come again.
   */
  async ack(): Promise<void> {
    await this.#end("ack", (id) => native.deliveryAck(id, this.#hold[HANDLE]));
  }

  /**
   * The job is not done: puts it back. When it was delivered as often as it may be it is dead. Rejects as `ack`; with
   * `DLOCK_INVALID_ARGUMENT` for the delay, and then it is held as before.
   */
  nack(options?: NackOptions): Promise<void>;
  async nack(options?: NackOptions, ...surplus: unknown[]): Promise<void> {
    refuseSurplus(surplus, "nack(options) has one argument: delayMs and reason stand in one object");
    const about = { op: "nack", object: this.queue.name };
    const { delayMs, reason } = readOptions(options, NACK, "nack(options)", about);
    await this.#end("nack", (id) => native.deliveryNack(id, this.#hold[HANDLE], reason, delayMs));
  }

  /** Puts back a job that was not begun, at its place; the delivery does not count. Rejects as `ack`. */
  async giveBack(): Promise<void> {
    await this.#end("give back", (id) => native.deliveryGiveBack(id, this.#hold[HANDLE]));
  }

  /** Makes the lease last `leaseMs` from now, or as long as it did if that is longer. `DLOCK_NOT_HELD` when it is over. */
  async extend(leaseMs: number): Promise<void> {
    milliseconds(leaseMs, "leaseMs", "extend", this.queue.name);
    if (this.#over !== undefined) throw notHeld("extend", this.queue.name, OVER);
    await this.#hold.extend(leaseMs);
  }

  async #end(op: string, start: (id: Id) => Submitted): Promise<void> {
    if (this.#over !== undefined) throw notHeld(op, this.queue.name, OVER);
    this.#ended = true;
    const ending = submit(this, start);
    this.#ending = ending;
    const answer = await ending;
    if (!isFailure(answer) || answer.kind === "NOT_HELD") this.#giveUp();
    else if (answer.kind === "INVALID_ARGUMENT") this.#ended = false;
    unwrap(answer);
  }

  /** @internal As `ack` of each, by what `start` asks for. */
  static async [ACK_EACH](
    queue: Queue,
    deliveries: Delivery[],
    start: (id: Id, helds: Handle[]) => Submitted,
  ): Promise<boolean[]> {
    for (const delivery of deliveries) {
      if (!(delivery instanceof Delivery)) throw wrongType("a delivery to acknowledge", "a Delivery", delivery);
    }
    const over = deliveries.map((delivery) => delivery.#over !== undefined);
    const asked = deliveries.filter((_, at) => over[at] !== true);
    const before = asked.map((delivery) => delivery.#ended);
    const ending = submit<boolean[]>(queue, (id) =>
      start(
        id,
        asked.map((delivery) => delivery.#hold[HANDLE]),
      ),
    );
    for (const delivery of asked) {
      delivery.#ended = true;
      delivery.#ending = ending;
    }
    const answer = await ending;
    asked.forEach((delivery, at) => {
      if (!isFailure(answer)) delivery.#giveUp();
      else if (answer.kind === "INVALID_ARGUMENT") delivery.#ended = before[at] === true;
    });
    const flags = unwrap(answer).values();
    return over.map((was) => !was && flags.next().value === true);
  }

  /** The core has a copy of the payload as long as the handle lives, which nobody needs any more. */
  #giveUp(): void {
    if (this.#over !== undefined) return;
    this.#over = { lossReason: this.#hold.lossReason };
    native.free(this.#hold[HANDLE]);
  }

  /** @internal Its consumer has stopped before it was done: puts it back, and tells whoever works on it. Waits for an end under way. */
  async [TAKE_AWAY](reason: string, why: unknown): Promise<void> {
    if (this.#ended) {
      await this.#ending;
      return;
    }
    this.#gone ??= new AbortController();
    this.#gone.abort(why);
    await this.nack({ reason });
  }

  /** What `JSON.stringify` writes, as it is now; the payload is not in it. */
  toJSON(): Record<string, unknown> {
    const { id, attempt, due, priority, valid, remainingMs, lossReason } = this;
    const token = jsonValue(this.token);
    return { name: this.queue.name, id, attempt, due, priority, token, valid, remainingMs, lossReason };
  }

  /**
   * Puts the job back, unless the delivery was ended before. It never rejects: a job that cannot be put back comes again when its lease is
   * over.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#ended) return;
    try {
      await this.nack();
    } catch (error) {
      // A job that was lost is back already.
      if (this.lossReason === undefined) warn("DLOCK_RELEASE_FAILED", unended(this, error));
    }
  }
}

refuseUnbound(Delivery, "delivery", "delivery");

const OVER = "the delivery was ended before, or was lost";

/** @internal Of a delivery whose end was not confirmed. */
export function unended({ id, queue }: Delivery, error: unknown): string {
  const why = error instanceof Error ? error.message : String(error);
  const which = `the delivery of job ${JSON.stringify(id)} of queue ${JSON.stringify(queue.name)}`;
  return `${which} could not be ended, and the job may come again: ${why}`;
}

// What BullMQ, Bull, SQS and AMQP call it.
refuseElsewhere(Delivery, "a delivery", {
  moveToCompleted: "await delivery.ack()",
  moveToFailed: "await delivery.nack({ reason })",
  moveToDelayed: "await delivery.nack({ delayMs })",
  retry: "await delivery.nack({ delayMs })",
  reject: "await delivery.nack({ delayMs })",
  release: "await delivery.nack({ delayMs })",
  done: "await delivery.ack()",
  complete: "await delivery.ack()",
  deleteMessage: "await delivery.ack()",
  remove: "await delivery.ack()",
  extendLock: "await delivery.extend(leaseMs)",
  updateProgress: "its lease is renewed as long as the process lives",
});
