// Operations that are finished as soon as they are begun, without end: the loop goes on to its other work all the same.

import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { connect } from "libdlock";

it("operations on memory:// leave timers and sockets their turn", async () => {
  const client = await connect("memory://");
  const semaphore = client.semaphore("k", 3);
  const lock = client.lock("k2");
  const rw = client.rwLock("k3");
  let rounds = 0;
  let stopped = false;
  const without = async (use) => {
    for (; !stopped; rounds += 1) await use(() => undefined);
  };
  const loops = [
    without((run) => lock.withLock(run)),
    without((run) => semaphore.withPermits(run)),
    without((run) => rw.withRead(run)),
  ];
  await turn();
  const most = [];
  for (let n = 0; n < 20; n++) {
    const before = rounds;
    await turn();
    most.push(rounds - before);
  }
  stopped = true;
  await Promise.all(loops);
  await client.close();
  assert.ok(
    most.some((done) => done > 0),
    "nothing ran",
  );
  // Three loops, two drains for a round, 64 drains in a turn. Without a bound Node goes on for a thousand.
  assert.ok(Math.max(...most) <= 200, String(most));
});
