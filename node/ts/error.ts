import type { Failure, LossReason } from "./native.js";
import type { Nested } from "./reentrant-hold.js";

// Two copies of this package (one loaded by `import`, one by `require`) have two classes, but their errors are alike.
const BRAND: unique symbol = Symbol.for("libdlock.DlockError");

/** The kinds of errors. Names and numbers are frozen, and the same in every language. */
// <api:kinds> written by `python3 api/write.py` from api/errors.json
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
  | "INTERNAL"
  | "UNSUPPORTED"
  | "FULL";
// </api:kinds>

// <api:numbers> written by `python3 api/write.py` from api/errors.json
const ERRNO = {
  BUSY: 1,
  INVALID_ARGUMENT: -1,
  INVALID_NAME: -2,
  NOT_HELD: -3,
  LOST: -4,
  DEADLOCK: -5,
  CONNECTION: -6,
  OUTCOME_UNKNOWN: -7,
  SERVER: -8,
  WRONG_TYPE: -9,
  OUT_OF_MEMORY: -10,
  NO_PERMISSION: -11,
  CANCELLED: -12,
  CLOSED: -13,
  FORKED: -14,
  CLOCK: -15,
  INTERNAL: -16,
  UNSUPPORTED: -17,
  FULL: -18,
} satisfies Record<ErrorKind, number>;
// </api:numbers>

/** Kinds that a program handles alike. */
// <api:families> written by `python3 api/write.py` from api/errors.json
export type ErrorFamily = "USAGE" | "UNAVAILABLE" | "HOLD_ENDED";
// </api:families>

// <api:above> written by `python3 api/write.py` from api/errors.json
const FAMILY: Partial<Record<ErrorKind, ErrorFamily>> = {
  INVALID_ARGUMENT: "USAGE",
  INVALID_NAME: "USAGE",
  NOT_HELD: "HOLD_ENDED",
  LOST: "HOLD_ENDED",
  DEADLOCK: "USAGE",
  CONNECTION: "UNAVAILABLE",
  OUTCOME_UNKNOWN: "UNAVAILABLE",
  SERVER: "UNAVAILABLE",
  WRONG_TYPE: "USAGE",
  OUT_OF_MEMORY: "UNAVAILABLE",
  NO_PERMISSION: "UNAVAILABLE",
  FORKED: "USAGE",
  UNSUPPORTED: "USAGE",
  FULL: "UNAVAILABLE",
};
// </api:above>

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
  /**
   * What the kind has in common with others that a program handles alike; of no family are `BUSY`, `CANCELLED`, `CLOSED`, `CLOCK`
   * and `INTERNAL`.
   */
  declare readonly family?: ErrorFamily;
  // <api:facts> written by `python3 api/write.py` from api/errors.json
  /** The owner in the way, as it stands on the server; of a busy error, where the server named one. */
  declare readonly holder?: string;
  /** How much of that holder's lease was left when it was seen; the holder may renew it. */
  declare readonly remainingMs?: number;
  /**
   * After how long asking again can succeed, at the soonest: of a clock error, until the clock is no longer behind;
   * a limiter's refusal is no error but a decision, which says it.
   */
  declare readonly retryAfterMs?: number;
  /** What is allowed in place of the value that was refused, such as `100 ms to 24 h`. */
  declare readonly allowed?: string;
  /**
   * Whether the same call, made again later, can succeed although the program changes nothing: of a connection
   * error, where the server cannot be reached, but not with a wrong password; after an unknown outcome it may find
   * that the first call was carried out.
   */
  readonly retryable: boolean;
  // </api:facts>
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
    this.retryable = failure.retryable;
    const { holder, remainingMs, retryAfterMs, allowed } = failure;
    const present = Object.entries({ family: FAMILY[this.kind], holder, remainingMs, retryAfterMs, allowed });
    // An error has only the facts that it knows, so that what prints it shows no others.
    Object.assign(this, Object.fromEntries(present.filter(([, fact]) => fact !== undefined && fact !== null)));
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

/** One that no retry changes. */
function failure(kind: ErrorKind, op: string, message: string, object?: string): Failure {
  return { errno: ERRNO[kind], kind, op, object: object ?? null, message, retryable: false };
}

/** A value that could not be carried to the core unchanged: what was wrong, and what is allowed. Ranges are the core's to say. */
export function invalidArgument(op: string, what: string, allowed: string, object?: string): DlockError {
  return new DlockError({ ...failure("INVALID_ARGUMENT", op, `${what}; allowed: ${allowed}`, object), allowed });
}

/** A name that is no text. */
export function invalidName(op: string, what: string, allowed: string): DlockError {
  return new DlockError({ ...failure("INVALID_NAME", op, `${what}; allowed: ${allowed}`), allowed });
}

/**
 * A wait that may never end: the call runs in the context of a `withLock`, or another `scoped`, that holds the lock. Whether that waits
 * for the call cannot be known here.
 */
export function deadlock(name: string, scoped: string, { then, instead }: Nested): DlockError {
  const message =
    `acquire ${JSON.stringify(name)}: this call was started inside of a ${scoped} whose function still runs and holds the lock. ` +
    `If that function waits for this call, ${then}: ${instead}. ` +
    "If not, set waitMs. If a pool or batcher that was made inside of it runs this call for another caller, make that outside, with " +
    "AsyncLocalStorage.snapshot(), or hand it AsyncResource.bind(job)";
  return new DlockError(failure("DEADLOCK", "acquire", message, name));
}

/** The end of a hold that is over. */
export function notHeld(op: string, object: string, message: string): DlockError {
  return new DlockError(failure("NOT_HELD", op, `${op} ${JSON.stringify(object)}: ${message}`, object));
}

/** The reason with which the `signal` of a delivery fires whose consumer was stopped. */
export function cancelled(op: string, object: string, message: string): DlockError {
  return new DlockError(failure("CANCELLED", op, `${op} ${JSON.stringify(object)}: ${message}`, object));
}

/** The reason with which a held lock's `signal` fires. */
export function lost(name: string, reason: LossReason): DlockError {
  const message = `the hold of ${JSON.stringify(name)} was lost: ${reason}`;
  return new DlockError(failure("LOST", "held", message, name), reason);
}
