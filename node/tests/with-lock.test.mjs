// withLock beyond the ordinary: inside of itself, and when its release fails.

import assert from "node:assert/strict";
import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { connect } from "libdlock";

import { Proxy, freshName, onBothBackends, rejects, useServer } from "./kit/index.mjs";

onBothBackends((context) => {
  describe("a lock inside of its own withLock", () => {
    it("gets DEADLOCK instead of waiting for ever", async () => {
      const name = freshName();
      const lock = context.client.lock(name);
      const nested = async () => {
        await pause(1); // through timers and promises, as calls of a program go
        for (const again of [
          () => lock.withLock(assert.fail),
          () => context.client.withLock(name, assert.fail),
          () => context.client.lock(name, { leaseMs: 1_000 }).acquire(),
          () => lock.acquire({ signal: AbortSignal.timeout(60_000) }),
        ]) {
          const error = await rejects(Promise.race([again(), pause(300)]), "DEADLOCK");
          assert.equal(error.code, "DLOCK_DEADLOCK");
          assert.equal(error.object, name);
          assert.match(error.message, /reenter\(\).*waitMs/);
        }
        return "done";
      };
      assert.equal(await lock.withLock(nested), "done");
      const between = freshName();
      assert.equal(await lock.withLock(() => context.client.withLock(between, nested)), "done");
      assert.equal(await lock.locked(), false);
    });

    it("is DEADLOCK too for a child that nothing awaits", async () => {
      const lock = context.client.lock(freshName());
      let child;
      await lock.withLock(() => {
        child = rejects(lock.withLock(assert.fail), "DEADLOCK");
      });
      const { message } = await child;
      assert.match(message, /If .*waits for this call.*reenter\(\).*If not.*waitMs.*snapshot\(\).*AsyncResource\.bind/);
    });

    it("is DEADLOCK in a worker made inside, until that is bound", async () => {
      const lock = context.client.lock(freshName());
      const elsewhere = AsyncLocalStorage.snapshot();
      const order = [];
      const job = (name) => () => lock.withLock(() => order.push(name));
      let inside, outside, release;
      const holding = new Promise((resolve) => (release = resolve));
      let ready;
      const made = new Promise((resolve) => (ready = resolve));
      const first = lock.withLock(async () => {
        inside = worker();
        outside = elsewhere(worker);
        ready();
        await holding;
        order.push("first");
      });
      await made;
      await rejects(inside(job("refused")), "DEADLOCK");
      const others = [outside(job("made outside")), inside(AsyncResource.bind(job("bound")))];
      release();
      await Promise.all([first, ...others]);
      assert.deepEqual(order.toSorted(), ["bound", "first", "made outside"]);
    });

    it("does not count when the signal has fired before", async () => {
      const lock = context.client.lock(freshName());
      const reason = new Error("given up");
      await lock.withLock(async () => {
        const signal = AbortSignal.abort(reason);
        await assert.rejects(lock.acquire({ signal }), (error) => error === reason);
        await assert.rejects(lock.withLock({ signal }, assert.fail), (error) => error === reason);
      });
    });

    it("is BUSY, or waits, where the wait has a bound", async () => {
      const lock = context.client.lock(freshName());
      let later;
      await lock.withLock(async () => {
        assert.equal(await lock.tryAcquire(), null);
        await rejects(lock.acquire({ waitMs: 200 }), "BUSY");
        later = lock.withLock({ waitMs: 10_000 }, () => "later");
      });
      assert.equal(await later, "later");
    });

    it("waits as ever where nothing is around it", async () => {
      const lock = context.client.lock(freshName());
      const other = context.client.lock(freshName());
      // Another context, another name, a hold that is over, a withLock that is over.
      let outside;
      const elsewhere = AsyncLocalStorage.snapshot();
      await lock.withLock(async (held) => {
        await other.withLock(() => undefined);
        outside = elsewhere(() => lock.withLock(() => "outside"));
        await held.release();
        await outside;
        await lock.withLock(() => undefined);
      });
      let release;
      const started = lock.withLock(() => {
        const over = new Promise((resolve) => (release = resolve));
        return { later: over.then(() => lock.withLock(() => "later")) };
      });
      const { later } = await started;
      release();
      assert.equal(await later, "later");
      assert.deepEqual(await Promise.all([1, 2, 3].map((n) => lock.withLock(() => n))), [1, 2, 3]);
    });
  });
});

/** What runs the jobs that it is given one after the other, in the context in which it was made, as a pool does. */
function worker() {
  const jobs = [];
  const timer = setInterval(() => {
    for (const { job, resolve } of jobs.splice(0)) resolve(Promise.resolve().then(job));
  }, 1);
  timer.unref();
  return (job) => new Promise((resolve) => jobs.push({ job, resolve }));
}

describe("the scopes of withLock", () => {
  /** How many scopes are linked where this is called. */
  async function linked() {
    const { enter } = await import(new URL("scope.js", import.meta.resolve("libdlock")));
    let length = 0;
    for (let { around } = enter(undefined); around !== undefined; around = around.around) length += 1;
    return length;
  }

  it("that have ended are forgotten by a tick set from inside", async () => {
    const client = await connect("memory://");
    const length = await new Promise((resolve, reject) => {
      const tick = (left) =>
        client
          .withLock("k", () => {
            if (left > 0) setImmediate(tick, left - 1);
            else setImmediate(() => resolve(linked()));
          })
          .catch(reject);
      tick(100);
    });
    assert.equal(length, 0);
    await client.close();
  });

  it("that have ended are forgotten when each overlaps the next", async () => {
    const client = await connect("memory://");
    const length = await new Promise((resolve, reject) => {
      // Takes the next lock before it lets go of its own, as along a chain of nodes.
      const step = (n, taken) =>
        client.withLock(`k${n}`, async () => {
          taken();
          if (n === 100) return resolve(await linked());
          await new Promise((next) => step(n + 1, next).catch(reject));
        });
      step(0, () => undefined).catch(reject);
    });
    assert.equal(length, 1, "its own");
    await client.close();
  });

  it("that run are all known, whatever has ended between them", async () => {
    const client = await connect("memory://");
    await client.withLock("outer", async () => {
      let release;
      const over = new Promise((resolve) => (release = resolve));
      const { later } = await client.withLock("between", () => ({
        later: over.then(() => client.withLock("inner", () => rejects(client.lock("outer").acquire(), "DEADLOCK"))),
      }));
      release();
      await later;
    });
    await client.close();
  });
});

onBothBackends((context) => {
  it("withLock takes a release or a detach that nobody awaits for the end", async () => {
    const lock = context.client.lock(freshName());
    let released;
    assert.equal(await lock.withLock((held) => ((released = held.release()), "done")), "done");
    await released;
    let detached;
    assert.equal(await lock.withLock((held) => ((detached = held.detach()), "done")), "done");
    await (await lock.attach(await detached)).release();
    const failed = new Error("the work failed");
    const failing = lock.withLock((held) => {
      released = held.release();
      throw failed;
    });
    await assert.rejects(failing, (error) => error === failed);
    await released;
    assert.equal(await lock.locked(), false);
  });
});

describe("a release that fails", () => {
  const shared = useServer();

  /** A client whose server is cut off by `cut`, and the warnings of libdlock meanwhile. */
  async function disconnecting(use) {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url, { responseTimeoutMs: 500, operationTimeoutMs: 1_000 });
    const warnings = [];
    const listener = (warning) => warnings.push(warning);
    process.on("warning", listener);
    try {
      await use(client.lock(freshName()), () => proxy.blackHole());
      await new Promise((resolve) => setImmediate(resolve)); // a warning comes a turn later
    } finally {
      process.off("warning", listener);
      await client.close();
      await proxy.close();
    }
    return warnings.filter(({ name }) => name === "DlockWarning");
  }

  it("keeps the result of withLock, and is a warning", async () => {
    const warnings = await disconnecting(async (lock, cut) => {
      assert.equal(await lock.withLock(() => (cut(), "the result")), "the result");
    });
    assert.deepEqual(
      warnings.map(({ code }) => code),
      ["DLOCK_RELEASE_FAILED"],
    );
    assert.match(warnings[0].message, /the release of "lock-.*" at the end of withLock failed: /);
  });

  it("does not hide the error of the function", async () => {
    const failed = new Error("the work failed");
    const warnings = await disconnecting(async (lock, cut) => {
      const work = lock.withLock(() => {
        cut();
        throw failed;
      });
      await assert.rejects(work, (error) => error === failed);
    });
    assert.deepEqual(
      warnings.map(({ code }) => code),
      ["DLOCK_RELEASE_FAILED"],
    );
  });

  it("because the hold was lost makes withLock reject", async () => {
    const client = await connect(shared.server.url);
    const lock = client.lock(freshName());
    await rejects(
      lock.withLock(() => shared.server.command("DEL", lock.name)),
      "NOT_HELD",
    );
    await client.close();
  });
});
