// The peer of the Node worker: redis-semaphore's Mutex, and its Semaphore for `permits`. redis-semaphore-worker.mjs WHAT URL CALLERS SECONDS

import Redis from "ioredis";
import { Mutex, Semaphore } from "redis-semaphore";

import { PERMITS, run } from "./callers.mjs";

const [what, url, callers, seconds] = process.argv.slice(2);
const client = new Redis(url);

function open(name) {
  // A caller that did not get it in time would fail; ours wait for ever.
  const options = { lockTimeout: 30_000, acquireTimeout: 24 * 3600 * 1000 };
  const mutex = what === "permits" ? new Semaphore(client, name, PERMITS, options) : new Mutex(client, name, options);
  return { acquire: () => mutex.acquire().then(() => mutex) };
}

await run(what, open, Number(callers), Number(seconds));
client.disconnect();
