// The verbs of read-write locks in Node.

import { number, whole } from "./words.mjs";

export const verbs = (clients, things) => {
  const kept = (name, hold) => {
    things.set(name, hold);
    return { token: hold.token, owner: hold.owner };
  };
  const acquire =
    (side) =>
    async ([rw, hold], { wait_ms }) =>
      kept(hold, await things.get(rw)[side].acquire({ waitMs: number(wait_ms) }));

  return {
    rw_lock([client, name, rw], { lease_ms, watchdog_lease_ms, reentrant, shared_age_ms }) {
      const options = {
        leaseMs: number(lease_ms),
        watchdogLeaseMs: number(watchdog_lease_ms),
        reentrant: reentrant === undefined ? undefined : reentrant === "true",
        sharedAgeMs: number(shared_age_ms),
      };
      things.set(rw, clients.get(client).rwLock(name, options));
    },
    read: acquire("read"),
    write: acquire("write"),
    async downgrade([hold, reads]) {
      return kept(reads, await things.get(hold).downgrade());
    },
    async force_rw([rw]) {
      return { was_held: await things.get(rw).forceRelease() };
    },
    async inspect_rw([rw]) {
      const { writer, ours, readers, ttlMs, token, queued } = await things.get(rw).inspect();
      return { writer, ours, readers, ttl_ms: whole(ttlMs), token, queued };
    },
  };
};
