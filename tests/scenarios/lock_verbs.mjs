// The verbs of locks and their holds in Node.

const number = (given) => (given === undefined ? undefined : Number(given));
const whole = (length) => (length === undefined ? undefined : Math.round(length));

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
    async inspect([client, name]) {
      const { holder, ours, ttlMs, token, queued } = await clients.get(client).lock(name).inspect();
      return { held: holder !== undefined, holder, ours, ttl_ms: whole(ttlMs), token, queued };
    },
    counted([client]) {
      const { lock } = clients.get(client).stats();
      return {
        acquired: lock.acquired,
        contended: lock.contended,
        handed_over: lock.handedOverLocal + lock.handedOverRemote,
        wait_timeouts: lock.waitTimeouts,
        lost: lock.lost,
        released: lock.released,
        waiting: lock.waiting,
        held: lock.held,
        waits: lock.waitTime.count,
        holds: lock.holdTime.count,
      };
    },
    async force([client, name]) {
      return { was_held: await clients.get(client).lock(name).forceRelease() };
    },
  };
};
