// The peer of the Node worker on several servers: redlock. redlock-worker.mjs WHAT URL CALLERS SECONDS

import Redis from "ioredis";
import Redlock from "redlock";

import { run } from "./callers.mjs";

const LEASE_MS = 30_000; // as ours; it is not extended

const [what, url, callers, seconds] = process.argv.slice(2);
const addresses = url.replace("redis+quorum://", "").replace(/\?.*/, "").split(",");
const clients = addresses.map((address) => new Redis(`redis://${address}`));
// As it comes, driftFactor and times between tries included; but where a lock is not free, it would give up after ten retries,
// and ours wait for ever.
const redlock = new Redlock(clients, what === "contended" ? { retryCount: -1 } : {});

function open(name) {
  return { acquire: () => redlock.lock(name, LEASE_MS).then((held) => ({ release: () => held.unlock() })) };
}

await run(what, open, Number(callers), Number(seconds));
for (const client of clients) client.disconnect();
