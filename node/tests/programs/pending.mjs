// Leaves with 800 operations under way: pending.mjs URL NAME WAY

import { connect } from "libdlock";

const [url, name, way] = process.argv.slice(2);
const client = await connect(url, { onEvent: () => undefined });
const lock = client.lock(name);
const held = await lock.acquire();
const semaphore = client.semaphore(`${name}-permits`, 3);
const permits = await semaphore.acquire({ permits: 2 });
const latch = client.latch(`${name}-latch`);
await latch.trySetCount(1_000_000);
const counting = client.countingSemaphore(`${name}-counting`);
await counting.trySetPermits(2);
const slow = client.rateLimiter(`${name}-slow`, { tokens: 1, perMs: 3_600_000 });
await slow.tryAcquire();
const hot = client.rateLimiter(`${name}-hot`, { tokens: 5_000, perMs: 1_000, prefetch: 0.5 });
const log = client.rateLimiter(`${name}-log`, { tokens: 100_000, perMs: 1_000, algorithm: "sliding_log" });
const ids = (await client.worker(name)).snowflake();

// Leaves when so many have been carried out: where in all of it that is, is chance. A timer would come later, the more there is to do.
let left = Math.random() * 1_000;
let leave;
const leaving = new Promise((resolve) => (leave = resolve));

async function forever(turn) {
  for (;;) {
    await turn();
    if ((left -= 1) < 0) leave();
  }
}

const ignore = () => undefined;
for (let number = 0; number < 50; number++) {
  lock.acquire().catch(ignore);
  held.extend(30_000).catch(ignore);
  const mine = client.lock(`${name}-${number}`);
  forever(() => mine.withLock(ignore)).catch(ignore);
  semaphore.acquire({ permits: 2 }).catch(ignore);
  latch.wait().catch(ignore);
  forever(() => latch.countDown()).catch(ignore);
  forever(() => counting.acquire().then(() => counting.release())).catch(ignore);
  client
    .lockAll([name, `${name}-all-${number}`])
    .acquire()
    .catch(ignore);
  permits.extend(30_000).catch(ignore);
  const own = client.semaphore(`${name}-${number}-permits`, 3);
  forever(() => own.withPermits({ permits: 2 }, ignore)).catch(ignore);
  slow.acquire().catch(ignore);
  // Decisions without a round trip let the loop turn only if something else is awaited.
  forever(() => Promise.all([hot.acquire(), hot.tryAcquire(), log.peek()])).catch(ignore);
  forever(() => log.reserve().then(() => log.penalty(1))).catch(ignore);
  forever(() => log.tryAcquireMany([["a", 1]]).then(() => log.block(0))).catch(ignore);
  forever(() => log.reward(1).then(() => ids.nextIds(100))).catch(ignore);
  forever(() => client.worker(`${name}-${number}`).then((worker) => worker.release())).catch(ignore);
}
void held.signal;
void permits.signal;
// Some are on their way to the server, some waiting there, some finished and not yet fetched. One way is taken by a timer, as by
// most programs; the others from the middle of what is finished together. On memory:// a timer has its turn after seconds only.
if (way === "exit" && url !== "memory://") await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
else await leaving;
switch (way) {
  case "exit":
    process.exit(7);
    break;
  case "close":
    client.close().catch(ignore);
    process.exit(7);
    break;
  case "throw":
    process.exitCode = 7;
    process.on("uncaughtException", () => process.exit(7));
    throw new Error("on purpose");
  case "blocked": {
    // The loop stands still meanwhile: everything is finished and nothing fetched.
    const until = performance.now() + 30;
    while (performance.now() < until);
    process.exit(7);
  }
}
