// The verbs of Bloom filters in Node.

import { number } from "./words.mjs";

const digits = (answers) => answers.map(Number).join("");

export const verbs = (clients, things) => ({
  bloom_filter([client, name, seen], { expected, rate, ttl_ms }) {
    const options = { expected: number(expected), falsePositiveRate: Number(rate), ttlMs: number(ttl_ms) };
    things.set(seen, clients.get(client).bloomFilter(name, options));
  },
  bloom_sizes([seen]) {
    const { size, hashes } = things.get(seen);
    return { size, hashes };
  },
  async bloom_add([seen], { items }) {
    return { new: digits(await things.get(seen).add(items.split(","))) };
  },
  async bloom_contains([seen], { items }) {
    return { found: digits(await things.get(seen).contains(items.split(","))) };
  },
  async bloom_count([seen]) {
    const rate = await things.get(seen).falsePositiveRate();
    return { count: await things.get(seen).count(), rate: rate < 0.001 ? "low" : "high" };
  },
  async bloom_clear([seen]) {
    return { cleared: await things.get(seen).clear() };
  },
  async bloom_gone([seen], { item }) {
    for (let tries = 0; tries < 10_000; tries++) {
      const [found] = await things.get(seen).contains([item]);
      if (!found) return { gone: true };
    }
    return { gone: false };
  },
});
