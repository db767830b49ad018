// The lock as a program uses it, on a server and on memory://.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fired, freshName, onBothBackends, rejects, stopwatch } from "./kit/index.mjs";

onBothBackends((context) => {
  describe("acquire", () => {
    it("brings a hold that is valid, and whose token grows", async () => {
      const lock = context.client.lock(freshName());
      let last = 0n;
      for (let round = 0; round < 3; round++) {
        const held = await lock.acquire();
        assert.equal(typeof held.token, "bigint");
        assert.ok(held.token > last);
        last = held.token;
        assert.match(held.owner, /^[0-9a-f-]{36}:\d+$/);
        assert.equal(held.valid, true);
        assert.ok(held.remainingMs > 26_000 && held.remainingMs < 27_000);
        assert.equal(held.holdCount, 1);
        assert.equal(held.lossReason, undefined);
        assert.equal(held.lock, lock);
        await held.release();
        assert.equal(held.valid, false);
        assert.equal(held.remainingMs, 0);
        assert.equal(held.holdCount, 0);
      }
    });

    it("rejects with BUSY when the wait is over, and says who holds it", async () => {
      const other = await context.open();
      const name = freshName();
      const held = await context.client.lock(name).acquire();
      const began = performance.now();
      const took = stopwatch();
      const error = await rejects(other.lock(name).acquire({ waitMs: 300 }), "BUSY");
      // The wait is the core's, on a clock of whole microseconds; a second is for a busy machine.
      assert.ok(performance.now() - began > 299 && took() < 1_300);
      assert.equal(error.object, name);
      assert.match(error.message, /held by/);
      await held.release();
    });

    it("is a hold of its own each time, in the same client too", async () => {
      const lock = context.client.lock(freshName());
      const first = await lock.acquire();
      await rejects(lock.acquire({ waitMs: 0 }), "BUSY");
      const second = lock.acquire();
      await first.release();
      await (await second).release();
    });

    it("is granted in the order of asking", async () => {
      const lock = context.client.lock(freshName());
      const first = await lock.acquire();
      const order = [];
      const all = [1, 2, 3, 4].map((n) => lock.withLock(() => order.push(n)));
      await first.release();
      await Promise.all(all);
      assert.deepEqual(order, [1, 2, 3, 4]);
    });
  });

  it("tryAcquire does not wait: a hold or null", async () => {
    const lock = context.client.lock(freshName());
    const held = await lock.tryAcquire({ leaseMs: 5_000 });
    assert.ok(held.remainingMs <= 5_000);
    assert.equal(await lock.tryAcquire(), null);
    await held.release();
  });

  describe("withLock", () => {
    it("gives the result of its function, which may be no promise", async () => {
      const lock = context.client.lock(freshName());
      assert.equal(await lock.withLock((held) => held.token > 0n), true);
      assert.equal(await lock.withLock({ waitMs: 0 }, async () => 7), 7);
      assert.equal(await context.client.withLock(freshName(), async () => 8), 8);
      const options = { leaseMs: 500, waitMs: 0 };
      assert.ok((await context.client.withLock(freshName(), options, (held) => held.remainingMs)) <= 500);
      assert.equal(await lock.locked(), false);
    });

    it("releases, and passes on what its function throws", async () => {
      const lock = context.client.lock(freshName());
      const failed = new Error("the work failed");
      await assert.rejects(
        lock.withLock(() => {
          throw failed;
        }),
        (error) => error === failed,
      );
      await assert.rejects(lock.withLock(() => Promise.reject(failed)));
      assert.equal(await lock.locked(), false);
    });

    it("releases every level, and nothing twice", async () => {
      const lock = context.client.lock(freshName());
      await lock.withLock((held) => held.reenter());
      await lock.withLock((held) => held.release());
      assert.equal(await lock.locked(), false);
    });

    it("rejects when the hold was lost meanwhile", async () => {
      const lock = context.client.lock(freshName(), { leaseMs: 100 });
      const error = await lock.withLock((held) => fired(held.signal)).catch((error) => error);
      assert.equal(error.kind, "NOT_HELD", error.stack);
    });

    it("that fails because the hold was lost rejects with that, and says no more", async () => {
      const warnings = [];
      const listener = (warning) => warnings.push(warning);
      process.on("warning", listener);
      const lock = context.client.lock(freshName(), { leaseMs: 100 });
      const work = async (held) => {
        throw await fired(held.signal);
      };
      const error = await rejects(lock.withLock(work), "LOST");
      assert.equal(error.lossReason, "expired");
      process.off("warning", listener);
      assert.deepEqual(warnings, []);
    });

    it("wants a function", async () => {
      await assert.rejects(context.client.lock("k").withLock({}), TypeError);
      await assert.rejects(context.client.withLock("k"), TypeError);
    });
  });

  it("a client's prefix is before every name, and not in `name`", async () => {
    const prefixed = await context.open({ keyPrefix: "app:" });
    const name = freshName();
    const lock = prefixed.lock(name);
    assert.equal(lock.name, name);
    assert.equal(lock.client, prefixed);
    await lock.withLock(async () => {
      assert.equal(await context.client.lock(name).locked(), false);
      assert.equal(await context.client.lock(`app:${name}`).locked(), true);
    });
  });
});
