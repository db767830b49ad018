// The verbs of worker numbers in Node.

import { number } from "./words.mjs";

export const verbs = (clients, things) => ({
  async lease([client, pool, worker], { bits, lease_ms }) {
    const leased = await clients.get(client).worker(pool, { bits: number(bits), leaseMs: number(lease_ms) });
    things.set(worker, leased);
    return { number: leased.number, valid: leased.valid };
  },
  leased([worker]) {
    return { valid: things.get(worker).valid };
  },
  generator_of([worker, generator], { layout }) {
    things.set(generator, things.get(worker).snowflake(layout));
  },
  counted_numbers([client]) {
    const { acquired, refused, lost, released, held, waitTime, holdTime } = clients.get(client).stats().worker;
    return { acquired, refused, lost, released, held, waits: waitTime.count, holds: holdTime.count };
  },
  async give_back([worker]) {
    await things.get(worker).release();
  },
});
