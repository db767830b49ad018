import {
  type Read,
  type ReadersOf,
  abortSignal,
  duration,
  integer,
  optional,
  readOptions,
  refuseSurplus,
} from "./arguments.js";
import type { Client } from "./client.js";
import { type ConsumeOptions, Consumer, type Handler } from "./consumer.js";
import { objectName, whole, wrongType } from "./convert.js";
import { ACK_EACH, Delivery } from "./delivery.js";
import { refuseElsewhere } from "./elsewhere.js";
import { unwrap } from "./error.js";
import type { Answer, Handle, NativeDelivered, NativeListedJob } from "./native.js";
import { discard, freeWith, native, submit, unlessAborted } from "./port.js";
import {
  type ListedJob,
  type NewJob,
  type Payload,
  type Put,
  type PutOptions,
  type QueueCounts,
  DELIVERY,
  TAKEN,
  jobId,
  listed,
  newJob,
  oneOfMany,
} from "./queue-jobs.js";
import { refuseUnbound } from "./unbound.js";

/** How a queue is opened. The options are this object's own, not the queue's on the server. */
export interface QueueOptions {
  /** A lease of whole milliseconds, 100 to 86400000, that nothing renews: a job whose worker takes longer comes again. */
  leaseMs?: number | undefined;
  /** The lease that is renewed, every third of it; without one the client's `leaseMs`. Not together with `leaseMs`. */
  watchdogLeaseMs?: number | undefined;
  /** How often a job that is put through this object is delivered until it is dead: 1 to 1000000, 16 by default. */
  maxAttempts?: number | undefined;
  /** The largest payload in bytes, up to 2097152; 1048576 by default. */
  maxPayload?: number | undefined;
  /** A put that would make the queue hold more jobs than that, dead ones among them, is `DLOCK_FULL`; 0, the default, is any number. */
  maxLength?: number | undefined;
}

/** How a job is waited for. */
export interface TakeOptions {
  /** How long to wait, in whole milliseconds below 2^53; 0 does not wait, none is for ever. */
  waitMs?: number | undefined;
  /** Ends the wait: the promise rejects with the signal's reason, and no job is taken. */
  signal?: AbortSignal | undefined;
}

const OPEN = {
  leaseMs: duration,
  watchdogLeaseMs: duration,
  maxAttempts: optional(integer),
  maxPayload: optional(integer),
  maxLength: optional(integer),
} satisfies ReadersOf<QueueOptions>;
const TAKE = { waitMs: duration, signal: abortSignal } satisfies ReadersOf<TakeOptions>;
const UNTIL = { signal: abortSignal };

const PUT_OP = "put";
const TAKE_OP = "take";
const LIST_OP = "list";
/** How many jobs a list shows. */
const LISTED = 100;

/** @internal */
export function openQueue(client: Client, handle: Handle, name: string, options: QueueOptions | undefined): Queue {
  const op = "queue";
  const object = objectName(name, op);
  const given = readOptions(options, OPEN, "queue(name, options)", { op, object });
  const { leaseMs, watchdogLeaseMs, maxAttempts, maxPayload, maxLength } = given;
  const opened = native.queueOpen(handle, object, leaseMs, watchdogLeaseMs, maxAttempts, maxPayload, maxLength);
  return new Queue(client, object, unwrap(opened));
}

/** Known to this module only: no method of a user. */
const HANDLE = Symbol("handle");

/**
 * A delayed queue of one name, made by `Client.queue`. A job is bytes. It waits until it is due and is delivered at least once: a job
 * whose worker dies comes again. Jobs that are due come by priority, the
 * higher first, and then by due time.
 *
 * ```js
 * const mails = client.queue("mails");
 * await mails.put("to: ada");
 * await mails.put("to: bob", { delayMs: 60_000, id: "bob-1" });
 *
 * const consumer = mails.consume(async (delivery) => send(delivery.payload.toString()), { concurrency: 8 });
 * await consumer.run(); // until SIGTERM or SIGINT
 * ```
 */
export class Queue implements AsyncIterable<Delivery> {
  /** The name, without the client's key prefix. */
  readonly name: string;
  /** The client, which lives as long as its queues. */
  readonly client: Client;
  readonly #handle: Handle;
  /** The queues from which it takes when it has no job that is due. */
  #then: readonly Queue[] = [];

  /** @internal */
  constructor(client: Client, name: string, handle: Handle) {
    this.client = client;
    this.name = name;
    this.#handle = handle;
    freeWith(this, handle);
  }

  /**
   * The same queue, whose takes and consumers go on to `other` when no job of this queue is due: so an urgent job is taken before all usual
   * ones. A take asks one queue after the other, and waits for all when none has a job that is due; `delivery.queue` is the one that a job is
   * of. Puts, counts and lists are of this queue alone. No I/O.
   *
   * ```js
   * const consumer = urgent.followedBy(usual).consume(send);
   * ```
   *
   * Throws `DLOCK_INVALID_ARGUMENT` for a queue of another client.
   */
  followedBy(other: Queue): Queue {
    if (!(other instanceof Queue)) throw wrongType("other", "a queue", other);
    const both = new Queue(this.client, this.name, unwrap(native.queueFollowedBy(this.#handle, other.#handle)));
    both.#then = [...this.#then, other, ...other.#then];
    return both;
  }

  /**
   * Puts a job, a string or bytes, and resolves with its id and whether it is new. A put with an `id` may be repeated: a job is put
   * once.
   *
   * Rejects with `DLOCK_INVALID_ARGUMENT` for a value out of range, with `DLOCK_FULL` when the queue has `maxLength` jobs, with
   * `DLOCK_CONNECTION` when the server was not reached, and nothing was put. With `DLOCK_OUTCOME_UNKNOWN` when it is not known what
   * became of it: without an id after one lost reply, with one when no repeat was answered.
   */
  put(payload: Payload, options?: PutOptions): Promise<Put>;
  async put(payload: Payload, options?: PutOptions, ...surplus: unknown[]): Promise<Put> {
    refuseSurplus(surplus, "put(payload, options) has two arguments: delayMs, at, id and priority stand in one object");
    const job = newJob(payload, options, "put(payload, options)", { op: PUT_OP, object: this.name });
    const [put] = unwrap(await submit<[Put]>(this, (id) => native.queuePut(id, this.#handle, job)));
    return put;
  }

  /**
   * Puts jobs, in their order: payloads, or objects with a `payload` and the options of `put`. Up to 100, and 1 MiB, go in one
   * request, which puts all of its jobs or none. Rejects as `put`; what earlier requests put stays.
   */
  putMany(jobs: Iterable<Payload | NewJob>): Promise<Put[]>;
  async putMany(jobs: Iterable<Payload | NewJob>, ...surplus: unknown[]): Promise<Put[]> {
    refuseSurplus(
      surplus,
      "putMany(jobs) has one argument: { payload, delayMs, at, id, priority } is a job with options",
    );
    if (
      typeof jobs !== "object" ||
      (jobs as unknown) === null ||
      ArrayBuffer.isView(jobs) ||
      !(Symbol.iterator in jobs)
    ) {
      throw wrongType("jobs", "an iterable of jobs", jobs, ": give [job]");
    }
    const about = { op: PUT_OP, object: this.name };
    const given = Array.from(jobs, (job) => oneOfMany(job, about));
    return unwrap(await submit<Put[]>(this, (id) => native.queuePutMany(id, this.#handle, given)));
  }

  /**
   * Takes the first job that is due; null when there was none within `waitMs`. Takers of all processes are served in the order of
   * arrival.
   *
   * Rejects with the reason of `signal` when that fires first, with `DLOCK_CONNECTION` and its kin when the server cannot be asked, with
   * `DLOCK_OUTCOME_UNKNOWN` when it was asked and did not answer, with `DLOCK_CLOSED` when the client is closed meanwhile. A job that
   * was delivered all the same goes back, and that delivery does not count.
   */
  take(options?: { waitMs?: undefined; signal?: AbortSignal | undefined }): Promise<Delivery>;
  take(options?: TakeOptions): Promise<Delivery | null>;
  async take(options?: TakeOptions, ...surplus: unknown[]): Promise<Delivery | null> {
    refuseSurplus(surplus, "take(options) has one argument: waitMs and signal stand in one object");
    const wanted = readOptions(options, TAKE, "take(options)", { op: TAKE_OP, object: this.name });
    return this.#first(await this[TAKEN](wanted), wanted.signal);
  }

  /** As `take({ waitMs: 0 })`: null when no job is due, or others wait in front. */
  async tryTake(): Promise<Delivery | null> {
    return this.#first(await this[TAKEN]({ waitMs: 0, signal: undefined }), undefined);
  }

  /** Takes up to `most` jobs, 1 to 100: those that are due now, or the first that is within `waitMs`. Rejects as `take`. */
  takeMany(most: number, options?: TakeOptions): Promise<Delivery[]>;
  async takeMany(most: number, options?: TakeOptions, ...surplus: unknown[]): Promise<Delivery[]> {
    refuseSurplus(surplus, "takeMany(most, options) has two arguments: waitMs and signal stand in one object");
    const count = whole(most, "most", TAKE_OP, this.name);
    const about = { op: TAKE_OP, object: this.name };
    const { waitMs, signal } = readOptions(options, TAKE, "takeMany(most, options)", about);
    const start = (id: number): Answer<Handle> => native.queueTakeMany(id, this.#handle, count, waitMs);
    return this.#delivered(await submit<NativeDelivered[]>(this, start, signal), signal);
  }

  /**
   * The jobs of these deliveries are done: removes them from the queue, by one request for each 100. Resolves, for each, with true, or
   * with false when it was ended before, or was lost: then its job comes again, or has come to another worker, and nothing of that was
   * touched.
   *
   * Rejects with `DLOCK_INVALID_ARGUMENT` when one is of another queue or client, and then all are held as before; else as `ack` of a
   * delivery: the deliveries are over all the same, and their jobs may come again.
   */
  ackMany(deliveries: Iterable<Delivery>): Promise<boolean[]>;
  async ackMany(deliveries: Iterable<Delivery>, ...surplus: unknown[]): Promise<boolean[]> {
    refuseSurplus(surplus, "ackMany(deliveries) has one argument: give [delivery, delivery]");
    if (typeof deliveries !== "object" || (deliveries as unknown) === null || !(Symbol.iterator in deliveries)) {
      throw wrongType("deliveries", "an iterable of deliveries", deliveries, ": give [delivery]");
    }
    const start = (id: number, helds: Handle[]): Answer<Handle> => native.queueAckMany(id, this.#handle, helds);
    return Delivery[ACK_EACH](this, [...deliveries], start);
  }

  /** @internal What a take of one has brought, as the port gives it. */
  [TAKEN]({ waitMs, signal }: Read<typeof TAKE>): Promise<Answer<NativeDelivered[]>> {
    return submit<NativeDelivered[]>(this, (id) => native.queueTake(id, this.#handle, waitMs), signal);
  }

  #first(answer: Answer<NativeDelivered[]>, signal: AbortSignal | undefined): Delivery | null {
    return this.#delivered(answer, signal)[0] ?? null;
  }

  #delivered(answer: Answer<NativeDelivered[]>, signal: AbortSignal | undefined): Delivery[] {
    const giveBack = (unwanted: NativeDelivered[]): void => {
      for (const { held } of unwanted) discard(held, (id) => native.deliveryGiveBack(id, held));
    };
    return unlessAborted(answer, signal, giveBack).map((delivered) => this[DELIVERY](delivered));
  }

  /** @internal What was delivered, as a job of this queue, or of one that follows it. */
  [DELIVERY](delivered: NativeDelivered): Delivery {
    if (this.#then.length === 0) return new Delivery(this, delivered);
    const name = unwrap(native.deliveryQueue(delivered.held));
    const of = name === this.name ? this : this.#then.find((other) => other.name === name);
    return new Delivery(of ?? this, delivered);
  }

  /**
   * The deliveries, one after the other, without end: `for await (const delivery of queue.deliveries({ signal }))`. Each is to be
   * ended. The loop throws what `take` rejects with, the reason of `signal` when that fires.
   */
  deliveries(options?: { signal?: AbortSignal | undefined }): AsyncGenerator<Delivery, void, undefined>;
  deliveries(
    options?: { signal?: AbortSignal | undefined },
    ...surplus: unknown[]
  ): AsyncGenerator<Delivery, void, undefined> {
    refuseSurplus(surplus, "deliveries(options) has one argument");
    const { signal } = readOptions(options, UNTIL, "deliveries(options)", { op: TAKE_OP, object: this.name });
    return this.#each(signal);
  }

  async *#each(signal: AbortSignal | undefined): AsyncGenerator<Delivery, void, undefined> {
    for (;;) yield await this.take({ signal });
  }

  /** As `deliveries()`: `for await (const delivery of queue)`. */
  [Symbol.asyncIterator](): AsyncGenerator<Delivery, void, undefined> {
    return this.deliveries();
  }

  /**
   * Starts a consumer, which calls `handler` with each delivery, `concurrency` at a time. When what it returns has resolved, the job is
   * acknowledged; when it throws or rejects, the job is put back after a back-off, and told to `onError`. A handler may end the delivery
   * itself. It keeps the process alive until it is stopped.
   *
   * Throws `DLOCK_INVALID_ARGUMENT` for an option out of range.
   */
  consume(handler: Handler, options?: ConsumeOptions): Consumer;
  consume(handler: Handler, options?: ConsumeOptions, ...surplus: unknown[]): Consumer {
    refuseSurplus(surplus, "consume(handler, options) has two arguments");
    return new Consumer(this, handler, options);
  }

  /** Removes a job that waits; resolves with false when no job with this id does. `DLOCK_NOT_HELD` when it is being done. */
  async cancel(id: string): Promise<boolean> {
    const job = jobId(id, "id", { op: "cancel", object: this.name });
    return unwrap(await submit<boolean>(this, (op) => native.queueCancel(op, this.#handle, job)));
  }

  /** The first `most` jobs that wait, 1 to 1000, 100 by default, in their order, due or not; fewer where they are 1 MiB together. */
  async peek(most = LISTED): Promise<ListedJob[]> {
    const count = whole(most, "most", LIST_OP, this.name);
    return listed(unwrap(await submit<NativeListedJob[]>(this, (id) => native.queuePeek(id, this.#handle, count))));
  }

  /** How many jobs there are. Costs the same however many that is. */
  async counts(): Promise<QueueCounts> {
    return unwrap(await submit<QueueCounts>(this, (id) => native.queueCounts(id, this.#handle)));
  }

  /** Removes all jobs that wait, due or not; how many. Deliveries go on, and the dead list stays. */
  async purge(): Promise<number> {
    return unwrap(await submit<number>(this, (id) => native.queuePurge(id, this.#handle)));
  }

  /** The dead list: jobs that were delivered as often as they may be. */
  get dead(): DeadJobs {
    return new DeadJobs(this);
  }

  /** @internal */
  get [HANDLE](): Handle {
    return this.#handle;
  }
}

refuseUnbound(Queue, "queue", "queue");

/** The dead list of a queue, made by `Queue.dead`. */
export class DeadJobs {
  readonly queue: Queue;

  /** @internal */
  constructor(queue: Queue) {
    this.queue = queue;
  }

  /** The first `most` dead jobs, 1 to 1000, 100 by default, in the order in which they died; fewer where they are 1 MiB together. */
  async list(most = LISTED): Promise<ListedJob[]> {
    const { queue } = this;
    const count = whole(most, "most", LIST_OP, queue.name);
    return listed(unwrap(await submit<NativeListedJob[]>(queue, (id) => native.queueDead(id, queue[HANDLE], count))));
  }

  /** Has a dead job wait again, due now, as if it had never been delivered; false when none has this id. */
  async requeue(id: string): Promise<boolean> {
    const { queue } = this;
    const job = jobId(id, "id", { op: "requeue", object: queue.name });
    return unwrap(await submit<boolean>(queue, (op) => native.queueRequeueDead(op, queue[HANDLE], job)));
  }

  /** Has all jobs that are dead now wait again; how many. */
  async requeueAll(): Promise<number> {
    const { queue } = this;
    return unwrap(await submit<number>(queue, (id) => native.queueRequeueAllDead(id, queue[HANDLE])));
  }

  /** Removes a dead job; false when none has this id. */
  async remove(id: string): Promise<boolean> {
    const { queue } = this;
    const job = jobId(id, "id", { op: "remove dead", object: queue.name });
    return unwrap(await submit<boolean>(queue, (op) => native.queueRemoveDead(op, queue[HANDLE], job)));
  }

  /** Removes all dead jobs; how many. */
  async purge(): Promise<number> {
    const { queue } = this;
    return unwrap(await submit<number>(queue, (id) => native.queuePurgeDead(id, queue[HANDLE])));
  }
}

refuseUnbound(DeadJobs, "queue", "queue.dead");

// What BullMQ, Bull, bee-queue, SQS and AMQP call it.
const DEAD = "queue.dead has list(), requeue(id), requeueAll(), remove(id) and purge()";
const CONSUME = "queue.consume(handler, { concurrency })";

refuseElsewhere(Queue, "a queue", {
  add: "await queue.put(payload, { delayMs, id, priority }), the payload a string or bytes",
  addBulk: "await queue.putMany(jobs)",
  createJob: "await queue.put(payload)",
  send: "await queue.put(payload)",
  sendMessage: "await queue.put(payload)",
  publish: "await queue.put(payload)",
  enqueue: "await queue.put(payload)",
  push: "await queue.put(payload)",
  pop: "await queue.take()",
  get: "await queue.take({ waitMs })",
  receive: "await queue.take({ waitMs })",
  reserve: "await queue.take({ waitMs })",
  getNextJob: "await queue.take({ waitMs })",
  process: CONSUME,
  on: `${CONSUME}, with onError for what fails`,
  getJobCounts: "await queue.counts()",
  count: "await queue.counts()",
  getWaiting: "await queue.peek()",
  getDelayed: "await queue.peek()",
  getFailed: DEAD,
  retryJobs: DEAD,
  remove: "await queue.cancel(id)",
  removeJob: "await queue.cancel(id)",
  drain: "await queue.purge()",
  obliterate: "await queue.purge(), await queue.dead.purge()",
  clean: "await queue.purge(), await queue.dead.purge()",
  close: "client.close() closes all that is the client's; consumer.stop() stops a consumer",
});
