// One listener of each signal for all that hear it: Node warns of an eleventh as of a leak.

const heard = new Map<NodeJS.Signals, Set<() => void>>();

function tell(signal: NodeJS.Signals): void {
  for (const told of Array.from(heard.get(signal) ?? [])) told();
}

/** Has `told` called at each of these signals, which do not end the process meanwhile. The function that this returns ends that. */
export function hearSignals(signals: readonly NodeJS.Signals[], told: () => void): () => void {
  for (const signal of signals) {
    const all = heard.get(signal) ?? new Set();
    if (all.size === 0) process.on(signal, tell);
    heard.set(signal, all.add(told));
  }
  return () => {
    for (const signal of signals) {
      const all = heard.get(signal);
      all?.delete(told);
      if (all?.size === 0) process.off(signal, tell);
    }
  };
}
