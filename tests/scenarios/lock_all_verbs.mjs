// The verbs of several locks as one in Node.

import { number } from "./words.mjs";

export const verbs = (clients, things) => ({
  lock_all([client, set], { names, lease_ms, watchdog_lease_ms, reentrant }) {
    const options = {
      leaseMs: number(lease_ms),
      watchdogLeaseMs: number(watchdog_lease_ms),
      reentrant: reentrant === undefined ? undefined : reentrant === "true",
    };
    const locks = clients.get(client).lockAll(names === "" ? [] : names.split(","), options);
    things.set(set, locks);
    return { count: locks.names.length };
  },
  async take_all([set, hold], { wait_ms, lease_ms }) {
    const held = await things.get(set).acquire({ waitMs: number(wait_ms), leaseMs: number(lease_ms) });
    things.set(hold, held);
    return { count: held.tokens.size };
  },
  token_of([hold, name]) {
    return { token: things.get(hold).tokenOf(name) };
  },
  lost_of([hold]) {
    const { lostName, lossReason } = things.get(hold);
    return { name: lostName, lost: lossReason };
  },
});
