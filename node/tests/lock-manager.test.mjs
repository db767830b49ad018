// `client.locks`: what the tests of web-platform-tests, web-locks, say of navigator.locks, and what is between processes.

import assert from "node:assert/strict";
import { it } from "node:test";

import { freshName, onBothBackends, rejects, until } from "./kit/index.mjs";

const gate = () => {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { open, opened };
};
const dom = (name) => (error) => error instanceof DOMException && error.name === name;

/** Awaits it. A hold keeps no process alive, and what tells of its loss does not either. */
const kept = async (promise) => {
  const timer = setTimeout(() => undefined, 20_000);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
};

onBothBackends((context) => {
  /** Holds the lock until the gate opens; resolves when it is held. */
  const hold = async (locks, name, options = {}) => {
    const [begun, end] = [gate(), gate()];
    const done = locks.request(name, options, async (lock) => {
      begun.open(lock);
      await end.opened;
      return "released";
    });
    const lock = await Promise.race([begun.opened, done]);
    return { lock, end: end.open, done };
  };

  it("the lock is held until the callback's promise settles", async () => {
    const { locks } = context.client;
    const name = freshName();
    assert.equal(await locks.request(name, ({ name, mode }) => `${name} ${mode}`), `${name} exclusive`);
    const { end, done } = await hold(locks, name);
    const other = (await context.open()).locks;
    assert.equal(await other.request(name, { ifAvailable: true }, (lock) => lock), null);
    const order = [];
    const second = other.request(name, () => void order.push("second"));
    order.push("first");
    end();
    assert.equal(await done, "released");
    await second;
    assert.deepEqual(order, ["first", "second"]);
  });

  it("a callback that throws or rejects releases the lock", async () => {
    const { locks } = context.client;
    const name = freshName();
    const error = new Error("mine");
    const failing = [
      () => {
        throw error;
      },
      () => Promise.reject(error),
    ];
    for (const callback of failing) {
      await assert.rejects(locks.request(name, callback), (caught) => caught === error);
      assert.equal(await locks.request(name, { ifAvailable: true }, (lock) => lock?.mode), "exclusive");
    }
  });

  it("shared ones go together, an exclusive one alone", async () => {
    const name = freshName();
    const other = (await context.open()).locks;
    const first = await hold(context.client.locks, name, { mode: "shared" });
    const second = await hold(other, name, { mode: "shared" });
    assert.equal(first.lock.mode, "shared");
    assert.equal(await other.request(name, { ifAvailable: true }, (lock) => lock), null);
    const shared = await other.request(name, { mode: "shared", ifAvailable: true }, (lock) => lock?.mode);
    assert.equal(shared, "shared");
    let isAlone = false;
    const alone = other.request(name, () => (isAlone = true));
    first.end();
    await first.done;
    assert.equal(isAlone, false);
    second.end();
    await second.done;
    assert.equal(await alone, true);
  });

  it("fencing tokens grow", async () => {
    const name = freshName();
    const tokens = [];
    for (const mode of ["exclusive", "shared", "exclusive"]) {
      tokens.push(await context.client.locks.request(name, { mode }, ({ token }) => token));
    }
    assert.deepEqual(
      tokens,
      [...tokens].sort((a, b) => Number(a - b)),
    );
    assert.equal(new Set(tokens).size, 3);
  });

  it("a signal ends the wait, and nothing after it", async () => {
    const { locks } = context.client;
    const name = freshName();
    const { end, done } = await hold(locks, name);
    const reason = new Error("enough");
    await assert.rejects(locks.request(name, { signal: AbortSignal.abort(reason) }, assert.fail), (e) => e === reason);
    const controller = new AbortController();
    const waiting = locks.request(name, { signal: controller.signal }, assert.fail);
    await until(async () => (await locks.query()).pending.length === 1);
    controller.abort();
    await assert.rejects(waiting, dom("AbortError"));
    // Its place on the server is given up in the background.
    await until(async () => (await locks.query()).pending.length === 0);
    end();
    await done;
    const late = new AbortController();
    const result = await locks.request(name, { signal: late.signal }, async () => {
      late.abort();
      await null;
      return "done";
    });
    assert.equal(result, "done");
  });

  it("refuses what makes no sense, by rejecting", async () => {
    const { locks } = context.client;
    const name = freshName();
    const { signal } = new AbortController();
    for (const args of [
      [],
      [name],
      [name, {}],
      [name, undefined, undefined],
      [name, { mode: "foo" }, assert.fail],
      [name, { mode: null }, assert.fail],
      [name, { signal: "string" }, assert.fail],
      [name, { ifAvailable: 1 }, assert.fail],
      [name, { lease: 1 }, assert.fail],
      [name, assert.fail, {}],
      [7, assert.fail],
    ]) {
      await assert.rejects(locks.request(...args), TypeError);
    }
    for (const [given, options] of [
      ["-reserved", {}],
      [name, { signal, ifAvailable: true }],
      [name, { signal, steal: true }],
      [name, { steal: true, ifAvailable: true }],
      [name, { steal: true, mode: "shared" }],
    ]) {
      await assert.rejects(locks.request(given, options, assert.fail), dom("NotSupportedError"));
    }
    await rejects(locks.request("", assert.fail), "INVALID_NAME");
  });

  it("a request inside of one for the same lock is refused", async () => {
    const { locks } = context.client;
    const name = freshName();
    const inner = () => locks.request(name, assert.fail);
    await rejects(locks.request(name, inner), "DEADLOCK");
  });

  it("a lock that is taken away rejects at once with AbortError", async () => {
    const { locks } = context.client;
    const name = freshName();
    const { lock, end, done } = await hold(locks, name);
    done.catch(() => undefined);
    await (await context.open()).rwLock(name).forceRelease();
    await kept(assert.rejects(done, dom("AbortError")));
    assert.equal(lock.signal.aborted, true);
    await assert.rejects(done, ({ cause }) => cause.code === "DLOCK_LOST");
    // The callback goes on, and its end changes nothing.
    end();
    await locks.request(name, () => undefined);
  });

  it("a free lock may be stolen as well", async () => {
    const { locks } = context.client;
    assert.equal(await locks.request(freshName(), { steal: true }, ({ mode }) => mode), "exclusive");
  });

  for (const mode of ["exclusive", "shared"]) {
    it(`a lock is stolen from its holders: ${mode}`, async () => {
      const name = freshName();
      const other = (await context.open()).locks;
      const holders = [await hold(context.client.locks, name, { mode })];
      if (mode === "shared") holders.push(await hold(other, name, { mode }));
      const ended = holders.map(({ done }) => assert.rejects(done, dom("AbortError")));
      const waiting = context.client.locks.request(name, () => "waited");
      await until(async () => (await other.query([name])).pending.length === 1);
      const thief = await hold(other, name, { steal: true });
      await kept(Promise.all(ended));
      for (const { lock } of holders) assert.ok(thief.lock.token > lock.token);
      assert.equal(holders[0].lock.signal.reason.lossReason, "taken");
      // Their callbacks end later, and change nothing.
      for (const { end } of holders) end();
      assert.equal(await other.request(name, { ifAvailable: true }, (lock) => lock), null);
      thief.end();
      assert.equal(await thief.done, "released");
      assert.equal(await waiting, "waited");
    });
  }

  it("what was stolen before its callback began is an AbortError", async () => {
    const { locks } = context.client;
    const name = freshName();
    // A callback that heeds the signal, of which nothing is to be seen any more when it fired before.
    const heeding = ({ signal }) => new Promise((resolve) => (signal.aborted ? resolve() : setTimeout(resolve, 300)));
    const thieves = Array.from({ length: 5 }, () => locks.request(name, { steal: true }, heeding));
    const ends = await kept(Promise.allSettled(thieves));
    assert.deepEqual(
      ends.map(({ reason }) => reason?.name),
      ["AbortError", "AbortError", "AbortError", "AbortError", undefined],
    );
  });

  it("a thief may be stolen from, and a request from itself", async () => {
    const { locks } = context.client;
    const name = freshName();
    const first = await hold(locks, name, { steal: true });
    const ended = assert.rejects(first.done, dom("AbortError"));
    const second = await hold(locks, name, { steal: true });
    await kept(ended);
    second.end();
    await second.done;
    first.end();
    const inner = () => locks.request(name, { steal: true }, () => "inner");
    let stolen;
    const stolenFrom = locks.request(name, async () => (stolen = await inner()));
    await kept(assert.rejects(stolenFrom, dom("AbortError")));
    await until(() => stolen === "inner");
  });

  it("a read-write lock has it, too", async () => {
    const rw = context.client.rwLock(freshName());
    const held = await rw.read.acquire();
    const stolen = await rw.steal({ leaseMs: 5_000 });
    assert.deepEqual([held.valid, held.lossReason, stolen.side], [false, "taken", "write"]);
    assert.ok(stolen.token > held.token && stolen.remainingMs <= 5_000);
    await stolen.release();
    await rejects(rw.steal({ leaseMs: 1 }), "INVALID_ARGUMENT");
    await assert.rejects(rw.steal({ waitMs: 5 }), /has no option "waitMs"/);
  });

  it("a query tells who holds and who waits", async () => {
    const { locks } = context.client;
    const other = (await context.open()).locks;
    const name = freshName();
    assert.deepEqual(await locks.query(), { held: [], pending: [] });
    assert.deepEqual(await locks.query([name]), { held: [], pending: [] });
    const ours = [await hold(locks, name, { mode: "shared" }), await hold(locks, name, { mode: "shared" })];
    const theirs = await hold(other, name, { mode: "shared" });
    const { held } = await locks.query();
    assert.deepEqual(
      held.map(({ name, mode }) => [name, mode]),
      [1, 2, 3].map(() => [name, "shared"]),
    );
    const [first, second, third] = held.map(({ clientId }) => clientId);
    assert.match(first, /^[0-9a-f-]{36}$/);
    assert.deepEqual([second, third], [first, undefined]);
    const waiting = other.request(name, () => "written");
    await until(async () => (await locks.query()).pending.length === 1);
    assert.deepEqual((await locks.query()).pending, [{ name, mode: undefined, clientId: undefined }]);
    assert.deepEqual((await other.query()).pending, [{ name, mode: "exclusive", clientId: undefined }]);
    for (const one of [...ours, theirs]) one.end();
    assert.equal(await waiting, "written");

    const writer = await hold(other, name);
    const seen = await locks.query([name, name]);
    assert.equal(seen.held.length, 1);
    assert.deepEqual(seen.held, (await other.query()).held);
    writer.end();
    await writer.done;
    assert.deepEqual(await other.query([name]), { held: [], pending: [] });
    await assert.rejects(locks.query(name), TypeError);
  });

  it("a query knows those that do not wait, and other holds", async () => {
    const { locks } = context.client;
    const other = (await context.open()).locks;
    const name = freshName();
    const holder = await hold(locks, name);
    const waiting = locks.request(name, () => "waited");
    await until(async () => (await other.query([name])).pending.length === 1);
    const during = await other.request(name, { ifAvailable: true }, (none) => [none, other.query([name])]);
    const { pending } = await during[1];
    assert.deepEqual([during[0], pending], [null, [{ name, mode: undefined, clientId: undefined }]]);
    holder.end();
    await Promise.all([holder.done, waiting]);
    // A hold of this client that is no request is one all the same.
    const held = await context.client.rwLock(name).write.acquire();
    const seen = await locks.query([name]);
    assert.deepEqual(seen.held, (await other.query([name])).held);
    assert.equal(seen.held.length, 1);
    await held.release();
  });
});
