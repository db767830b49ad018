// Operations on their way. Each has an id; the native side brings finished ones in batches, one wake-up for all that have
// come since the last. It calls `drain` on this loop and never in the middle of other JavaScript, so an operation is in the
// table before its completion can be.

import { onAbort } from "./abort.js";
import { DlockError, unwrap } from "./error.js";
import { type Completion, Environment, type Id, type LogEvent, type NativeEvent, type Submitted } from "./native.js";

interface Pending {
  /** The object that the operation is about: not collected, and so its handle not given back, before the end. */
  readonly about: unknown;
  readonly settle: (completion: Completion) => void;
}

/** Receives a client's events. */
export interface EventTarget {
  onEvent(event: LogEvent): void;
}

const pending = new Map<Id, Pending>();
// Weak, because a client lives no longer than its program refers to it.
const eventTargets = new Map<Id, WeakRef<EventTarget>>();
const forgetTarget = new FinalizationRegistry<Id>((id) => eventTargets.delete(id));

/** What one turn of the loop takes. */
const BATCH = 1024;

let lastId = 0;
let awaited = 0;

/** This environment's native side. */
export const native = new Environment(drain);

/**
 * Carries out an operation about `about`; resolves with what it brings. The process stays alive until then. When `signal`
 * fires before the end, the operation is cancelled and the promise rejects with the signal's reason.
 */
export async function submit<T>(about: unknown, start: (id: Id) => Submitted, signal?: AbortSignal): Promise<T> {
  signal?.throwIfAborted();
  const id = ++lastId;
  const op = unwrap(start(id));
  // The completion of a cancelled operation comes through the port like any other.
  const stopListening = signal && onAbort(signal, () => native.cancel(op));
  keepAlive(1);
  const { value, failure } = await new Promise<Completion>((settle) => pending.set(id, { about, settle }));
  keepAlive(-1);
  stopListening?.();
  if (signal?.aborted && failure?.kind === "CANCELLED") throw signal.reason;
  // Made here and not where the completion came in, so that its stack shows who called.
  if (failure) throw new DlockError(failure);
  return value as T;
}

/** Starts an operation that does not keep the process alive; `done` gets what it brings, unless it fails. */
export function watch<T>(about: unknown, start: (id: Id) => Submitted, done: (value: T) => void): void {
  const id = ++lastId;
  unwrap(start(id));
  const settle = ({ value, failure }: Completion): void => {
    if (!failure) done(value as T);
  };
  pending.set(id, { about, settle });
}

/** An id under which a client's events reach `target`, as long as that lives. */
export function eventId(target: EventTarget): Id {
  const id = ++lastId;
  eventTargets.set(id, new WeakRef(target));
  forgetTarget.register(target, id);
  return id;
}

function keepAlive(change: 1 | -1): void {
  awaited += change;
  if (awaited === 0 || (awaited === 1 && change === 1)) native.keepAlive(awaited > 0);
}

function drain(): void {
  const completions = unwrap(native.drain(BATCH));
  for (const completion of completions) finish(completion);
  // A flood does not keep the loop from its other work.
  if (completions.length === BATCH) setImmediate(drain);
}

function finish(completion: Completion): void {
  if (completion.event) {
    tell(eventTargets.get(completion.id)?.deref(), completion.event);
    return;
  }
  const entry = pending.get(completion.id);
  pending.delete(completion.id);
  entry?.settle(completion);
}

function tell(target: EventTarget | undefined, { level, object, message }: NativeEvent): void {
  try {
    target?.onEvent({ level, object: object ?? undefined, message });
  } catch (error) {
    // The caller's mistake comes up as from any callback, and keeps nobody else from what has finished.
    queueMicrotask(() => {
      throw error;
    });
  }
}
