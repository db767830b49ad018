// Two clients share three permits.
import { connect } from "libdlock";

const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const first = await connect(url);
const second = await connect(url);
const other = second.semaphore("example-semaphore", 3);

// Those of a process that dies come back when its lease ends.
await first.semaphore("example-semaphore", 3).withPermits({ permits: 2 }, async () => {
  console.log("the first client holds two of three permits");
  const none = (await other.tryAcquire({ permits: 2 })) === null;
  if (none) console.log("the second client finds no two available");
});

await other.withPermits({ permits: 2, waitMs: 5_000 }, () => {
  console.log("the second client holds two");
});

await first.close();
await second.close();
