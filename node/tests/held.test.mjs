// The object of a hold: its signal, its ends, re-entry, and calls after the end.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fired, freshName, onBothBackends, oneOfFive, rejects, stopwatch, throws } from "./kit/index.mjs";

onBothBackends((context) => {
  describe("signal", () => {
    it("fires before the end of validity, with LOST and why", () =>
      oneOfFive(async () => {
        const held = await context.client.lock(freshName()).acquire({ leaseMs: 300 });
        assert.equal(held.signal, held.signal);
        assert.equal(held.signal.aborted, false);
        let leftMs;
        held.signal.addEventListener("abort", () => (leftMs = held.remainingMs));
        const reason = await fired(held.signal);
        assert.equal(reason.code, "DLOCK_LOST");
        assert.equal(reason.lossReason, "expired");
        assert.equal(reason.object, held.lock.name);
        assert.equal(held.lossReason, "expired");
        assert.ok(leftMs > 0, "the hold was over before the signal fired");
        assert.ok(leftMs <= 50, `${leftMs} ms before the end`);
        await rejects(held.release(), "NOT_HELD");
      }));

    it("tells of a lock that was forced free", async () => {
      const client = await context.open({ leaseMs: 300 });
      const lock = client.lock(freshName());
      const held = await lock.acquire();
      const { signal } = held;
      await lock.forceRelease();
      assert.equal((await fired(signal)).lossReason, "deleted");
      assert.equal(held.valid, false);
      await rejects(held.release(), "NOT_HELD");
    });

    it("never fires after a release, and has fired when asked for after a loss", async () => {
      const lock = context.client.lock(freshName());
      const held = await lock.acquire({ leaseMs: 500 });
      const { signal } = held;
      await held.release();
      const next = await lock.acquire({ leaseMs: 500 });
      await fired(next.signal); // longer than the first hold could have lasted
      assert.equal(signal.aborted, false);
      const third = await lock.acquire({ leaseMs: 500 });
      await rejects(lock.acquire({ waitMs: 0 }), "BUSY");
      while (third.valid) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(third.signal.aborted, true);
      assert.equal(third.signal.reason.lossReason, "expired");
    });

    it("fires when the client is closed while held", async () => {
      const client = await context.open();
      const held = await client.lock(freshName()).acquire();
      const { signal } = held;
      await client.close();
      assert.equal((await fired(signal)).lossReason, "closed");
      assert.equal(client.closed, true);
    });
  });

  describe("release", () => {
    it("a second time is NOT_HELD, and frees nobody else's hold", async () => {
      const lock = context.client.lock(freshName());
      const first = await lock.acquire();
      await first.release();
      await rejects(first.release(), "NOT_HELD");
      const second = await lock.acquire();
      await rejects(first.release(), "NOT_HELD");
      await rejects(first.detach(), "NOT_HELD");
      assert.equal(second.valid, true);
      await second.release();
    });

    it("twice at once succeeds once", async () => {
      const held = await context.client.lock(freshName()).acquire();
      const outcomes = await Promise.allSettled([held.release(), held.release()]);
      assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    });

    it("undoes one level of 10,000", async () => {
      const lock = context.client.lock(freshName());
      const held = await lock.acquire();
      for (let level = 2; level <= 10_000; level++) held.reenter();
      assert.equal(held.holdCount, 10_000);
      await held.release();
      assert.equal(held.holdCount, 9_999);
      assert.equal(await lock.locked(), true);
      await held[Symbol.asyncDispose]();
      assert.equal(held.holdCount, 0);
      assert.equal(await lock.locked(), false);
      throws(() => held.reenter(), "NOT_HELD");
    });
  });

  it("a lock that is not re-entrant answers Deadlock", async () => {
    const held = await context.client.lock(freshName(), { reentrant: false }).acquire();
    throws(() => held.reenter(), "DEADLOCK");
    await held.release();
    const strict = await context.open({ reentrant: false });
    await strict.withLock(freshName(), (held) => throws(() => held.reenter(), "DEADLOCK"));
  });

  describe("disposal", () => {
    it("releases once, and only what is still held", async () => {
      const lock = context.client.lock(freshName());
      const held = await lock.acquire();
      await held[Symbol.asyncDispose]();
      assert.equal(await lock.locked(), false);
      await held[Symbol.asyncDispose]();
      const released = await lock.acquire();
      await released.release();
      await released[Symbol.asyncDispose]();
      const detached = await lock.acquire();
      const text = await detached.detach();
      await detached[Symbol.asyncDispose]();
      assert.equal(await lock.locked(), true);
      await (await lock.attach(text)).release();
    });

    it("does nothing after a release that failed: the hold is over all the same", async () => {
      const client = await context.open();
      const lock = client.lock(freshName());
      const held = await lock.acquire();
      await client.close();
      const failed = await held.release().catch((error) => error);
      assert.ok(["CLOSED", "NOT_HELD"].includes(failed.kind), failed.stack);
      await held[Symbol.asyncDispose]();
    });

    it("waits for an end that is under way, and has its outcome", async () => {
      const lock = context.client.lock(freshName());
      const dispose = (held) => held[Symbol.asyncDispose]();
      for (const first of [dispose, (held) => held.release(), (held) => held.detach()]) {
        const held = await lock.acquire({ leaseMs: 60_000 });
        const ends = [first(held), dispose(held), dispose(held)];
        await ends[1];
        assert.equal(held.holdCount, 0);
        const [text] = await Promise.all(ends);
        if (text !== undefined) await (await lock.attach(text)).release();
        assert.equal(await lock.locked(), false);
      }
      const lost = await lock.acquire();
      await lock.forceRelease();
      const outcomes = await Promise.allSettled([lost.release(), dispose(lost)]);
      assert.deepEqual(
        outcomes.map(({ reason }) => reason?.kind),
        ["NOT_HELD", "NOT_HELD"],
      );
    });

    it("releases what a detach under way could not", async () => {
      const lock = context.client.lock(freshName());
      const held = await lock.acquire();
      held.reenter();
      const detached = rejects(held.detach(), "INVALID_ARGUMENT");
      await held[Symbol.asyncDispose]();
      await detached;
      assert.equal(await lock.locked(), false);
    });

    it("rejects when the hold was lost after the release of an inner level", async () => {
      const lock = context.client.lock(freshName());
      const held = await lock.acquire({ leaseMs: 500 });
      held.reenter();
      await held.release();
      await fired(held.signal);
      await rejects(held[Symbol.asyncDispose](), "NOT_HELD");
    });

    it("rejects when the hold was lost, and closes a client", async () => {
      const client = await context.open();
      const lock = client.lock(freshName());
      const held = await lock.acquire({ leaseMs: 100 });
      await fired(held.signal);
      await rejects(held[Symbol.asyncDispose](), "NOT_HELD");
      await client[Symbol.asyncDispose]();
      throws(() => client.lock("k"), "CLOSED");
    });
  });

  describe("detach and attach", () => {
    it("hand a hold over, once, with its token", async () => {
      const other = await context.open();
      const name = freshName();
      const held = await context.client.lock(name).acquire();
      const text = await held.detach();
      assert.equal(held.valid, false);
      const taken = await other.lock(name).attach(text);
      assert.equal(taken.token, held.token);
      assert.equal(taken.valid, true);
      await rejects(context.client.lock(name).attach(text), "NOT_HELD");
      await taken.release();
    });

    it("refuse a text that is none, and a hold entered twice", async () => {
      const lock = context.client.lock(freshName());
      await rejects(lock.attach("nonsense"), "INVALID_ARGUMENT");
      await rejects(lock.attach("\ud800"), "INVALID_ARGUMENT");
      await assert.rejects(lock.attach(7), TypeError);
      const held = await lock.acquire();
      held.reenter();
      await rejects(held.detach(), "INVALID_ARGUMENT");
      await held[Symbol.asyncDispose]();
    });
  });

  describe("close", () => {
    it("sends 1,000 waiting home with CLOSED, within 100 ms", () =>
      oneOfFive(async () => {
        const client = await context.open();
        const other = await context.open();
        const name = freshName();
        const held = await other.lock(name).acquire();
        const lock = client.lock(name);
        const waiting = Array.from({ length: 1_000 }, () => lock.acquire().catch((error) => error));
        await client.lock(freshName()).locked(); // everything above is under way
        const took = stopwatch();
        await client.close();
        const kinds = new Set((await Promise.all(waiting)).map((error) => error.kind));
        const ms = took();
        assert.deepEqual([...kinds], ["CLOSED"]);
        assert.ok(ms < 100, `${ms} ms`);
        await held.release();
      }));

    it("twice is not an error; what comes after is CLOSED", async () => {
      const client = await context.open();
      const lock = client.lock(freshName());
      await client.close();
      await client.close({ release: true });
      throws(() => client.lock("k"), "CLOSED");
      await rejects(lock.acquire(), "CLOSED");
      await rejects(lock.inspect(), "CLOSED");
      await rejects(lock.forceRelease(), "CLOSED");
      await rejects(lock.attach("x"), "CLOSED");
    });

    it("with release under a running withLock tells that the hold is lost", async () => {
      const client = await context.open();
      const lock = client.lock(freshName());
      let release, entered;
      const running = new Promise((resolve) => (entered = resolve));
      const working = lock.withLock(async ({ signal }) => {
        entered(signal);
        await new Promise((resolve) => (release = resolve));
      });
      const outcome = rejects(working, "CLOSED");
      const signal = await running;
      const other = context.client.lock(lock.name).acquire();
      await client.close({ release: true });
      assert.equal((await fired(signal)).lossReason, "closed");
      await (await other).release();
      release();
      await outcome;
    });

    it("with release frees what is held", async () => {
      const client = await context.open();
      const name = freshName();
      const held = await client.lock(name).acquire();
      await client.close({ release: true });
      assert.equal(held.valid, false);
      assert.equal(await context.client.lock(name).locked(), false);
    });
  });
});
