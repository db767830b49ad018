// The verbs of rate limiters in Node.

import { number } from "./words.mjs";

const us = (lengthMs) => (lengthMs === undefined ? undefined : Math.round(lengthMs * 1000));

// A share is an object, every other policy a word.
const policy = (absent, shareOf) => (shareOf === undefined ? absent : { localShare: Number(shareOf) });

const decided = (decision) => ({
  allowed: decision.allowed,
  granted: decision.granted,
  remaining: decision.remaining,
  retry_after_us: us(decision.retryAfterMs),
  reset_after_us: us(decision.resetAfterMs),
  limit: decision.limit,
  refused_by: decision.refusedBy,
  usable_after_us: us(decision.usableAfterMs),
});

const rate = (tokens, perUs, algorithm) => ({ tokens: Number(tokens), perMs: Number(perUs) / 1000, algorithm });

export const verbs = (clients, things) => ({
  limiter([client, name, limiter], { tokens, per_us, burst, algorithm, more, absent, share_of }) {
    const first = { ...rate(tokens, per_us, algorithm), burst: number(burst) };
    const others = more?.split(",").map((each) => rate(...each.split("/")));
    const rates = others ? { rates: [first, ...others] } : first;
    things.set(limiter, clients.get(client).rateLimiter(name, { ...rates, absent: policy(absent, share_of) }));
  },
  async spend([limiter], { cost, wait_ms = "0", key }) {
    return decided(await things.get(limiter).acquire(Number(cost), { waitMs: Number(wait_ms), key }));
  },
  async spend_many([limiter], { items }) {
    const pairs = items.split(",").map((item) => item.split("*"));
    const answers = await things.get(limiter).tryAcquireMany(pairs.map(([key, cost]) => [key, Number(cost)]));
    return {
      granted: answers.map((answer) => answer.error?.kind ?? answer.granted).join(","),
    };
  },
  async reserve([limiter], { cost, wait_ms, key }) {
    return decided(await things.get(limiter).reserve(Number(cost), { waitMs: number(wait_ms), key }));
  },
  async penalty([limiter], { tokens, key }) {
    await things.get(limiter).penalty(Number(tokens), { key });
  },
  async reward([limiter], { tokens, key }) {
    await things.get(limiter).reward(Number(tokens), { key });
  },
  async block([limiter], { length_ms, key }) {
    await things.get(limiter).block(Number(length_ms), { key });
  },
  async peek([limiter], { key }) {
    return decided(await things.get(limiter).peek({ key }));
  },
  counted_decisions([client]) {
    const { granted, refused, tokens, byPolicy, waiting, waitTime } = clients.get(client).stats().limiter;
    return {
      granted,
      refused,
      tokens,
      by_policy: byPolicy,
      waiting,
      waits: waitTime.count,
    };
  },
  async reset([limiter], { key }) {
    await things.get(limiter).reset({ key });
  },
});
