// A worker thread: does what its data says, tells its parent, and goes on until it is terminated.

import { parentPort, workerData } from "node:worker_threads";

import { connect } from "libdlock";

const { url, name, what } = workerData;
// Those that are busy wait for many locks at once. Nobody waits for their leases, and none shall run out on a machine that is busy, too.
const client = await connect(url, { leaseMs: what === "busy" ? 60_000 : 500, onEvent: () => undefined });

async function forever(turn) {
  for (;;) await turn();
}

switch (what) {
  case "hold": {
    const held = await client.lock(name).acquire();
    held.signal.addEventListener("abort", () => parentPort.postMessage("lost"));
    parentPort.postMessage(held.token);
    setInterval(() => undefined, 60_000);
    break;
  }
  case "hold permits": {
    const held = await client.semaphore(name, 3).acquire({ permits: 2 });
    held.signal.addEventListener("abort", () => parentPort.postMessage("lost"));
    parentPort.postMessage(held.permits);
    setInterval(() => undefined, 60_000);
    break;
  }
  case "hold a side": {
    const held = await client.rwLock(name)[workerData.side].acquire();
    held.signal.addEventListener("abort", () => parentPort.postMessage("lost"));
    parentPort.postMessage(held.token);
    setInterval(() => undefined, 60_000);
    break;
  }
  case "busy":
    for (let n = 0; n < 25; n++) {
      const [lock, semaphore] = [client.lock(`${name}-${n}`), client.semaphore(`${name}-${n}-permits`, 3)];
      const rw = client.rwLock(`${name}-${n}-rw`);
      void forever(() => lock.withLock(() => undefined));
      void client.lock(name).acquire();
      void forever(() => semaphore.withPermits({ permits: 2 }, () => undefined));
      void forever(() => rw.withRead(() => undefined));
      void forever(() => rw.withWrite((held) => void held.downgrade()));
      void client.semaphore(`${name}-permits`, 3).acquire({ permits: 2 });
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
  case "count permits": {
    const running = new Int32Array(workerData.counter); // permits that are held; too many, if ever; jobs done
    const semaphore = client.semaphore(name, 3);
    const jobs = Array.from({ length: 100 }, (_, n) =>
      semaphore.withPermits({ permits: 1 + (n % 2) }, async ({ permits }) => {
        const now = Atomics.add(running, 0, permits.length) + permits.length;
        if (now > 3) Atomics.store(running, 1, now);
        await new Promise((resolve) => setImmediate(resolve));
        Atomics.sub(running, 0, permits.length);
        Atomics.add(running, 2, 1);
      }),
    );
    await Promise.all(jobs);
    await client.close();
    break;
  }
  case "read and write": {
    const seen = new Int32Array(workerData.counter); // readers, writers, mistakes, jobs done
    const rw = client.rwLock(name);
    const inside = async (mine, others, most) => {
      if (Atomics.add(seen, mine, 1) >= most || others.some((at) => Atomics.load(seen, at) > 0))
        Atomics.add(seen, 2, 1);
      await new Promise((resolve) => setImmediate(resolve));
      Atomics.sub(seen, mine, 1);
      Atomics.add(seen, 3, 1);
    };
    const jobs = Array.from({ length: 100 }, (_, n) =>
      n % 5 === 0 ? rw.withWrite(() => inside(1, [0], 1)) : rw.withRead(() => inside(0, [1], Infinity)),
    );
    await Promise.all(jobs);
    await client.close();
    break;
  }
}
