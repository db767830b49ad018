// The runner of scenarios for Node: see README.md and runner.py.

import { createInterface } from "node:readline";

import { DlockError, Snowflake, connect } from "libdlock";

const url = process.argv[2];
const clients = new Map();
const things = new Map();

const number = (given) => (given === undefined ? undefined : Number(given));
const whole = (length) => (length === undefined ? undefined : Math.round(length));
const us = (lengthMs) => (lengthMs === undefined ? undefined : Math.round(lengthMs * 1000));

function kept(name, hold) {
  things.set(name, hold);
  return { token: hold.token, owner: hold.owner };
}

function decided(decision) {
  return {
    allowed: decision.allowed,
    granted: decision.granted,
    remaining: decision.remaining,
    retry_after_us: us(decision.retryAfterMs),
    reset_after_us: us(decision.resetAfterMs),
    limit: decision.limit,
  };
}

// Without a wait that is given, an absent policy is a word; a share is an object.
const policy = (absent, shareOf) => (shareOf === undefined ? absent : { localShare: Number(shareOf) });

const verbs = {
  async forget() {
    for (const client of clients.values()) await client.close();
    clients.clear();
    things.clear();
  },
  async open([client], options) {
    const query = new URLSearchParams(options).toString();
    clients.set(client, await connect(query ? `${url}?${query}` : url));
  },
  async close([client], { release }) {
    await clients.get(client).close({ release: release === "true" });
  },
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
    return { held: holder !== undefined, ours, ttl_ms: whole(ttlMs), token, queued };
  },
  async force([client, name]) {
    return { was_held: await clients.get(client).lock(name).forceRelease() };
  },
  limiter([client, name, limiter], { tokens, per_us, burst, absent, share_of }) {
    const rate = { tokens: Number(tokens), perMs: Number(per_us) / 1000, burst: number(burst) };
    things.set(limiter, clients.get(client).rateLimiter(name, { ...rate, absent: policy(absent, share_of) }));
  },
  async spend([limiter], { cost, wait_ms = "0" }) {
    return decided(await things.get(limiter).acquire(Number(cost), { waitMs: Number(wait_ms) }));
  },
  async peek([limiter]) {
    return decided(await things.get(limiter).peek());
  },
  async reset([limiter]) {
    await things.get(limiter).reset();
  },
  generator([generator], { datacenter, worker, layout = "default" }) {
    things.set(generator, new Snowflake({ datacenter: Number(datacenter), worker: Number(worker), layout }));
  },
  ids([generator], { count }) {
    const ids = things.get(generator).nextIds(Number(count));
    return {
      first: ids[0],
      last: ids[ids.length - 1],
      increasing: ids.every((id, at) => at === 0 || ids[at - 1] < id),
    };
  },
  decode([generator], { id }) {
    const { datacenter, worker, sequence } = things.get(generator).decode(BigInt(id));
    return { datacenter, worker, sequence };
  },
  encode(_, { id, base }) {
    return { text: Snowflake.encode(BigInt(id), Number(base)) };
  },
  parse(_, { text, base }) {
    return { id: Snowflake.parse(text, Number(base)) };
  },
};

const told = (values) => Object.entries(values).map(([name, value]) => `${name}=${value ?? "none"}`);

console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [verb, ...words] = line.split(" ");
  const objects = words.filter((word) => !word.includes("="));
  const options = words.filter((word) => word.includes("="));
  const split = (word) => [word.slice(0, word.indexOf("=")), word.slice(word.indexOf("=") + 1)];
  try {
    const values = (await verbs[verb](objects, Object.fromEntries(options.map(split)))) ?? {};
    console.log(["ok", ...told(values)].join(" "));
  } catch (error) {
    if (!(error instanceof DlockError)) throw error;
    const { holder, remainingMs: remaining_ms, allowed, retryable } = error;
    const facts = told({ holder, remaining_ms, allowed: allowed?.replaceAll(" ", "_"), retryable });
    console.log(["error", error.kind, ...facts, ":", error.message].join(" "));
  }
}
