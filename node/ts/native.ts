// What the native module exports (node/src), and the one instance of it that this copy of the package has. A test compares
// the names.

import { binding } from "./binding.cjs";

/** Never 0, never reused; a stale one is refused. */
export type Handle = bigint;

/** Comes back with an operation's completion, or with a client's events. */
export type Id = number;

/** An error of the core. */
export interface Failure {
  readonly errno: number;
  readonly kind: string;
  readonly op: string;
  readonly object?: string | null;
  readonly message: string;
}

/** A hold as the port brings it. */
export interface Grant {
  readonly handle: Handle;
  readonly token: bigint;
  readonly owner: string;
}

/** How a hold ended: without a reason when it was released. */
export interface Loss {
  readonly reason?: LossReason | null;
}

/** Why a hold was lost. */
export type LossReason = "expired" | "taken" | "deleted" | "server_changed" | "closed" | "internal";

/** Something that happened in the background, for a log. */
export interface LogEvent {
  readonly level: "debug" | "info" | "warn" | "error";
  /** The name of the lock it is about, if it is about one. */
  readonly object: string | undefined;
  /** One sentence; never a password. */
  readonly message: string;
}

/** As the native side says it. */
export interface NativeEvent {
  readonly level: LogEvent["level"];
  readonly object?: string | null;
  readonly message: string;
}

/** An operation's end (a value, a failure, or neither), or an event. */
export interface Completion {
  readonly id: Id;
  readonly value?: unknown;
  readonly failure?: Failure | null;
  readonly event?: NativeEvent | null;
}

/** What a call into the native module returns. */
export type Answer<T> = T | Failure;

/** A submitted operation: its handle, for `cancel`. */
export type Submitted = Answer<Handle>;

/** The native side of one JavaScript environment (the main thread, a worker). */
export interface Environment {
  /** Whether the loop shall stay alive for what is pending. */
  keepAlive(keep: boolean): void;
  /** What is finished, at most a batch; empty when nothing is left. */
  drain(): Answer<Completion[]>;
  /** Ends an operation with `CANCELLED`; false when it is finished already. */
  cancel(op: Handle): Answer<boolean>;
  /** Gives a client, a lock or a hold back; a hold that is held stops being renewed. */
  free(object: Handle): Answer<undefined>;

  clientOpen(id: Id, url: string, options: [string, string][], logId?: Id): Submitted;
  clientClose(id: Id, client: Handle, release: boolean): Submitted;

  /** `leaseMs` 0 is the client's. */
  lockOpen(client: Handle, name: string, leaseMs: number, reentrant?: boolean): Answer<Handle>;
  /** `waitMs` -1 is for ever, `leaseMs` 0 the lock's own. Brings a `Grant`. */
  lockAcquire(id: Id, lock: Handle, waitMs: number, leaseMs: number): Submitted;
  /** Brings a `Grant`. */
  lockAttach(id: Id, lock: Handle, detached: string): Submitted;
  /** Brings a boolean. */
  lockForceRelease(id: Id, lock: Handle): Submitted;
  /** Brings an `Inspection`. */
  lockInspect(id: Id, lock: Handle): Submitted;

  heldValid(held: Handle): Answer<boolean>;
  heldRemainingMs(held: Handle): Answer<number>;
  heldLoss(held: Handle): Answer<Loss>;
  heldHoldCount(held: Handle): Answer<number>;
  heldReenter(held: Handle): Answer<undefined>;
  /** Brings a `Loss` when the hold is over. */
  heldWaitLost(id: Id, held: Handle): Submitted;
  heldRelease(id: Id, held: Handle): Submitted;
  heldExtend(id: Id, held: Handle, leaseMs: number): Submitted;
  /** Brings a text. */
  heldDetach(id: Id, held: Handle): Submitted;
}

/** The native module. */
export interface Binding {
  Environment: new (wake: () => void) => Environment;
}

export const { Environment } = binding;
