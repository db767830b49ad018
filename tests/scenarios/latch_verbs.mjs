// The verbs of latches in Node.

import { number } from "./words.mjs";

export const verbs = (clients, things) => ({
  latch([client, name, latch]) {
    things.set(latch, clients.get(client).latch(name));
  },
  async set_count([latch], { count }) {
    return { set: await things.get(latch).trySetCount(Number(count)) };
  },
  async count_down([latch], { by }) {
    return { left: await things.get(latch).countDown(number(by)) };
  },
  async count([latch]) {
    return { count: await things.get(latch).count() };
  },
  async wait([latch], { wait_ms }) {
    return { opened: await things.get(latch).wait({ waitMs: number(wait_ms) }) };
  },
  begin_wait([latch, wait], { wait_ms }) {
    // What it rejects with is for `end_wait`.
    const begun = things.get(latch).wait({ waitMs: number(wait_ms) });
    begun.catch(() => undefined);
    things.set(wait, begun);
  },
  async end_wait([wait]) {
    return { opened: await things.get(wait) };
  },
  async remove_latch([latch]) {
    return { removed: await things.get(latch).delete() };
  },
  counted_latches([client]) {
    const { countedDown, opened, waitTimeouts, waiting, waitTime } = clients.get(client).stats().latch;
    return { counted_down: countedDown, opened, wait_timeouts: waitTimeouts, waiting, waits: waitTime.count };
  },
});
