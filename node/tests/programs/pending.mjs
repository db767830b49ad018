// Leaves with 500 operations under way: pending.mjs URL NAME WAY

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

async function forever(turn) {
  for (;;) await turn();
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
}
void held.signal;
void permits.signal;
// Some are on their way to the server, some waiting there, some finished and not yet fetched.
await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
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
