// What a client has counted; the names that every language has.

import assert from "node:assert/strict";
import { it } from "node:test";

import { freshName, onBothBackends, rejects, until, vectorFile } from "./kit/index.mjs";

const camel = (name) => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
const names = vectorFile("stats");

onBothBackends((context) => {
  it("has the names of every language, in camel case", () => {
    const stats = context.client.stats();
    assert.deepEqual(Object.keys(stats), [...names.counters, ...Object.keys(names.blocks)].map(camel));
    for (const [block, { counters, histograms }] of Object.entries(names.blocks)) {
      const seen = stats[camel(block)];
      assert.deepEqual(Object.keys(seen), [...counters, ...histograms].map(camel));
      for (const histogram of histograms.map(camel)) {
        const withUnit = (name) => (["count", "buckets"].includes(name) ? name : `${name}Ms`);
        assert.deepEqual(Object.keys(seen[histogram]).sort(), names.histogram.map(withUnit).sort());
        assert.equal(seen[histogram].buckets.length, names.buckets);
      }
    }
  });

  it("counts what a client's locks do", async () => {
    const client = await context.open();
    const lock = client.lock(freshName());
    const first = await lock.acquire();
    first.reenter(); // no acquire
    await rejects(lock.acquire({ waitMs: 0 }), "BUSY");
    const second = lock.acquire();
    assert.deepEqual(
      [client.stats().lock.held, client.stats().lock.waiting, client.stats().lock.waitTimeouts],
      [1, 1, 1],
    );
    await first.release();
    await first.release();
    await (await second).release();
    const { acquired, contended, handedOverLocal, handedOverRemote, released, held, waiting, ...rest } =
      client.stats().lock;
    assert.deepEqual([acquired, contended, handedOverLocal + handedOverRemote], [2, 1, 1]);
    assert.deepEqual([released, held, waiting, rest.lost, rest.cancelled], [2, 0, 0, 0, 0]);
    assert.equal(rest.waitTime.count, 2);
    assert.ok(rest.waitTime.p50Ms <= rest.waitTime.p99Ms && rest.waitTime.p99Ms <= rest.waitTime.maxMs);
    assert.equal(
      rest.holdTime.buckets.reduce((sum, count) => sum + count),
      2,
    );
    await client.close();
    assert.equal(client.stats().lock.acquired, 2);
  });

  it("counts what a client's semaphores do, apart from its locks", async () => {
    const client = await context.open();
    const semaphore = client.semaphore(freshName(), 3);
    const first = await semaphore.acquire({ permits: 3 });
    await rejects(semaphore.acquire({ waitMs: 0 }), "BUSY");
    assert.equal(await semaphore.tryAcquire(), null);
    const given = new AbortController();
    const cancelled = semaphore.acquire({ signal: given.signal });
    const second = semaphore.acquire({ permits: 2 });
    await until(() => client.stats().semaphore.waiting === 2);
    assert.deepEqual([client.stats().semaphore.held, client.stats().semaphore.waitTimeouts], [1, 2]);
    given.abort();
    await assert.rejects(cancelled, { name: "AbortError" });
    await first.release();
    await (await second).release();
    const { acquired, contended, handedOverLocal, handedOverRemote, ...rest } = client.stats().semaphore;
    assert.deepEqual([acquired, contended, handedOverLocal + handedOverRemote], [2, 1, 1]);
    assert.deepEqual([rest.released, rest.held, rest.waiting, rest.lost, rest.cancelled], [2, 0, 0, 0, 1]);
    assert.deepEqual([rest.waitTime.count, rest.holdTime.count], [2, 2]);
    assert.deepEqual([client.stats().lock.acquired, client.stats().lock.waitTimeouts], [0, 0]);
    await client.close();
  });

  it("counts what a client's read-write locks do, apart from its locks", async () => {
    const client = await context.open();
    const rw = client.rwLock(freshName());
    const [one, two] = [await rw.read.acquire(), await rw.read.acquire()];
    await rejects(rw.write.acquire({ waitMs: 0 }), "BUSY");
    assert.equal(await rw.write.tryAcquire(), null);
    const given = new AbortController();
    const cancelled = rw.write.acquire({ signal: given.signal });
    const third = rw.withWrite(() => undefined);
    await until(() => client.stats().rwLock.waiting === 2);
    assert.equal(client.stats().rwLock.waitTimeouts, 2);
    given.abort();
    await assert.rejects(cancelled, { name: "AbortError" });
    await Promise.all([one.release(), two.release()]);
    await third;
    const { acquired, contended, ...rest } = client.stats().rwLock;
    assert.deepEqual([acquired, contended], [3, 1]);
    assert.deepEqual([rest.released, rest.held, rest.waiting, rest.lost, rest.cancelled], [3, 0, 0, 0, 1]);
    assert.deepEqual([rest.waitTime.count, rest.holdTime.count], [3, 3]);
    assert.deepEqual([client.stats().lock.acquired, client.stats().lock.waitTimeouts], [0, 0]);
    await client.close();
  });
});
