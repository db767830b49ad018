// The verbs of id generators in Node.

import assert from "node:assert";

import { number } from "./words.mjs";

export const verbs = (clients, things) => ({
  id_generator([client, name, ids], { block, start }) {
    things.set(ids, clients.get(client).idGenerator(name, { block: number(block), start: number(start) }));
  },
  async next_id([ids]) {
    return { id: await things.get(ids).nextId() };
  },
  async next_ids([ids], { count }) {
    const made = await things.get(ids).nextIds(Number(count));
    assert(made.every((id, at) => at === 0 || made[at - 1] < id));
    return { first: made[0], last: made.at(-1), count: made.length };
  },
  block_size([ids]) {
    return { size: things.get(ids).blockSize };
  },
});
