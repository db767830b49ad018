// The Node worker of bench/run.py: does something as often as CALLERS can in SECONDS.
//
//     worker.mjs pairs|decisions|ids|batches URL CALLERS SECONDS

import { once } from "node:events";
import { createInterface } from "node:readline";

import { connect, Snowflake } from "libdlock";

const WARM_UP_MS = 1000; // the compiler's, and so that connections and keys are warm before the clock starts
const BATCH = 1000; // ids

const [what, url, callers, seconds] = process.argv.slice(2);

// What a caller does until a point of performance.now(); each resolves with how often it did it.
const WORK = {
  // Lock and unlock, a lock for each caller.
  pairs(client, caller) {
    const lock = client.lock(`bench-${caller}`);
    return async (end) => {
      let done = 0;
      while (performance.now() < end) {
        const held = await lock.acquire();
        await held.release();
        done++;
      }
      return done;
    };
  },

  // Decisions of one rate limiter, so wide that nobody is refused.
  decisions(client) {
    const limiter = client.rateLimiter("bench", { tokens: 1_000_000, perMs: 1000 });
    return async (end) => {
      let done = 0;
      while (performance.now() < end) {
        const { allowed } = await limiter.tryAcquire();
        if (!allowed) throw new Error("refused");
        done++;
      }
      return done;
    };
  },

  ids() {
    const ids = new Snowflake({ datacenter: 1, worker: 1 });
    return (end) => {
      let done = 0;
      while (performance.now() < end) {
        for (let each = 0; each < BATCH; each++) ids.nextId(); // asking for the time costs as much as an id
        done += BATCH;
      }
      return done;
    };
  },

  batches() {
    const ids = new Snowflake({ datacenter: 1, worker: 1 });
    return (end) => {
      let done = 0;
      while (performance.now() < end) done += ids.nextIds(BATCH).length;
      return done;
    };
  },
};

const client = await connect(url);
const work = Array.from({ length: Number(callers) }, (_, i) => WORK[what](client, i));
async function all(ms) {
  const end = performance.now() + ms;
  const done = await Promise.all(work.map((each) => each(end)));
  return done.reduce((sum, each) => sum + each);
}

await all(WARM_UP_MS);
const input = createInterface({ input: process.stdin });
console.log("ready");
await once(input, "line");
const begun = performance.now();
const done = await all(Number(seconds) * 1000);
console.log(JSON.stringify({ done, seconds: (performance.now() - begun) / 1000 }));
await once(input, "close"); // the driver reads our CPU time before it lets go
await client.close();
