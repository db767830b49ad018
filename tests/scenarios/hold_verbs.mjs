// The verbs of holds, of whatever primitive, and what their clients have counted, in Node.

import { whole } from "./words.mjs";

export const verbs = (clients, things) => ({
  async release([hold]) {
    await things.get(hold).release();
  },
  async extend([hold], { lease_ms }) {
    await things.get(hold).extend(Number(lease_ms));
  },
  async detach([hold]) {
    return { text: await things.get(hold).detach() };
  },
  see([hold]) {
    const held = things.get(hold);
    return { valid: held.valid, remaining_ms: whole(held.remainingMs), lost: held.lossReason };
  },
  async wait_lost([hold], { wait_ms }) {
    const held = things.get(hold);
    if (!held.signal.aborted) {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, Number(wait_ms));
        held.signal.addEventListener("abort", () => {
          clearTimeout(timer);
          resolve();
        });
      });
    }
    return { lost: held.lossReason };
  },
  counted([client], { of = "lock" }) {
    const counted = clients.get(client).stats()[of === "rw_lock" ? "rwLock" : of];
    return {
      acquired: counted.acquired,
      contended: counted.contended,
      handed_over: counted.handedOverLocal + counted.handedOverRemote,
      wait_timeouts: counted.waitTimeouts,
      lost: counted.lost,
      released: counted.released,
      waiting: counted.waiting,
      held: counted.held,
      waits: counted.waitTime.count,
      holds: counted.holdTime.count,
    };
  },
});
