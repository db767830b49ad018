// Lock and unlock as fast as CALLERS can, each with a lock of its own: the Node worker of bench/run.py.
//
//     pairs.mjs URL CALLERS SECONDS

import { once } from "node:events";
import { createInterface } from "node:readline";

import { connect } from "libdlock";

const WARM_UP_MS = 1000; // the compiler's, and so that connections and keys are warm before the clock starts

const [url, callers, seconds] = process.argv.slice(2);

async function caller(lock, end) {
  let pairs = 0;
  while (performance.now() < end) {
    const held = await lock.acquire();
    await held.release();
    pairs++;
  }
  return pairs;
}

const client = await connect(url);
const locks = Array.from({ length: Number(callers) }, (_, i) => client.lock(`bench-${i}`));
const all = (ms) => {
  const end = performance.now() + ms;
  return Promise.all(locks.map((lock) => caller(lock, end)));
};

await all(WARM_UP_MS);
const input = createInterface({ input: process.stdin });
console.log("ready");
await once(input, "line");
const begun = performance.now();
const pairs = (await all(Number(seconds) * 1000)).reduce((sum, each) => sum + each);
console.log(JSON.stringify({ pairs, seconds: (performance.now() - begun) / 1000 }));
await once(input, "close"); // the driver reads our CPU time before it lets go
await client.close();
