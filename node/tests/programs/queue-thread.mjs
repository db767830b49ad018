// A worker thread that takes jobs of a queue and ends none of them.

import { parentPort, workerData } from "node:worker_threads";

import { connect } from "libdlock";

const { url, name, most } = workerData;
const client = await connect(url);
const taken = await client.queue(name).takeMany(most);
// One more take, which waits.
void client.queue(name).take();
globalThis.kept = taken;
parentPort.postMessage(taken.length);
setInterval(() => undefined, 1_000);
