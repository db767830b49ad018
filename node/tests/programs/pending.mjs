// Leaves with 300 operations under way: pending.mjs URL NAME WAY

import { connect } from "libdlock";

const [url, name, way] = process.argv.slice(2);
const client = await connect(url, { onEvent: () => undefined });
const lock = client.lock(name);
const held = await lock.acquire();

async function forever(mine) {
  for (;;) await mine.withLock(() => undefined);
}

const ignore = () => undefined;
for (let number = 0; number < 100; number++) {
  lock.acquire().catch(ignore);
  held.extend(30_000).catch(ignore);
  forever(client.lock(`${name}-${number}`)).catch(ignore);
}
void held.signal;
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
