// Which locks the `withLock`s around a call hold, alone or several as one, and which sides of read-write locks the `withRead`s and `withWrite`s: what would
// wait for one of them would wait for itself.

import { AsyncLocalStorage } from "node:async_hooks";

import { deadlock } from "./error.js";
import { OF } from "./hold.js";
import { NAMES, NESTED, type Nestable, PRESENT, type ReentrantHold, TYPE } from "./reentrant-hold.js";

/** A `withLock`, or one of its kin, whose function runs. */
export interface Scope {
  around: Scope | undefined;
  /** None when it is over: what its function has started may live on, and must not keep it. */
  held: ReentrantHold | undefined;
  /** The name of the method. */
  readonly scoped: string;
}

const scopes = new AsyncLocalStorage<Scope>();

/** The inside of a call of the method `scoped` that has `held`. */
export function enter(held: ReentrantHold, scoped: string): Scope {
  return { around: innermost(), held, scoped };
}

/**
 * The innermost scope around this call whose function runs. Takes those that have ended out of the chain: code that sets its own
 * next run from the inside would link them for ever.
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

/** Runs `run`, and whatever it starts, in `scope`; without one, where it is. */
export function within<H, T>(scope: Scope | undefined, run: (held: H) => T, held: H): T {
  return scope === undefined ? run(held) : scopes.run(scope, run, held);
}

/** Its function has ended. */
export function leave(scope: Scope | undefined): void {
  if (scope !== undefined) scope.held = undefined;
}

/** Throws `DLOCK_DEADLOCK` for a wait without bound inside of a function that runs under a hold of the same lock, of any side. */
export function refuseDeadlock(wanted: Nestable, waitMs: number | undefined): void {
  if (waitMs !== undefined) return;
  for (let scope = innermost(); scope !== undefined; scope = scope.around) {
    const name = scope.held && nameOfBoth(scope.held[OF], wanted);
    if (name === undefined) continue;
    const held = scope.held?.[PRESENT]();
    if (held !== undefined) throw deadlock(name, scope.scoped, held[NESTED](wanted));
  }
}

/** The first name of `wanted` that `held` has, too. */
function nameOfBoth(held: Nestable, wanted: Nestable): string | undefined {
  if (held.client !== wanted.client || held[TYPE] !== wanted[TYPE]) return undefined;
  return wanted[NAMES].find((name) => held[NAMES].includes(name));
}
