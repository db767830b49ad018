// The verbs of locks in Node.

import { number, whole } from "./words.mjs";

export const verbs = (clients, things) => {
  const kept = (name, hold) => {
    things.set(name, hold);
    return { token: hold.token, owner: hold.owner };
  };

  return {
    async take([client, name, hold], { wait_ms, lease_ms, watchdog_lease_ms }) {
      const lock = clients
        .get(client)
        .lock(name, { leaseMs: number(lease_ms), watchdogLeaseMs: number(watchdog_lease_ms) });
      return kept(hold, await lock.acquire({ waitMs: number(wait_ms) }));
    },
    async attach([client, name, hold], { text }) {
      return kept(hold, await clients.get(client).lock(name).attach(text));
    },
    async inspect([client, name]) {
      const { holder, ours, ttlMs, token, queued } = await clients.get(client).lock(name).inspect();
      return { held: holder !== undefined, holder, ours, ttl_ms: whole(ttlMs), token, queued };
    },
    async force([client, name]) {
      return { was_held: await clients.get(client).lock(name).forceRelease() };
    },
  };
};
