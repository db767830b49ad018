// One listener for each signal, however many operations it may end: a program that gives all its operations the signal of
// its own end is nothing unusual, and Node takes an eleventh listener for a leak.

interface Acts {
  readonly set: Set<() => void>;
  readonly listener: () => void;
}

const actsOf = new WeakMap<AbortSignal, Acts>();

/** Calls `act` when `signal` fires, unless the function that is returned was called before. */
export function onAbort(signal: AbortSignal, act: () => void): () => void {
  const acts = actsOf.get(signal) ?? listen(signal);
  acts.set.add(act);
  return () => {
    acts.set.delete(act);
    if (acts.set.size > 0 || actsOf.get(signal) !== acts) return;
    actsOf.delete(signal);
    signal.removeEventListener("abort", acts.listener);
  };
}

function listen(signal: AbortSignal): Acts {
  const set = new Set<() => void>();
  const listener = (): void => {
    for (const act of set) act();
  };
  const acts = { set, listener };
  actsOf.set(signal, acts);
  signal.addEventListener("abort", listener, { once: true });
  return acts;
}
