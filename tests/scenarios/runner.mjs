// The runner of scenarios for Node: see README.md and runner.py.

import { createInterface } from "node:readline";

import { DlockError, connect } from "libdlock";

import { verbs as ofCountingSemaphores } from "./counting_semaphore_verbs.mjs";
import { verbs as ofHolds } from "./hold_verbs.mjs";
import { verbs as ofIds } from "./ids_verbs.mjs";
import { verbs as ofBloomFilters } from "./bloom_filter_verbs.mjs";
import { verbs as ofIdGenerators } from "./id_generator_verbs.mjs";
import { verbs as ofLatches } from "./latch_verbs.mjs";
import { verbs as ofLockAll } from "./lock_all_verbs.mjs";
import { verbs as ofLocks } from "./lock_verbs.mjs";
import { verbs as ofQueues } from "./queue_verbs.mjs";
import { verbs as ofRateLimiters } from "./rate_limiter_verbs.mjs";
import { verbs as ofRwLocks } from "./rw_lock_verbs.mjs";
import { verbs as ofSemaphores } from "./semaphore_verbs.mjs";
import { verbs as ofWorkers } from "./worker_verbs.mjs";

const url = process.argv[2];
const clients = new Map();
const things = new Map();

const verbs = {
  async forget() {
    for (const client of clients.values()) await client.close();
    clients.clear();
    things.clear();
  },
  async open([client], { at = url, ...options }) {
    const query = new URLSearchParams(options).toString();
    clients.set(client, await connect(query ? `${at}?${query}` : at));
  },
  async close([client], { release }) {
    await clients.get(client).close({ release: release === "true" });
  },
  ...ofHolds(clients, things),
  ...ofLocks(clients, things),
  ...ofLockAll(clients, things),
  ...ofRwLocks(clients, things),
  ...ofSemaphores(clients, things),
  ...ofCountingSemaphores(clients, things),
  ...ofLatches(clients, things),
  ...ofQueues(clients, things),
  ...ofIdGenerators(clients, things),
  ...ofBloomFilters(clients, things),
  ...ofRateLimiters(clients, things),
  ...ofIds(things),
  ...ofWorkers(clients, things),
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
    const { holder, remainingMs: remaining_ms, retryAfterMs, allowed, retryable } = error;
    const retry_after_us = retryAfterMs === undefined ? undefined : Math.round(retryAfterMs * 1000);
    const facts = told({ holder, remaining_ms, retry_after_us, allowed: allowed?.replaceAll(" ", "_"), retryable });
    console.log(["error", error.kind, ...facts, ":", error.message].join(" "));
  }
}
