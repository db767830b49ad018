// Deliveries of a queue: how they end, by their worker and without it.

import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { Worker } from "node:worker_threads";

import { TESTS, fired, freshName, onBothBackends, rejects } from "./kit/index.mjs";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");

const left = async (queue) => {
  const { ready, delayed, inFlight, dead } = await queue.counts();
  return [ready, delayed, inFlight, dead];
};

onBothBackends((context) => {
  const open = (options) => context.client.queue(freshName(), options);
  const elsewhere = async ({ name }, options) => (await context.open()).queue(name, options);

  it("a delivery that is over cannot be ended or extended", async () => {
    const queue = open();
    for (const end of ["ack", "nack", "giveBack"]) {
      await queue.put("x", { id: end });
      const delivery = await queue.take();
      assert.equal(delivery.id, end);
      const both = await Promise.allSettled([delivery[end](), delivery.ack()]);
      assert.deepEqual(
        both.map(({ status, reason }) => reason?.kind ?? status),
        ["fulfilled", "NOT_HELD"],
      );
      for (const call of [
        () => delivery.ack(),
        () => delivery.nack(),
        () => delivery.giveBack(),
        () => delivery.extend(500),
      ]) {
        const error = await rejects(call(), "NOT_HELD");
        assert.equal(error.object, queue.name);
      }
      assert.deepEqual([delivery.valid, delivery.remainingMs, delivery.lossReason], [false, 0, undefined]);
      assert.equal(delivery.signal.aborted, false);
      await delivery[Symbol.asyncDispose]();
      await queue.purge();
    }
  });

  it("a delivery whose nack is refused is held as before", async () => {
    const queue = open();
    await queue.put("x");
    const delivery = await queue.take();
    await rejects(delivery.nack({ delayMs: -1 }), "INVALID_ARGUMENT");
    await rejects(delivery.nack({ reason: "\ud800" }), "INVALID_ARGUMENT");
    assert.deepEqual([delivery.valid, delivery.ended], [true, false]);
    await delivery.extend(60_000);
    assert.ok(delivery.remainingMs > 40_000);
    await delivery.ack();
  });

  it("a delivery that is lost fires its signal and is not acknowledged", async () => {
    const queue = open({ leaseMs: 120 });
    const theirs = await elsewhere(queue);
    await queue.put("x");
    const delivery = await queue.take();
    const reason = await fired(delivery.signal);
    assert.deepEqual([reason.code, reason.lossReason, reason.object], ["DLOCK_LOST", "expired", queue.name]);
    const again = await theirs.take({ waitMs: 20_000 });
    assert.equal(again.attempt, 2);
    await rejects(delivery.ack(), "NOT_HELD");
    assert.deepEqual([delivery.lossReason, delivery.valid, delivery.signal.aborted], ["expired", false, true]);
    await delivery[Symbol.asyncDispose]();
    await again.ack();
  });

  it("a scope puts back what it has not ended", async () => {
    const queue = open();
    await queue.put("x");
    const first = await queue.take();
    await first[Symbol.asyncDispose]();
    await first[Symbol.asyncDispose]();
    const second = await queue.take();
    assert.equal(second.attempt, 2);
    await second.ack();
    await second[Symbol.asyncDispose]();
    assert.deepEqual(await left(queue), [0, 0, 0, 0]);
  });

  it("a delivery that is collected goes back, with a warning", async () => {
    const queue = open();
    await queue.put("x");
    const warned = once(process, "warning");
    await (async () => void (await queue.take()))();
    const collecting = setInterval(gc, 5);
    const [warning] = await warned;
    clearInterval(collecting);
    assert.equal(warning.code, "DLOCK_COLLECTED");
    assert.match(warning.message, /Its job goes back: end each delivery/);
    const again = await queue.take({ waitMs: 20_000 });
    assert.equal(again.attempt, 2);
    await again.ack();
  });

  it("what a worker thread has goes back when that is terminated", async () => {
    const queue = open();
    await queue.putMany(Array.from({ length: 20 }, (_, at) => String(at)));
    const workerData = { url: context.url, name: queue.name, most: 20 };
    const thread = new Worker(join(TESTS, "programs/queue-thread.mjs"), { workerData });
    const [taken] = await once(thread, "message");
    assert.equal(taken, 20);
    await thread.terminate();
    const again = [];
    while (again.length < 20) {
      const [delivery] = await queue.takeMany(1, { waitMs: 20_000 });
      assert.equal(delivery.attempt, 2);
      again.push(delivery);
    }
    // The lease, which would bring them too, is 30 s.
    for (const delivery of again) await delivery.ack();
    assert.deepEqual(await left(queue), [0, 0, 0, 0]);
  });
});
