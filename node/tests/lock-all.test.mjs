// Several locks as one, as a program of Node uses them, on a server and on memory://. What a set is is checked by tests/scenarios.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { inspect } from "node:util";

import { fired, freshName, onBothBackends, rejects, stopwatch, throws, until } from "./kit/index.mjs";

/** Names of locks, in the order of their keys. */
function freshNames(count) {
  const name = freshName();
  return Array.from({ length: count }, (_, at) => `${name}-${String(at).padStart(3, "0")}`);
}

onBothBackends((context) => {
  const open = (names, options) => context.client.lockAll(names, options);
  const areFree = async (names) => {
    for (const name of names) assert.equal(await context.client.lock(name).locked(), false, name);
  };

  describe("acquire", () => {
    it("brings one hold with the token of each lock", async () => {
      const [a, b] = freshNames(2);
      const before = await context.client.withLock(b, ({ token }) => token);
      const set = open([b, a]);
      assert.deepEqual(set.names, [a, b]);
      assert.throws(() => set.names.push("x"), TypeError);
      assert.deepEqual([set.name, set.client], [`${a}, ${b}`, context.client]);
      const held = await set.acquire();
      assert.deepEqual([...held.tokens.keys()], [a, b]);
      for (const [name, token] of held.tokens) assert.equal(held.tokenOf(name), token);
      assert.equal(typeof held.tokenOf(a), "bigint");
      assert.ok(held.tokenOf(b) > before);
      assert.deepEqual([held.valid, held.holdCount, held.lossReason, held.lostName], [true, 1, undefined, undefined]);
      assert.ok(held.remainingMs > 26_000 && held.remainingMs < 27_000);
      assert.deepEqual([held.lockAll, held.owner], [set, ""]);
      for (const name of [a, b]) assert.equal(await context.client.lock(name).tryAcquire(), null);
      await held.release();
      assert.deepEqual([held.valid, held.holdCount, held.remainingMs, held.tokens.size], [false, 0, 0, 2]);
      await areFree([a, b]);
      await rejects(held.release(), "NOT_HELD");
    });

    it("counts a name that is given twice once", async () => {
      const [a, b] = freshNames(2);
      const set = open([a, b, a, a]);
      assert.deepEqual(set.names, [a, b]);
      assert.equal(await set.withLock((held) => held.tokens.size), 2);
      assert.equal(await open([a]).withLock((held) => held.tokens.size), 1);
    });

    it("names the busy one when the wait is over, and holds none", async () => {
      const names = freshNames(3);
      const other = await context.open();
      const busy = await other.lock(names[1]).acquire();
      const set = open(names);
      assert.equal(await set.tryAcquire(), null);
      const began = performance.now();
      const took = stopwatch();
      const error = await rejects(set.acquire({ waitMs: 300 }), "BUSY");
      // The wait is the core's, on a clock of whole microseconds; a second is for a busy machine.
      assert.ok(performance.now() - began > 299 && took() < 1_300);
      assert.deepEqual([error.object, error.holder], [names[1], busy.owner]);
      // What it had taken is released in the background.
      for (const name of [names[0], names[2]]) {
        await until(async () => !(await context.client.lock(name).locked()));
      }
      await busy.release();
      await (await set.tryAcquire({ leaseMs: 5_000 })).release();
    });

    it("waits for what is held, of whichever order", async () => {
      const names = freshNames(3);
      const busy = await context.client.lock(names[2]).acquire();
      const other = (await context.open()).lockAll(names.toReversed?.() ?? [...names].reverse());
      let done = 0;
      const both = [open(names), other].map((set) => set.withLock(() => (done += 1)));
      await until(async () => (await context.client.lock(names[0]).locked()) === true);
      assert.equal(done, 0);
      await busy.release();
      await Promise.all(both);
      assert.equal(done, 2);
      await areFree(names);
    });

    it("of sets that overlap runs every function, one at a time", async () => {
      const names = freshNames(5);
      const clients = [context.client, await context.open()];
      const running = new Set();
      const work = Array.from({ length: 60 }, (_, n) => {
        const mine = [names[n % 5], names[(n * 2 + 1) % 5], names[(n * 3 + 2) % 5]];
        return clients[n % 2].lockAll(mine).withLock({ waitMs: 30_000 }, async (held) => {
          for (const name of held.tokens.keys()) {
            assert.equal(running.has(name), false, name);
            running.add(name);
          }
          await Promise.resolve();
          for (const name of held.tokens.keys()) running.delete(name);
          return n;
        });
      });
      assert.deepEqual(await Promise.all(work), [...work.keys()]);
      await areFree(names);
    });
  });

  describe("withLock", () => {
    it("gives the result of its function, and passes on its error", async () => {
      const names = freshNames(2);
      const set = open(names);
      assert.equal(await set.withLock((held) => held.tokens.size), 2);
      assert.equal(await set.withLock({ waitMs: 0 }, async () => "done"), "done");
      assert.ok((await set.withLock({ leaseMs: 5_000 }, (held) => held.remainingMs)) <= 5_000);
      const failed = new Error("the work failed");
      await assert.rejects(
        set.withLock(() => Promise.reject(failed)),
        (error) => error === failed,
      );
      await areFree(names);
    });

    it("refuses to wait for itself, with the name and what to do", async () => {
      const [a, b, c] = freshNames(3);
      const set = open([a, b]);
      const { client } = context;
      const wait = (promise) => Promise.race([promise, pause(300)]);
      await set.withLock(async () => {
        for (const ask of [
          () => set.acquire(),
          () => open([b, a]).withLock(assert.fail),
          () => open([a]).acquire(),
          () => client.lock(a).acquire(),
          () => client.withLock(a, assert.fail),
        ]) {
          const error = await rejects(wait(ask()), "DEADLOCK");
          assert.equal(error.object, a);
          assert.match(error.message, /inside of a withLock .*: use the hold that it was given/);
        }
        const wider = await rejects(wait(open([b, c]).acquire()), "DEADLOCK");
        assert.equal(wider.object, b);
        assert.match(wider.message, /take all of them at once, outside: client\.lockAll\(names\)/);
        await rejects(set.acquire({ waitMs: 200 }), "BUSY");
        assert.equal(await client.withLock(c, () => "free"), "free");
      });
      const nested = client.lock(b).withLock(() => rejects(wait(set.withLock(assert.fail)), "DEADLOCK"));
      assert.match((await nested).message, /take all of them at once, outside/);
      const other = client.rwLock(freshName());
      await other.withRead(() => rejects(open([other.name]).acquire(), "WRONG_TYPE"));
    });
  });

  describe("a hold of several locks", () => {
    it("ends with one release, one level at a time", async () => {
      const names = freshNames(2);
      const held = await open(names).acquire();
      held.reenter();
      assert.equal(held.holdCount, 2);
      await held.release();
      assert.deepEqual([held.valid, held.holdCount], [true, 1]);
      await held.release();
      assert.equal(held.valid, false);
      const disposed = await open(names).acquire();
      disposed.reenter();
      await Promise.all([disposed[Symbol.asyncDispose](), disposed[Symbol.asyncDispose]()]);
      await areFree(names);
      await rejects(held.extend(5_000), "NOT_HELD");
    });

    it("is extended for all of its locks", async () => {
      const names = freshNames(2);
      const held = await open(names, { leaseMs: 5_000 }).acquire();
      await held.extend(60_000);
      assert.ok(held.remainingMs > 40_000);
      for (const name of names) assert.ok((await context.client.lock(name).inspect()).ttlMs > 40_000);
      await rejects(held.extend(99), "INVALID_ARGUMENT");
      await rejects(held.extend(1.5), "INVALID_ARGUMENT");
      await held.release();
    });

    it("is lost with one of them, which the signal names", async () => {
      const names = freshNames(3);
      const held = await open(names).acquire();
      const { signal } = held;
      const other = (await context.open()).lock(names[1]);
      assert.equal(await other.forceRelease(), true);
      const reason = await fired(signal);
      assert.deepEqual([reason.code, reason.lossReason, reason.object], ["DLOCK_LOST", "deleted", names[1]]);
      assert.ok(reason.message.includes(JSON.stringify(names[1])), reason.message);
      assert.deepEqual([held.valid, held.lostName, held.lossReason], [false, names[1], "deleted"]);
      assert.equal((await fired(held.signal)).object, names[1]);
      assert.equal(await context.client.lock(names[0]).locked(), true);
      const error = await rejects(held.release(), "NOT_HELD");
      assert.equal(error.object, names[1]);
      await areFree(names);
    });

    it("makes withLock reject when it was lost meanwhile", async () => {
      const names = freshNames(2);
      let reason;
      const work = open(names, { leaseMs: 100 }).withLock(async (held) => (reason = await fired(held.signal)));
      await rejects(work, "NOT_HELD");
      assert.deepEqual([reason.lossReason, reason.object], ["expired", names[0]]);
    });

    it("tells who reads it as of one lock", async () => {
      const names = freshNames(2);
      await open(names).withLock(async (held) => {
        assert.throws(() => held.token, { name: "TypeError", message: /tokenOf\(name\) .* tokens all$/ });
        assert.throws(() => held.detach(), { code: "ERR_METHOD_NOT_IMPLEMENTED", message: /client\.lock\(name\)/ });
        const error = throws(() => held.tokenOf("another"), "INVALID_ARGUMENT");
        for (const name of names) assert.ok(error.message.includes(name), error.message);
        assert.throws(() => held.tokenOf(7), { name: "TypeError" });
        assert.match(inspect(held), /^HeldAll \{/);
        const { names: all, tokens, valid, owner } = JSON.parse(JSON.stringify(held));
        assert.deepEqual([all, Object.keys(tokens), valid, owner], [names, names, true, undefined]);
        assert.equal(BigInt(tokens[names[0]]), held.tokenOf(names[0]));
      });
    });
  });

  it("a client's prefix is before every name, and not in `names`", async () => {
    const prefixed = await context.open({ keyPrefix: "app:" });
    const names = freshNames(2);
    await prefixed.lockAll(names).withLock(async (held) => {
      assert.deepEqual([...held.tokens.keys()], names);
      for (const name of names) assert.equal(await context.client.lock(`app:${name}`).locked(), true);
    });
  });

  it("close sends those that wait home, and releases the rest", async () => {
    const client = await context.open();
    const names = freshNames(2);
    const set = client.lockAll(names);
    const held = await set.acquire();
    const { signal } = held;
    const waiting = Array.from({ length: 20 }, () => rejects(set.withLock(assert.fail), "CLOSED"));
    await until(() => client.stats().lock.waiting === 20);
    await client.close({ release: true });
    await Promise.all(waiting);
    assert.equal((await fired(signal)).lossReason, "closed");
    await areFree(names);
    throws(() => client.lockAll(names), "CLOSED");
    for (const call of [() => set.acquire(), () => set.tryAcquire(), () => set.withLock(assert.fail)]) {
      await rejects(call(), "CLOSED");
    }
  });

  it("what a set is made of is checked before any I/O", async () => {
    const { client } = context;
    const wrong = { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" };
    for (const names of ["a", undefined, null, 5, {}, new Set(["a"]), ["a", 5], ["a", undefined], [, "a"], [["a"]]]) {
      assert.throws(() => client.lockAll(names), wrong);
    }
    assert.throws(() => client.lockAll("a"), {
      message: /^names must be an array of strings, not a string: lockAll\(/,
    });
    assert.throws(() => client.lockAll("a", "b"), { message: /^names must be an array of strings/ });
    assert.throws(() => client.lockAll(["a", 5]), { message: /^names\[1\] must be a string, not a number$/ });
    assert.throws(() => client.lockAll(["a"], "b"), {
      message: /lockAll\(names, options\): options must be an object/,
    });
    assert.throws(() => client.lockAll(["a"], { waitMs: 5 }), { message: /has no option "waitMs"/ });
    for (const call of [() => client.lock(["a", "b"]), () => client.withLock(["a", "b"], assert.fail)]) {
      await assert.rejects(async () => call(), {
        ...wrong,
        message: /not an array: client\.lockAll\(names\) takes several$/,
      });
    }
    const none = throws(() => client.lockAll([]), "INVALID_ARGUMENT");
    assert.equal(none.allowed, "1 to 100 different names");
    const many = throws(() => client.lockAll(freshNames(101)), "INVALID_ARGUMENT");
    assert.match(many.message, /101 names/);
    throws(() => client.lockAll(["a", ""]), "INVALID_NAME");
    throws(() => client.lockAll(["a", "\ud800"]), "INVALID_NAME");
    throws(() => client.lockAll(["a"], { leaseMs: 99 }), "INVALID_ARGUMENT");
    throws(() => client.lockAll(["a"], { leaseMs: 5_000, watchdogLeaseMs: 5_000 }), "INVALID_ARGUMENT");
    const set = client.lockAll(freshNames(100));
    await rejects(set.acquire({ leaseMs: 99 }), "INVALID_ARGUMENT");
    await assert.rejects(set.acquire({ timeout: 5 }), { message: /did you mean waitMs\?/ });
    assert.equal(await set.withLock((held) => held.tokens.size), 100);
  });

  it("what one lock has, and other libraries, is told", async () => {
    const missing = { name: "TypeError", code: "ERR_METHOD_NOT_IMPLEMENTED" };
    const set = open(freshNames(2));
    for (const [name, says] of [
      ["lock", /^a set of locks has no lock\(\); acquire\(\) waits, tryAcquire\(\) does not$/],
      ["request", /withLock\(options, run\)$/],
      ["runExclusive", /withLock\(run\)$/],
      ["using", /withLock\(run\)$/],
      ["release", /await held\.release\(\)$/],
      ["unlock", /await held\.release\(\)$/],
      ["extend", /await held\.extend\(leaseMs\)$/],
      ["inspect", /client\.lock\(name\)/],
      ["locked", /client\.lock\(name\)/],
      ["isLocked", /client\.lock\(name\)\.locked\(\)/],
      ["attach", /client\.lock\(name\)/],
      ["forceRelease", /client\.lock\(name\)/],
    ]) {
      assert.throws(() => set[name](), { ...missing, message: says });
    }
  });
});
