// Makes ids in a worker thread, some one by one and some in batches.

import { parentPort, workerData } from "node:worker_threads";

import { Snowflake } from "libdlock";

const { count, ...place } = workerData;
const ids = new Snowflake(place);
const made = new BigInt64Array(count);
for (let n = 0; n < count;) {
  if (n % 7 === 0 && count - n > 1_000) {
    made.set(ids.nextIds(1_000), n);
    n += 1_000;
  } else made[n++] = ids.nextId();
}
parentPort.postMessage(made);
