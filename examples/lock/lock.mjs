// Two clients take turns on one lock.
import { connect } from "libdlock";

const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const first = await connect(url);
const second = await connect(url);

const token = await first.withLock("example-lock", { waitMs: 5_000 }, async (held) => {
  console.log("the first client holds the lock");
  const busy = (await second.lock("example-lock").tryAcquire()) === null;
  if (busy) console.log("the second client finds it busy");
  // Send the token with every write: the resource refuses one that is lower than the highest it has seen.
  return held.token;
});

await second.withLock("example-lock", { waitMs: 5_000 }, async (held) => {
  if (held.token > token) console.log("the second client holds it, with a larger token");
});

await first.close();
await second.close();
