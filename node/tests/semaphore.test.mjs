// The semaphore as a program of Node uses it, on a server and on memory://. What permits are is checked by tests/scenarios.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fired, freshName, onBothBackends, rejects, stopwatch, throws, until } from "./kit/index.mjs";

onBothBackends((context) => {
  const open = (permits, options) => context.client.semaphore(freshName(), permits, options);
  const available = async (semaphore) => (await semaphore.inspect()).available;

  describe("acquire", () => {
    it("brings a hold with the ids of its permits", async () => {
      const semaphore = open(5);
      const held = await semaphore.acquire({ permits: 3 });
      assert.equal(held.permits.length, 3);
      assert.equal(new Set(held.permits).size, 3);
      for (const id of held.permits) assert.match(id, /^[0-9a-f]{32}$/);
      assert.throws(() => held.permits.push("x"), TypeError);
      assert.match(held.owner, /^[0-9a-f-]{36}:\d+\/3$/);
      assert.equal(held.semaphore, semaphore);
      assert.equal(semaphore.client, context.client);
      assert.deepEqual([held.valid, held.holdCount, held.lossReason], [true, 1, undefined]);
      assert.ok(held.remainingMs > 26_000 && held.remainingMs < 27_000);
      assert.equal("token" in held, false);
      await held.release();
      assert.deepEqual([held.valid, held.holdCount, held.remainingMs, held.permits.length], [false, 0, 0, 3]);
    });

    it("takes one permit, each time for a hold of its own", async () => {
      const semaphore = open(2);
      const [first, second] = [await semaphore.acquire(), await semaphore.acquire()];
      assert.notDeepEqual(first.permits, second.permits);
      await first.release();
      assert.equal(second.valid, true);
      assert.equal(await available(semaphore), 1);
      await rejects(first.release(), "NOT_HELD");
      assert.equal(await available(semaphore), 1);
      await second.release();
    });

    it("rejects with BUSY when the wait is over, and says how many", async () => {
      const other = await context.open();
      const semaphore = open(3);
      const held = await semaphore.acquire({ permits: 2 });
      const began = performance.now();
      const took = stopwatch();
      const error = await rejects(other.semaphore(semaphore.name, 3).acquire({ permits: 2, waitMs: 300 }), "BUSY");
      // The wait is the core's, on a clock of whole microseconds; a second is for a busy machine.
      assert.ok(performance.now() - began > 299 && took() < 1_300);
      assert.equal(error.object, semaphore.name);
      assert.match(error.message, /only 1 of 3 permits are available/);
      await held.release();
    });

    it("is granted in the order of asking, few behind many", async () => {
      const semaphore = open(3);
      const first = await semaphore.acquire({ permits: 2 });
      const order = [];
      const all = [3, 1, 3].map((permits, n) => semaphore.withPermits({ permits }, () => order.push(n)));
      await first.release();
      await Promise.all(all);
      assert.deepEqual(order, [0, 1, 2]);
    });
  });

  it("tryAcquire does not wait: a hold or null", async () => {
    const semaphore = open(3);
    const held = await semaphore.tryAcquire({ permits: 2, leaseMs: 5_000 });
    assert.ok(held.remainingMs <= 5_000 && held.permits.length === 2);
    assert.equal(await semaphore.tryAcquire({ permits: 2 }), null);
    const last = await semaphore.tryAcquire();
    assert.equal(await semaphore.tryAcquire(), null);
    await Promise.all([held.release(), last.release()]);
  });

  it("more permits than there are in all are refused", async () => {
    const semaphore = open(3);
    for (const ask of [
      () => semaphore.acquire({ permits: 4 }),
      () => semaphore.tryAcquire({ permits: 4 }),
      () => semaphore.withPermits({ permits: 4 }, assert.fail),
    ])
      await rejects(ask(), "INVALID_ARGUMENT");
  });

  describe("withPermits", () => {
    it("gives the result of its function, which may be no promise", async () => {
      const semaphore = open(2);
      assert.equal(await semaphore.withPermits((held) => held.permits.length), 1);
      assert.equal(await semaphore.withPermits({ permits: 2, waitMs: 0 }, async (held) => held.permits.length), 2);
      assert.ok((await semaphore.withPermits({ leaseMs: 5_000 }, (held) => held.remainingMs)) <= 5_000);
      assert.equal(await available(semaphore), 2);
    });

    it("releases, and passes on what its function throws", async () => {
      const semaphore = open(1);
      const failed = new Error("the work failed");
      const work = semaphore.withPermits(() => {
        throw failed;
      });
      await assert.rejects(work, (error) => error === failed);
      await assert.rejects(semaphore.withPermits(() => Promise.reject(failed)));
      await semaphore.withPermits((held) => held.release());
      let released;
      assert.equal(await semaphore.withPermits((held) => ((released = held.release()), "done")), "done");
      await released;
      assert.equal(await available(semaphore), 1);
    });

    it("rejects when the hold was lost meanwhile, and tells of it", async () => {
      const semaphore = open(1, { leaseMs: 100 });
      let reason;
      const work = semaphore.withPermits(async (held) => (reason = await fired(held.signal)));
      await rejects(work, "NOT_HELD");
      assert.deepEqual([reason.code, reason.lossReason, reason.object], ["DLOCK_LOST", "expired", semaphore.name]);
    });

    it("inside of itself waits like anybody else", async () => {
      const semaphore = open(2);
      await semaphore.withPermits(async () => {
        await semaphore.withPermits(async () => {
          await rejects(semaphore.acquire({ waitMs: 200 }), "BUSY");
          assert.equal(await semaphore.tryAcquire(), null);
        });
        await semaphore.withPermits(() => undefined);
      });
      const single = open(1);
      let inner;
      await single.withPermits(async () => {
        inner = single.withPermits(() => "after the one around it");
        await single.inspect(); // the inner one is under way
      });
      assert.equal(await inner, "after the one around it");
    });

    it("is no withLock of that name", async () => {
      const { client } = context;
      const name = freshName();
      const between = client.semaphore(freshName(), 1);
      await client.withLock(name, () => between.withPermits(() => rejects(client.lock(name).acquire(), "DEADLOCK")));
      await between.withPermits(() => client.withLock(freshName(), () => undefined));
    });
  });

  describe("a hold of permits", () => {
    it("is extended for itself alone", async () => {
      const semaphore = open(2, { leaseMs: 5_000 });
      const [first, second] = [await semaphore.acquire(), await semaphore.acquire()];
      await first.extend(60_000);
      assert.ok(first.remainingMs > 40_000 && second.remainingMs <= 5_000);
      await rejects(first.extend(99), "INVALID_ARGUMENT");
      await rejects(first.extend(1.5), "INVALID_ARGUMENT");
      await assert.rejects(first.extend("5s"), TypeError);
      await Promise.all([first.release(), second.release()]);
      await rejects(first.extend(60_000), "NOT_HELD");
    });

    it("is released once, by any code that has it", async () => {
      const semaphore = open(3);
      const held = await semaphore.acquire({ permits: 2 });
      const outcomes = await Promise.allSettled([held.release(), held.release()]);
      assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
      assert.equal(await available(semaphore), 3);
      const disposed = await semaphore.acquire();
      await Promise.all([disposed[Symbol.asyncDispose](), disposed[Symbol.asyncDispose]()]);
      await disposed[Symbol.asyncDispose]();
      assert.equal(await available(semaphore), 3);
    });

    it("whose disposal finds it lost says so", async () => {
      const held = await open(1).acquire({ leaseMs: 100 });
      await fired(held.signal);
      await rejects(held[Symbol.asyncDispose](), "NOT_HELD");
    });

    it("fires no signal after a release", async () => {
      const semaphore = open(2);
      const held = await semaphore.acquire({ leaseMs: 500 });
      const { signal } = held;
      assert.equal(signal, held.signal);
      await held.release();
      // Longer than the first hold could have lasted.
      await fired((await semaphore.acquire({ leaseMs: 600 })).signal);
      assert.equal(signal.aborted, false);
    });
  });

  it("the number of permits is set for everybody, and wakes", async () => {
    const semaphore = open(2);
    assert.deepEqual(await semaphore.inspect(), { permits: undefined, available: 0, queued: 0 });
    const held = await semaphore.acquire({ permits: 2 });
    await semaphore.setPermits(1);
    assert.deepEqual(await semaphore.inspect(), { permits: 1, available: -1, queued: 0 });
    const other = (await context.open()).semaphore(semaphore.name, 2);
    const waiting = other.acquire();
    await until(async () => (await semaphore.inspect()).queued === 1);
    await semaphore.setPermits(3);
    await (await waiting).release();
    await held.release();
    assert.deepEqual(await semaphore.inspect(), { permits: 3, available: 3, queued: 0 });
  });

  it("a client that was told another number gets an event", async () => {
    const semaphore = open(5);
    const held = await semaphore.acquire();
    const events = [];
    const other = await context.open({ onEvent: (event) => events.push(event) });
    await other.semaphore(semaphore.name, 7).withPermits(() => undefined);
    await until(() => events.some(({ message }) => /has 5 permits on the server.* told 7/.test(message)));
    const { level, object } = events.find(({ message }) => message.includes("permits on the server"));
    assert.deepEqual([level, object], ["warn", semaphore.name]);
    await held.release();
  });

  it("a lock and a semaphore of one name are two", async () => {
    const semaphore = open(1);
    await semaphore.withPermits(async () => {
      await rejects(context.client.lock(semaphore.name).tryAcquire(), "WRONG_TYPE");
    });
    const lock = context.client.lock(freshName());
    await lock.withLock(async () => {
      const wrong = context.client.semaphore(lock.name, 1);
      await rejects(wrong.acquire(), "WRONG_TYPE");
      await rejects(wrong.inspect(), "WRONG_TYPE");
      await rejects(wrong.setPermits(5), "WRONG_TYPE");
    });
  });

  it("a client's prefix is before every name, and not in `name`", async () => {
    const prefixed = await context.open({ keyPrefix: "app:" });
    const semaphore = prefixed.semaphore(freshName(), 2);
    const there = context.client.semaphore(`app:${semaphore.name}`, 2);
    await semaphore.withPermits(async () => assert.equal(await available(there), 1));
  });

  it("1,000 callers at once are never more than its permits", async () => {
    const client = await context.open();
    const semaphore = client.semaphore(freshName(), 10);
    let running = 0;
    let most = 0;
    const done = await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => {
        const permits = 1 + (n % 3);
        return semaphore.withPermits({ permits }, async (held) => {
          running += permits;
          most = Math.max(most, running);
          await Promise.resolve();
          assert.equal(held.valid, true);
          running -= permits;
          return n;
        });
      }),
    );
    assert.deepEqual(done, [...done.keys()]);
    assert.ok(most > 3 && most <= 10, `${most} permits at once`);
    const { acquired, released, held, waiting } = client.stats().semaphore;
    assert.deepEqual([acquired, released, held, waiting], [1_000, 1_000, 0, 0]);
    assert.equal(await available(semaphore), 10);
  });

  describe("close", () => {
    it("sends those that wait home with CLOSED, and tells holders", async () => {
      const client = await context.open();
      const semaphore = client.semaphore(freshName(), 1);
      const held = await semaphore.acquire();
      const { signal } = held;
      const waiting = Array.from({ length: 100 }, () => rejects(semaphore.withPermits(assert.fail), "CLOSED"));
      await until(() => client.stats().semaphore.waiting === 100);
      await client.close({ release: true });
      await Promise.all(waiting);
      assert.equal((await fired(signal)).lossReason, "closed");
      assert.equal(held.valid, false);
      const left = context.client.semaphore(semaphore.name, 1);
      await (await left.acquire({ waitMs: 2_000 })).release();
    });

    it("is the end of its semaphores", async () => {
      const client = await context.open();
      const semaphore = client.semaphore(freshName(), 1);
      await client.close();
      throws(() => client.semaphore("k", 1), "CLOSED");
      await rejects(semaphore.acquire(), "CLOSED");
      await rejects(semaphore.tryAcquire(), "CLOSED");
      await rejects(semaphore.withPermits(assert.fail), "CLOSED");
      await rejects(semaphore.setPermits(2), "CLOSED");
      await rejects(semaphore.inspect(), "CLOSED");
    });
  });
});
