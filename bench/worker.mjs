// The Node worker of bench/run.py: does something as often as CALLERS can in SECONDS.
//
//     worker.mjs pairs URL CALLERS SECONDS

import { once } from "node:events";
import { createInterface } from "node:readline";

import { connect } from "libdlock";

const WARM_UP_MS = 1000; // the compiler's, and so that connections and keys are warm before the clock starts

const [what, url, callers, seconds] = process.argv.slice(2);

// What a caller does, again and again.
const WORK = {
  pairs: (client, caller) => {
    const lock = client.lock(`bench-${caller}`);
    return async () => {
      const held = await lock.acquire();
      await held.release();
    };
  },
};

async function until(end, work) {
  let done = 0;
  while (performance.now() < end) {
    await work();
    done++;
  }
  return done;
}

const client = await connect(url);
const work = Array.from({ length: Number(callers) }, (_, i) => WORK[what](client, i));
async function all(ms) {
  const end = performance.now() + ms;
  const done = await Promise.all(work.map((each) => until(end, each)));
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
