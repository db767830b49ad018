// One listener for each signal, however many operations it may end: a program that gives all its operations the signal of
// its own end is nothing unusual, and Node takes an eleventh listener for a leak.

interface Acts {
  readonly set: Set<() => void>;
  readonly listener: () => void;
}

/**
 * What a call that was given `signal` rejects with after it has fired. A signal that has no reason, such as one of the package
 * abort-controller, stands for the error that an AbortController gives.
 */
export function reasonOf(signal: AbortSignal): unknown {
  const reason: unknown = signal.reason;
  return reason === undefined ? new DOMException("This operation was aborted", "AbortError") : reason;
}

const actsOf = new WeakMap<AbortSignal, Acts>();

/** Calls `act` when `signal` fires, unless the function that is returned was called before. That function never throws. */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  const acts = actsOf.get(signal) ?? listen(signal);
  acts.set.add(act);
  return () => {
    acts.set.delete(act);
    if (acts.set.size > 0 || actsOf.get(signal) !== acts) return;
    actsOf.delete(signal);
    try {
      signal.removeEventListener("abort", acts.listener);
    } catch {
      // A listener that stays has nothing to do. Thrown on, the error would end a batch of completions that are not the signal's.
    }
  };
}

function listen(signal: AbortSignal): Acts {
  const set = new Set<() => void>();
  const listener = (): void => {
    for (const act of set) act();
  };
  const acts = { set, listener };
  signal.addEventListener("abort", listener, { once: true });
  actsOf.set(signal, acts);
  return acts;
}
