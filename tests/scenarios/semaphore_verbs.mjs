// The verbs of semaphores in Node.

import { number } from "./words.mjs";

export const verbs = (clients, things) => ({
  semaphore([client, name, semaphore], { permits, lease_ms, watchdog_lease_ms }) {
    const options = { leaseMs: number(lease_ms), watchdogLeaseMs: number(watchdog_lease_ms) };
    things.set(semaphore, clients.get(client).semaphore(name, Number(permits), options));
  },
  async acquire([semaphore, hold], { permits, wait_ms, lease_ms }) {
    const options = { permits: number(permits), waitMs: number(wait_ms), leaseMs: number(lease_ms) };
    const held = await things.get(semaphore).acquire(options);
    things.set(hold, held);
    return { permits: held.permits.length, ids: held.permits.join(",") };
  },
  async set_permits([semaphore], { permits }) {
    await things.get(semaphore).setPermits(Number(permits));
  },
  async inspect_permits([semaphore]) {
    const { permits, available, queued } = await things.get(semaphore).inspect();
    return { permits, available, queued };
  },
});
