// Operations on their way. Each has an id; the native side brings finished ones in batches, one wake-up for all that have
// come since the last. It calls `drain` on this loop and never in the middle of other JavaScript, so an operation is in the
// table before its completion can be.

import { onAbort, reasonOf } from "./abort.js";
import { isFailure, unwrap } from "./error.js";
import { atNextTurn, microtask, nextTick } from "./loop.js";
import {
  type Answer,
  Environment,
  type Handle,
  type Id,
  type LogEvent,
  type NativeEvent,
  ROW,
  type Submitted,
  Tag,
} from "./native.js";

/** A new hold: its handle and its token. */
export type Grant = readonly [handle: Handle, token: number];

/** Gets what an operation brings, or why it brings nothing. */
export type Settle = (answer: unknown) => void;

interface Operation {
  /** The object that the operation is about: not collected, and so its handle not given back, before the end. */
  readonly about: unknown;
  readonly settle: Settle;
  /** Whether the process stays alive for it. */
  readonly awaited: boolean;
}

/** Receives a client's events. */
export interface EventTarget {
  onEvent(event: LogEvent): void;
}

// By id. One whose operation has ended is given to another.
const operations: (Operation | undefined)[] = [];
const freeIds: Id[] = [];
// Weak, because a client lives no longer than its program refers to it.
const eventTargets = new Map<Id, WeakRef<EventTarget>>();
const collected = new FinalizationRegistry<Handle>((handle) => native.free(handle));
const forgetTarget = new FinalizationRegistry<Id>((id) => eventTargets.delete(id));

/** What one drain takes. */
const BATCH = 1024;
const rows = new Float64Array(1 + BATCH * ROW);
/** After so many drains it is time to see whether the loop has gone on to its other work meanwhile. */
const PATIENCE = 32;

let lastEventId = 0;
let awaited = 0;
let drains = 0;
let postponed = false;
/** What is to be done at the end of this turn of the loop. */
let atEnd: (() => void) | undefined;

/** This environment's native side. */
export const native = new Environment(ring);

/**
 * Carries out an operation about `about`; resolves with what it brings, or with why it brings nothing. That is for the caller to
 * `unwrap` where it awaits, so that the error's stack shows who called. The process stays alive until then. When `signal` fires
 * before the end, the operation is cancelled: `unlessAborted` takes the place of `unwrap`.
 */
export function submit<T>(about: unknown, start: (id: Id) => Submitted, signal?: AbortSignal): Promise<Answer<T>> {
  if (signal !== undefined) return submitUntil(signal, about, start);
  return new Promise((resolve) => {
    submitFor(about, resolve as Settle, start);
  });
}

/** As `submit`, for a caller that has a function of its own. */
export function submitFor(about: unknown, settle: Settle, start: (id: Id) => Submitted): void {
  const op = begin({ about, settle, awaited: true }, start);
  if (isFailure(op)) settle(op);
}

/**
 * Carries out operations for several callers, of whom each gives a function. `start` begins them with an id for each caller,
 * and answers how many callers the first is for, its handle, how many the next is for, and so on. What one brings is for `tell`
 * to tell its callers.
 */
export function submitEach(
  about: unknown,
  settles: readonly Settle[],
  tell: (settles: readonly Settle[], answer: unknown) => void,
  start: (ids: readonly Id[]) => Answer<readonly number[]>,
): void {
  const ids = settles.map(takeId);
  const parts = start(ids);
  if (isFailure(parts)) {
    freeIds.push(...ids);
    tell(settles, parts);
    return;
  }
  let first = 0;
  for (let at = 0; at < parts.length; at += 2) {
    const end = first + (parts[at] ?? 0);
    const [id, ...others] = ids.slice(first, end);
    const callers = settles.slice(first, end);
    freeIds.push(...others);
    if (id !== undefined)
      enter(id, {
        about,
        settle: (answer) => {
          tell(callers, answer);
        },
        awaited: true,
      });
    first = end;
  }
}

/** Calls `flush` when this turn of the loop ends, or before the next operation begins: so the order of calls is kept. */
export function atEndOfTurn(flush: () => void): void {
  if (atEnd === undefined) nextTick(endTurn);
  atEnd = flush;
}

function endTurn(): void {
  const flush = atEnd;
  atEnd = undefined;
  flush?.();
}

function submitUntil<T>(signal: AbortSignal, about: unknown, start: (id: Id) => Submitted): Promise<Answer<T>> {
  return new Promise((resolve) => {
    if (signal.aborted) throw reasonOf(signal);
    let cancel = (): void => undefined;
    // Before the operation begins: a signal that cannot be listened to throws.
    const stopListening = onAbort(signal, () => {
      cancel();
    });
    const settle = (answer: unknown): void => {
      stopListening();
      resolve(answer as Answer<T>);
    };
    const op = begin({ about, settle, awaited: true }, start);
    if (isFailure(op)) settle(op);
    // The completion of a cancelled operation comes through the port like any other.
    else cancel = () => void native.cancel(op);
  });
}

/**
 * As `unwrap`, for an operation that had a signal: throws the signal's reason if that has fired, also when it fired after the
 * operation had ended and before its caller ran. What was granted then goes to `giveBack`. To be called in the function whose
 * promise the user has, so that nothing runs between this look and the end of that promise.
 */
export function unlessAborted<T>(
  answer: Answer<T>,
  signal: AbortSignal | undefined,
  giveBack: (granted: T) => void,
): T {
  if (signal?.aborted === true) {
    if (!isFailure(answer)) giveBack(answer);
    throw reasonOf(signal);
  }
  return unwrap(answer);
}

/** Ends what nobody got, in the background: the operation that ends it, then its handle. The process stays alive until then. */
export function discard(handle: Handle, end: (id: Id) => Submitted): void {
  // Whatever came of it: a lock that cannot be released comes free as its lease runs out.
  void submit(handle, end).then(() => native.free(handle));
}

/** Starts an operation that does not keep the process alive; `done` gets what it brings, unless it fails. */
export function watch<T>(about: unknown, start: (id: Id) => Submitted, done: (value: T) => void): void {
  const settle = (answer: unknown): void => {
    if (!isFailure(answer)) done(answer as T);
  };
  unwrap(begin({ about, settle, awaited: false }, start));
}

/** An operation that does not start leaves nothing behind. */
function begin(operation: Operation, start: (id: Id) => Submitted): Submitted {
  if (atEnd !== undefined) endTurn();
  const id = takeId();
  const op = start(id);
  if (isFailure(op)) freeIds.push(id);
  else enter(id, operation);
  return op;
}

function takeId(): Id {
  return freeIds.pop() ?? operations.push(undefined) - 1;
}

function enter(id: Id, operation: Operation): void {
  operations[id] = operation;
  if (operation.awaited) keepAlive(1);
}

/** Gives `handle` back when `object`, whose it is, has been collected. */
export function freeWith(object: object, handle: Handle): void {
  collected.register(object, handle);
}

/** An id under which a client's events reach `target`, as long as that lives. */
export function eventId(target: EventTarget): Id {
  const id = ++lastEventId;
  eventTargets.set(id, new WeakRef(target));
  forgetTarget.register(target, id);
  return id;
}

function keepAlive(change: 1 | -1): void {
  awaited += change;
  if (awaited === 0 || (awaited === 1 && change === 1)) native.keepAlive(awaited > 0);
}

/**
 * Called for each ring. Node does not go on to timers and sockets before a thousand rings are served, and an operation that is
 * finished as soon as it is submitted, as on memory://, rings within the call that served the last: so a flood of them is put off
 * until the loop has had its turn.
 */
function ring(): void {
  drains += 1;
  if (drains === PATIENCE) atNextTurn(afterTurn);
  if (drains <= 2 * PATIENCE) drain();
  else postponed = true;
}

function afterTurn(): void {
  drains = 0;
  if (!postponed) return;
  postponed = false;
  drain();
}

function drain(): void {
  const others = unwrap(native.drain(rows)) ?? [];
  const count = number(0);
  for (let row = 1; row <= count * ROW; row += ROW) {
    const id = number(row);
    const tag = number(row + 1);
    if (tag === Tag.Event) tell(eventTargets.get(id)?.deref(), others[number(row + 2)] as NativeEvent);
    else finish(id, value(tag, number(row + 2), number(row + 3), others));
  }
  // What is left does not ring again.
  if (count === BATCH) atNextTurn(drain);
}

function number(at: number): number {
  return rows[at] ?? 0;
}

function value(tag: number, first: number, second: number, others: readonly unknown[]): unknown {
  switch (tag) {
    case Tag.Unit:
      return undefined;
    // <api:scalars> written by `python3 api/write.py` from api/wire.json
    case Tag.Bool:
      return first === 1;
    case Tag.Number:
      return first;
    // </api:scalars>
    case Tag.Handle:
      return first;
    case Tag.Held:
      return [first, second] satisfies Grant;
    default:
      return others[first];
  }
}

function finish(id: Id, answer: unknown): void {
  const operation = operations[id];
  if (operation === undefined) return;
  operations[id] = undefined;
  freeIds.push(id);
  if (operation.awaited) keepAlive(-1);
  operation.settle(answer);
}

function tell(target: EventTarget | undefined, { level, object, message }: NativeEvent): void {
  try {
    target?.onEvent({ level, object: object ?? undefined, message });
  } catch (error) {
    // The caller's mistake comes up as from any callback, and keeps nobody else from what has finished.
    microtask(() => {
      throw error;
    });
  }
}
