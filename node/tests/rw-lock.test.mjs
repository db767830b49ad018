// The read-write lock as a program of Node uses it, on a server and on memory://. What its sides are is checked by tests/scenarios.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { inspect } from "node:util";

import { fired, freshName, onBothBackends, rejects, stopwatch, throws, until } from "./kit/index.mjs";

onBothBackends((context) => {
  const open = (options) => context.client.rwLock(freshName(), options);
  const theirs = async (rw) => (await context.open()).rwLock(rw.name);
  const isFree = async (rw) => {
    const { writer, readers } = await rw.inspect();
    return writer === undefined && readers === 0;
  };

  describe("acquire", () => {
    it("brings a hold with a token, of the side that was asked", async () => {
      const rw = open();
      const reads = await rw.read.acquire();
      assert.equal(typeof reads.token, "bigint");
      assert.match(reads.owner, /^[0-9a-f-]{36}:\d+$/);
      assert.deepEqual([reads.side, reads.valid, reads.holdCount, reads.lossReason], ["read", true, 1, undefined]);
      assert.ok(reads.remainingMs > 26_000 && reads.remainingMs < 27_000);
      assert.equal(reads.rwLock, rw);
      await reads.release();
      assert.deepEqual([reads.valid, reads.holdCount, reads.remainingMs], [false, 0, 0]);
      const writes = await rw.write.acquire();
      assert.match(writes.owner, /^[0-9a-f-]{36}:\d+:write$/);
      assert.deepEqual([writes.side, writes.rwLock, writes.valid], ["write", rw, true]);
      assert.ok(writes.token > reads.token);
      await writes.release();
    });

    it("ends for both sides by a forced release", async () => {
      const rw = open();
      const other = await theirs(rw);
      assert.equal(await other.forceRelease(), false);
      for (const side of [rw.read, rw.write]) {
        const held = await side.acquire();
        assert.equal(await rw.forceRelease(), true);
        assert.deepEqual([held.valid, await isFree(other)], [false, true]);
        await rejects(held.release(), "NOT_HELD");
      }
    });

    it("admits readers together, a writer alone", async () => {
      const rw = open();
      const other = await theirs(rw);
      const readers = [await rw.read.acquire(), await rw.read.acquire(), await other.read.acquire()];
      for (const side of [rw.write, other.write]) await rejects(side.acquire({ waitMs: 200 }), "BUSY");
      await Promise.all(readers.map((held) => held.release()));
      const writes = await rw.write.acquire();
      for (const { read, write } of [rw, other]) {
        assert.equal(await read.tryAcquire(), null);
        assert.equal(await write.tryAcquire(), null);
      }
      await writes.release();
      assert.equal(await isFree(rw), true);
    });

    it("rejects with BUSY when the wait is over, and says who is there", async () => {
      const rw = open();
      const other = await theirs(rw);
      const reads = await rw.read.acquire();
      const began = performance.now();
      const took = stopwatch();
      const error = await rejects(other.write.acquire({ waitMs: 300 }), "BUSY");
      // The wait is the core's, on a clock of whole microseconds; a second is for a busy machine.
      assert.ok(performance.now() - began > 299 && took() < 1_300);
      assert.equal(error.object, rw.name);
      assert.match(error.message, /held by one reader/);
      await reads.release();
      const writes = await rw.write.acquire();
      assert.equal((await rejects(other.read.acquire({ waitMs: 200 }), "BUSY")).holder, writes.owner);
      await writes.release();
    });

    it("has a reader stand behind a writer that waits", async () => {
      const rw = open({ sharedAgeMs: 0 });
      const first = await rw.read.acquire();
      const order = [];
      const writing = rw.withWrite(() => order.push("write"));
      const reading = rw.withRead(() => order.push("read"));
      await until(() => context.client.stats().rwLock.waiting === 2);
      await first.release();
      await Promise.all([writing, reading]);
      assert.deepEqual(order, ["write", "read"]);
    });

    it("makes each hold end by itself, also where readers share one", async () => {
      const rw = open();
      const [one, two] = [await rw.read.acquire(), await rw.read.acquire()];
      await one.release();
      await rejects(one.release(), "NOT_HELD");
      assert.deepEqual([one.valid, two.valid], [false, true]);
      assert.equal((await rw.inspect()).readers, 1);
      await two.release();
      assert.equal(await isFree(rw), true);
    });
  });

  it("tryAcquire does not wait: a hold or null", async () => {
    const rw = open();
    const reads = await rw.read.tryAcquire({ leaseMs: 5_000 });
    assert.ok(reads.remainingMs <= 5_000);
    assert.equal(await rw.write.tryAcquire(), null);
    await reads.release();
    const writes = await rw.write.tryAcquire();
    assert.equal(await rw.read.tryAcquire(), null);
    await writes.release();
  });

  describe("withRead and withWrite", () => {
    it("give the result of their function, which may be no promise", async () => {
      const rw = open();
      assert.equal(await rw.withRead((held) => held.side), "read");
      assert.equal(await rw.withWrite({ waitMs: 0 }, async (held) => held.side), "write");
      assert.equal(await rw.read.withLock(({ side }) => side), "read");
      assert.equal(await rw.write.withLock({ waitMs: 10_000 }, ({ side }) => side), "write");
      assert.ok((await rw.withRead({ leaseMs: 5_000 }, (held) => held.remainingMs)) <= 5_000);
      assert.equal(await isFree(rw), true);
    });

    it("run readers at the same time, a writer when they have ended", async () => {
      const rw = open();
      let readers = 0;
      let most = 0;
      const read = async () => {
        most = Math.max(most, ++readers);
        await pause(5);
        readers -= 1;
      };
      const reading = [1, 2, 3].map(() => rw.withRead(read));
      const writing = rw.withWrite(() => assert.equal(readers, 0));
      await Promise.all([...reading, writing]);
      assert.equal(most, 3);
    });

    it("release, and pass on what their function throws", async () => {
      const rw = open();
      const failed = new Error("the work failed");
      for (const scoped of ["withRead", "withWrite"]) {
        await assert.rejects(
          rw[scoped](() => Promise.reject(failed)),
          (error) => error === failed,
        );
        await rw[scoped]((held) => held.release());
        let released;
        assert.equal(await rw[scoped]((held) => ((released = held.release()), "done")), "done");
        await released;
        assert.equal(await isFree(rw), true);
      }
    });

    it("reject when the hold was lost meanwhile, and tell of it", async () => {
      const rw = open({ leaseMs: 100 });
      for (const scoped of ["withRead", "withWrite"]) {
        let reason;
        const work = rw[scoped](async (held) => (reason = await fired(held.signal)));
        await rejects(work, "NOT_HELD");
        assert.deepEqual([reason.code, reason.lossReason, reason.object], ["DLOCK_LOST", "expired", rw.name]);
      }
    });
  });

  describe("a side inside of its own lock's function", () => {
    it("gets DEADLOCK instead of waiting for ever, with what to do", async () => {
      const rw = open();
      const again = context.client.rwLock(rw.name);
      const wait = (promise) => Promise.race([promise, pause(300)]);
      await rw.withWrite(async () => {
        for (const ask of [
          () => rw.write.acquire(),
          () => rw.withWrite(assert.fail),
          () => again.write.acquire({ signal: AbortSignal.timeout(60_000) }),
          () => rw.read.acquire(),
          () => again.withRead(assert.fail),
          () => rw.read.withLock(assert.fail),
        ]) {
          const error = await rejects(wait(ask()), "DEADLOCK");
          assert.equal(error.object, rw.name);
          assert.match(error.message, /inside of a withWrite .* a writer may read as well, .*held\.downgrade\(\)/);
        }
      });
      await rw.withRead(async () => {
        const { message } = await rejects(wait(rw.withWrite(assert.fail)), "DEADLOCK");
        assert.match(message, /inside of a withRead .* begin with withWrite, .* set waitMs/);
        const second = await rejects(wait(rw.read.acquire()), "DEADLOCK");
        assert.match(second.message, /once a writer waits in between: use the hold that it was given/);
      });
      await rw.read.withLock(() => rejects(wait(rw.write.acquire()), "DEADLOCK"));
      assert.equal(await isFree(rw), true);
    });

    it("waits, or not, where the wait has a bound", async () => {
      const rw = open();
      let later;
      await rw.withRead(async () => {
        assert.equal(await rw.write.tryAcquire(), null);
        await rejects(rw.write.acquire({ waitMs: 200 }), "BUSY");
        assert.equal(await rw.read.withLock({ waitMs: 10_000 }, () => "beside"), "beside");
        later = rw.withWrite({ waitMs: 10_000 }, () => "later");
      });
      assert.equal(await later, "later");
    });

    it("is found after a downgrade too, and not after the end", async () => {
      const rw = open();
      await rw.withWrite(async (held) => {
        const reads = await held.downgrade();
        await rejects(Promise.race([rw.write.acquire(), pause(300)]), "DEADLOCK");
        await reads.release();
        await rw.withWrite(() => undefined);
      });
    });

    it("is no withLock of that name", async () => {
      const { client } = context;
      const lock = client.lock(freshName());
      const rw = open();
      await lock.withLock(() => rw.withRead(() => rejects(lock.acquire(), "DEADLOCK")));
      await rw.withWrite(() => rejects(client.lock(rw.name).acquire(), "WRONG_TYPE"));
    });
  });

  describe("downgrade", () => {
    it("goes on as a reader, and wakes the readers that wait", async () => {
      const rw = open();
      const other = await theirs(rw);
      const writes = await rw.write.acquire();
      const waiting = other.read.acquire();
      await until(async () => (await rw.inspect()).queued === 1);
      const reads = await writes.downgrade();
      assert.deepEqual([reads.side, reads.valid, writes.valid, writes.holdCount], ["read", true, false, 0]);
      assert.ok(reads.token > writes.token);
      const theirReads = await waiting;
      assert.equal((await rw.inspect()).readers, 2);
      await rejects(writes.release(), "NOT_HELD");
      await rejects(writes.downgrade(), "NOT_HELD");
      assert.equal(reads.valid, true);
      await reads.release();
      await theirReads.release();
      assert.equal(await isFree(rw), true);
    });

    it("is refused of a reader, and of a hold of several levels", async () => {
      const rw = open();
      const reads = await rw.read.acquire();
      await rejects(reads.downgrade(), "INVALID_ARGUMENT");
      assert.equal(reads.valid, true);
      await reads.release();
      await rw.withWrite(async (held) => {
        held.reenter();
        const { message } = await rejects(held.downgrade(), "INVALID_ARGUMENT");
        assert.match(message, /entered 2 times: release the other levels first/);
        await held.release();
        assert.equal((await held.downgrade()).side, "read");
      });
      assert.equal(await isFree(rw), true);
    });

    it("is released at the end of withWrite, unless it was before", async () => {
      const rw = open();
      let reads;
      await rw.withWrite(async (held) => {
        reads = await held.downgrade();
        assert.equal(await rw.read.withLock({ waitMs: 1_000 }, () => "beside"), "beside");
        assert.equal(reads.valid, true);
      });
      assert.equal(reads.valid, false);
      await rw.withWrite(async (held) => (await held.downgrade()).release());
      await rw
        .withWrite(async (held) => {
          reads = await held.downgrade();
          throw new RangeError("the work failed");
        })
        .catch(({ name }) => assert.equal(name, "RangeError"));
      assert.deepEqual([reads.valid, await isFree(rw)], [false, true]);
    });

    it("that nobody awaits is waited for at the end", async () => {
      const rw = open();
      let reading;
      await rw.withWrite((held) => void (reading = held.downgrade()));
      assert.equal((await reading).valid, false);
      assert.equal(await isFree(rw), true);
    });

    it("whose new hold is lost makes withWrite reject", async () => {
      const rw = open({ leaseMs: 500 });
      await rejects(
        rw.withWrite(async (held) => fired((await held.downgrade()).signal)),
        "NOT_HELD",
      );
    });

    it("fires no signal of the writer", async () => {
      const rw = open({ leaseMs: 500 });
      const writes = await rw.write.acquire();
      const { signal } = writes;
      const reads = await writes.downgrade();
      assert.equal((await fired(reads.signal)).lossReason, "expired");
      assert.deepEqual([signal.aborted, writes.lossReason], [false, undefined]);
    });

    it("of a hold that was lost says so", async () => {
      const writes = await open().write.acquire({ leaseMs: 100 });
      await fired(writes.signal);
      await rejects(writes.downgrade(), "LOST");
    });
  });

  describe("a hold of a side", () => {
    it("is extended, and entered again", async () => {
      const rw = open({ leaseMs: 5_000 });
      for (const side of [rw.read, rw.write]) {
        const held = await side.acquire();
        await held.extend(60_000);
        assert.ok(held.remainingMs > 40_000);
        await rejects(held.extend(99), "INVALID_ARGUMENT");
        await assert.rejects(held.extend("5s"), TypeError);
        held.reenter();
        assert.equal(held.holdCount, 2);
        await held.release();
        assert.deepEqual([held.valid, held.holdCount], [true, 1]);
        await held.release();
        await rejects(held.extend(60_000), "NOT_HELD");
        throws(() => held.reenter(), "NOT_HELD");
      }
    });

    it("is not entered again where that is refused", async () => {
      for (const side of Object.values(sidesOf(open({ reentrant: false })))) {
        const held = await side.acquire();
        throws(() => held.reenter(), "DEADLOCK");
        assert.equal(held.holdCount, 1);
        await held.release();
      }
    });

    it("ends with all its levels at the end of its function", async () => {
      const rw = open();
      for (const scoped of ["withRead", "withWrite"]) {
        await rw[scoped]((held) => {
          held.reenter();
          held.reenter();
        });
        assert.equal(await isFree(rw), true);
      }
    });

    it("is released once, by any code that has it", async () => {
      const rw = open();
      for (const side of Object.values(sidesOf(rw))) {
        const held = await side.acquire();
        const outcomes = await Promise.allSettled([held.release(), held.release()]);
        assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
        const disposed = await side.acquire();
        await Promise.all([disposed[Symbol.asyncDispose](), disposed[Symbol.asyncDispose]()]);
        assert.equal(await isFree(rw), true);
      }
    });

    it("shows what it is", async () => {
      const rw = open();
      await rw.withWrite((held) => assert.match(inspect(held), /^RwHeld \{[^]*token: \d+n[^]*side: 'write'/));
      assert.deepEqual(Object.keys(rw), ["name", "client", "read", "write"]);
      assert.deepEqual([rw.read.side, rw.write.side, rw.read.name, rw.write.rwLock], ["read", "write", rw.name, rw]);
      assert.equal(rw.client, context.client);
    });
  });

  it("inspect says who writes or how many read", async () => {
    const rw = open();
    const free = { writer: undefined, ours: false, readers: 0, ttlMs: undefined, token: undefined, queued: 0 };
    assert.deepEqual({ ...(await rw.inspect()) }, free);
    const writes = await rw.write.acquire();
    const { ttlMs, ...seen } = await rw.inspect();
    assert.ok(ttlMs > 20_000 && ttlMs <= 30_000);
    assert.deepEqual(seen, { writer: writes.owner, ours: true, readers: 0, token: writes.token, queued: 0 });
    assert.deepEqual((await (await theirs(rw)).inspect()).ours, false);
    await writes.release();
    await rw.withRead(async ({ token }) => {
      const { writer, readers, token: last } = await rw.inspect();
      assert.deepEqual([writer, readers, last], [undefined, 1, token]);
    });
  });

  it("a lock, a semaphore and a read-write lock of one name are three", async () => {
    const { client } = context;
    const rw = open();
    await rw.withRead(async () => {
      await rejects(client.lock(rw.name).tryAcquire(), "WRONG_TYPE");
      await rejects(client.semaphore(rw.name, 1).tryAcquire(), "WRONG_TYPE");
    });
    await client.withLock(freshName(), async ({ lock }) => {
      const wrong = client.rwLock(lock.name);
      await rejects(wrong.read.tryAcquire(), "WRONG_TYPE");
      await rejects(wrong.write.acquire(), "WRONG_TYPE");
      await rejects(wrong.inspect(), "WRONG_TYPE");
    });
  });

  it("a client's prefix is before every name, and not in `name`", async () => {
    const prefixed = await context.open({ keyPrefix: "app:" });
    const rw = prefixed.rwLock(freshName());
    const there = context.client.rwLock(`app:${rw.name}`);
    await rw.withWrite(async ({ owner }) => assert.equal((await there.inspect()).writer, owner));
  });

  it("1,000 callers at once never write beside anybody", async () => {
    const client = await context.open();
    const rw = client.rwLock(freshName());
    let readers = 0;
    let writers = 0;
    let most = 0;
    const read = async (held) => {
      most = Math.max(most, ++readers);
      await Promise.resolve();
      assert.deepEqual([held.valid, writers], [true, 0]);
      readers -= 1;
    };
    const write = async (held) => {
      writers += 1;
      await Promise.resolve();
      assert.deepEqual([held.valid, writers, readers], [true, 1, 0]);
      writers -= 1;
    };
    await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => (n % 10 === 9 ? rw.withWrite(write) : rw.withRead(read))),
    );
    assert.ok(most > 1, "no two have read at once");
    const { acquired, released, held, waiting } = client.stats().rwLock;
    assert.deepEqual([acquired, released, held, waiting], [1_000, 1_000, 0, 0]);
    assert.equal(await isFree(rw), true);
  });

  describe("close", () => {
    it("sends those that wait home with CLOSED, and tells holders", async () => {
      const client = await context.open();
      const rw = client.rwLock(freshName());
      const held = await rw.write.acquire();
      const { signal } = held;
      const waiting = [
        ...Array.from({ length: 50 }, () => rejects(rw.withRead(assert.fail), "CLOSED")),
        ...Array.from({ length: 50 }, () => rejects(rw.withWrite(assert.fail), "CLOSED")),
      ];
      await until(() => client.stats().rwLock.waiting === 100);
      await client.close({ release: true });
      await Promise.all(waiting);
      assert.equal((await fired(signal)).lossReason, "closed");
      assert.equal(held.valid, false);
      const left = context.client.rwLock(rw.name);
      await left.withWrite({ waitMs: 2_000 }, () => undefined);
    });

    it("is the end of its read-write locks", async () => {
      const client = await context.open();
      const rw = client.rwLock(freshName());
      await client.close();
      throws(() => client.rwLock("k"), "CLOSED");
      for (const side of Object.values(sidesOf(rw))) {
        await rejects(side.acquire(), "CLOSED");
        await rejects(side.tryAcquire(), "CLOSED");
      }
      await rejects(rw.withRead(assert.fail), "CLOSED");
      await rejects(rw.withWrite(assert.fail), "CLOSED");
      await rejects(rw.inspect(), "CLOSED");
    });
  });
});

const sidesOf = ({ read, write }) => ({ read, write });
