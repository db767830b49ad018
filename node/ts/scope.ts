// Which locks the `withLock`s around a call hold: what would wait for one of them would wait for itself.

import { AsyncLocalStorage } from "node:async_hooks";

import { deadlock } from "./error.js";
import type { Held } from "./held.js";
import type { Lock } from "./lock.js";

/** A `withLock` whose function runs. */
export interface Scope {
  around: Scope | undefined;
  /** None when its `withLock` is over: what that has started may live on, and must not keep it. */
  held: Held | undefined;
}

const scopes = new AsyncLocalStorage<Scope>();

/** The inside of a `withLock` that has `held`. */
export function enter(held: Held): Scope {
  return { around: innermost(), held };
}

/**
 * The innermost `withLock` around this call whose function runs. Takes those that have ended out of the chain: code that sets its
 * own next run from the inside would link them for ever.
 */
function innermost(): Scope | undefined {
  const first = running(scopes.getStore());
  for (let scope = first; scope !== undefined; scope = scope.around) scope.around = running(scope.around);
  return first;
}

function running(scope: Scope | undefined): Scope | undefined {
  let at = scope;
  while (at !== undefined && at.held === undefined) at = at.around;
  return at;
}

/** Runs `run`, and whatever it starts, in `scope`. */
export function within<T>(scope: Scope, run: (held: Held) => T, held: Held): T {
  return scopes.run(scope, run, held);
}

/** Throws `DLOCK_DEADLOCK` for a wait without bound that runs inside of a `withLock` of the same lock. */
export function refuseDeadlock(lock: Lock, waitMs: number | undefined): void {
  if (waitMs !== undefined) return;
  for (let scope = innermost(); scope !== undefined; scope = scope.around) {
    if (scope.held !== undefined && isSame(scope.held.lock, lock) && scope.held.holdCount > 0)
      throw deadlock(lock.name);
  }
}

function isSame(held: Lock, wanted: Lock): boolean {
  return held === wanted || (held.client === wanted.client && held.name === wanted.name);
}
