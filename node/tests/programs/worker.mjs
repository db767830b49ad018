// A worker thread: does what its data says, tells its parent, and goes on until it is terminated.

import { parentPort, workerData } from "node:worker_threads";

import { connect } from "libdlock";

const { url, name, what } = workerData;
const client = await connect(url, { leaseMs: 500, onEvent: () => undefined });

async function forever(lock) {
  for (;;) await lock.withLock(() => undefined);
}

switch (what) {
  case "hold": {
    const held = await client.lock(name).acquire();
    held.signal.addEventListener("abort", () => parentPort.postMessage("lost"));
    parentPort.postMessage(held.token);
    setInterval(() => undefined, 60_000);
    break;
  }
  case "busy":
    for (let n = 0; n < 50; n++) {
      void forever(client.lock(`${name}-${n}`));
      void client.lock(name).acquire();
    }
    parentPort.postMessage("busy");
    break;
  case "count":
    for (let n = 0; n < 200; n++) {
      await client.withLock(name, () => {
        const counter = new Int32Array(workerData.counter);
        const seen = counter[0];
        for (let spin = 0; spin < 1_000; spin++);
        counter[0] = seen + 1;
      });
    }
    await client.close();
    break;
}
