import type { Failure, LossReason } from "./native.js";

// Two copies of this package (one loaded by `import`, one by `require`) have two classes, but their errors are alike.
const BRAND: unique symbol = Symbol.for("libdlock.DlockError");

/** The kinds of errors. Names and numbers are frozen, and the same in every language. */
export type ErrorKind =
  | "BUSY"
  | "INVALID_ARGUMENT"
  | "INVALID_NAME"
  | "NOT_HELD"
  | "LOST"
  | "DEADLOCK"
  | "CONNECTION"
  | "OUTCOME_UNKNOWN"
  | "SERVER"
  | "WRONG_TYPE"
  | "OUT_OF_MEMORY"
  | "NO_PERMISSION"
  | "CANCELLED"
  | "CLOSED"
  | "FORKED"
  | "CLOCK"
  | "INTERNAL";

/** Every error that libdlock reports. `message` says what happened and what was allowed, and never holds a password. */
export class DlockError extends Error {
  override readonly name = "DlockError";
  /** `"DLOCK_BUSY"` and so on: what a program decides on. */
  readonly code: `DLOCK_${ErrorKind}`;
  /** The code without its prefix. */
  readonly kind: ErrorKind;
  /** The kind's frozen number: 1 for busy, negative for errors. */
  readonly errno: number;
  /** The operation that failed, such as `"acquire"`. */
  readonly op: string;
  /** The name of the lock, where one was involved. */
  readonly object: string | undefined;
  /** Why the hold was lost: on the `reason` of a held lock's `signal`. */
  declare readonly lossReason?: LossReason;

  /** @internal */
  constructor(failure: Failure, lossReason?: LossReason) {
    super(failure.message);
    this.kind = failure.kind as ErrorKind;
    this.code = `DLOCK_${this.kind}`;
    this.errno = failure.errno;
    this.op = failure.op;
    this.object = failure.object ?? undefined;
    if (lossReason !== undefined) this.lossReason = lossReason;
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** `instanceof` also knows the errors of another copy of this package in the process. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== DlockError) return super[Symbol.hasInstance](value); // of a class derived from this one
    return typeof value === "object" && value !== null && BRAND in value;
  }
}

/** The value of an answer; throws when it is a failure. */
export function unwrap<T>(answer: T | Failure): T {
  if (isFailure(answer)) throw new DlockError(answer);
  return answer;
}

/** Whether an answer says why there is no value. */
export function isFailure(answer: unknown): answer is Failure {
  return typeof answer === "object" && answer !== null && "errno" in answer;
}

/** A value that could not be carried to the core unchanged. What a value may be is the core's to say. */
export function invalidArgument(op: string, message: string, object?: string): DlockError {
  return new DlockError({ errno: -1, kind: "INVALID_ARGUMENT", op, object: object ?? null, message });
}

/** A name that is no text. */
export function invalidName(op: string, message: string): DlockError {
  return new DlockError({ errno: -2, kind: "INVALID_NAME", op, message });
}

/** The reason with which a held lock's `signal` fires. */
export function lost(name: string, reason: LossReason): DlockError {
  const message = `the hold of ${JSON.stringify(name)} was lost: ${reason}`;
  return new DlockError({ errno: -4, kind: "LOST", op: "held", object: name, message }, reason);
}
