// The verbs of counting semaphores in Node.

import { number } from "./words.mjs";

/** Whether they were acquired in time. */
async function taken(semaphore, permits, wait_ms) {
  try {
    await semaphore.acquire({ permits: number(permits), waitMs: number(wait_ms) });
    return { taken: true };
  } catch (error) {
    if (error.kind !== "BUSY") throw error;
    return { taken: false };
  }
}

export const verbs = (clients, things) => ({
  counting([client, name, semaphore]) {
    things.set(semaphore, clients.get(client).countingSemaphore(name));
  },
  async make_permits([semaphore], { permits }) {
    return { made: await things.get(semaphore).trySetPermits(Number(permits)) };
  },
  take_permits([semaphore], { permits, wait_ms }) {
    return taken(things.get(semaphore), permits, wait_ms);
  },
  begin_take([semaphore, take], { permits, wait_ms }) {
    // What it rejects with is for `end_take`.
    const begun = taken(things.get(semaphore), permits, wait_ms);
    begun.catch(() => undefined);
    things.set(take, begun);
  },
  end_take([take]) {
    return things.get(take);
  },
  async give([semaphore], { permits }) {
    await things.get(semaphore).release(number(permits));
  },
  async add_permits([semaphore], { permits }) {
    await things.get(semaphore).addPermits(Number(permits));
  },
  async drain([semaphore]) {
    return { drained: await things.get(semaphore).drain() };
  },
  async inspect_counting([semaphore]) {
    const { exists, available, queued } = await things.get(semaphore).inspect();
    return { exists, available, queued };
  },
  counted_takes([client]) {
    const counted = clients.get(client).stats().countingSemaphore;
    const { acquired, contended, waitTimeouts, released, waiting, waitTime } = counted;
    return { acquired, contended, wait_timeouts: waitTimeouts, released, waiting, waits: waitTime.count };
  },
});
