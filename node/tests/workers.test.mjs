// worker_threads: a port for each, and an end at any time.

import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";

import { connect } from "libdlock";

import { LONG, TESTS, freshName, stopwatch, until, useServer } from "./kit/index.mjs";

const start = (workerData) => new Worker(join(TESTS, "programs/worker.mjs"), { workerData });

describe("worker threads", () => {
  const shared = useServer();

  it("share a lock with one another and with the main thread", async () => {
    const counter = new SharedArrayBuffer(4);
    const data = { url: shared.server.url, name: freshName(), what: "count", counter };
    const workers = [start(data), start(data), start(data)];
    const codes = await Promise.all(workers.map((worker) => once(worker, "exit")));
    assert.deepEqual(codes.flat(), [0, 0, 0]);
    assert.equal(new Int32Array(counter)[0], 600);
  });

  it("one that ends while it holds does not renew any more", async () => {
    const name = freshName();
    const worker = start({ url: shared.server.url, name, what: "hold" });
    const [token] = await once(worker, "message");
    const client = await connect(shared.server.url, { pollIntervalMs: 50 });
    await worker.terminate();
    const took = stopwatch();
    const held = await client.lock(name).acquire({ waitMs: 5_000 });
    assert.ok(held.token > token);
    // Its lease, a poll, and what a busy machine takes.
    assert.ok(took() < 500 + 60 + 2_000);
    await client.close({ release: true });
  });

  it("share permits with one another, never more than there are", async () => {
    const counter = new SharedArrayBuffer(12);
    const data = { url: shared.server.url, name: freshName(), what: "count permits", counter };
    const workers = [start(data), start(data), start(data)];
    const codes = await Promise.all(workers.map((worker) => once(worker, "exit")));
    assert.deepEqual(codes.flat(), [0, 0, 0]);
    assert.deepEqual([...new Int32Array(counter)], [0, 0, 300]);
  });

  it("one that ends while it holds permits does not renew them", async () => {
    const name = freshName();
    const worker = start({ url: shared.server.url, name, what: "hold permits" });
    const [permits] = await once(worker, "message");
    assert.equal(permits.length, 2);
    const client = await connect(shared.server.url, { pollIntervalMs: 50 });
    await worker.terminate();
    const took = stopwatch();
    const held = await client.semaphore(name, 3).acquire({ permits: 2, waitMs: 5_000 });
    // Its lease, a poll, and what a busy machine takes.
    assert.ok(took() < 500 + 60 + 2_000);
    await held.release();
    await client.close();
  });

  it("read together and write alone, across threads", async () => {
    const counter = new SharedArrayBuffer(16);
    const data = { url: shared.server.url, name: freshName(), what: "read and write", counter };
    const workers = [start(data), start(data), start(data)];
    const codes = await Promise.all(workers.map((worker) => once(worker, "exit")));
    assert.deepEqual(codes.flat(), [0, 0, 0]);
    assert.deepEqual([...new Int32Array(counter)], [0, 0, 0, 300]);
  });

  for (const [side, other] of [
    ["read", "write"],
    ["write", "read"],
  ]) {
    it(`one that ends while it holds the ${side} side does not renew it`, async () => {
      const name = freshName();
      const worker = start({ url: shared.server.url, name, what: "hold a side", side });
      const [token] = await once(worker, "message");
      const client = await connect(shared.server.url, { pollIntervalMs: 50 });
      await worker.terminate();
      const took = stopwatch();
      const held = await client.rwLock(name)[other].acquire({ waitMs: 5_000 });
      assert.ok(held.token > token);
      // Its lease, a poll, and what a busy machine takes.
      assert.ok(took() < 500 + 60 + 2_000);
      await held.release();
      await client.close();
    });
  }

  async function terminateBusyOnes(rounds, url) {
    for (let round = 0; round < rounds; round++) {
      const workers = Array.from({ length: 3 }, () => start({ url, name: freshName(), what: "busy" }));
      // Some are ended while they load the addon or connect, some in the middle of everything.
      if (round % 3 > 0) await Promise.all(workers.map((worker) => once(worker, "message")));
      if (round % 3 > 1) await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
    // The process and the library in it live.
    const client = await connect(url);
    await client.withLock(freshName(), () => undefined);
    await client.semaphore(freshName(), 1).withPermits(() => undefined);
    await client.rwLock(freshName()).withWrite((held) => held.downgrade());
    await client.close();
  }

  for (const url of ["redis", "memory://"]) {
    it(`are terminated at any time: ${url}`, () => terminateBusyOnes(9, url === "redis" ? shared.server.url : url));
    it(`are terminated at any time, 100 rounds: ${url}`, { skip: LONG }, () =>
      terminateBusyOnes(100, url === "redis" ? shared.server.url : url),
    );
  }

  it("a client belongs to its thread, and leaves no connection when that ends", async () => {
    const clients = async () => (await shared.server.command("CLIENT", "LIST")).match(/ name=libdlock/g)?.length ?? 0;
    await until(async () => (await clients()) === 0); // those of the tests before are gone
    const worker = start({ url: shared.server.url, name: freshName(), what: "hold" });
    await once(worker, "message");
    assert.ok((await clients()) > 0);
    await worker.terminate();
    await until(async () => (await clients()) === 0);
  });
});
