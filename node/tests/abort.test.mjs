// AbortSignal in: whatever is given up leaves nothing behind.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { inspect } from "node:util";

import { connect } from "libdlock";

import { Proxy, freshName, onBothBackends, rejects, until, useServer } from "./kit/index.mjs";

/** As the signals of Node before 17.2, which the package abort-controller still makes. */
class OldSignal extends EventTarget {
  aborted = false;

  abort() {
    this.aborted = true;
    this.dispatchEvent(new Event("abort"));
  }
}

onBothBackends((context) => {
  it("a signal that fires ends the wait with its reason, and nothing is held", async () => {
    const lock = context.client.lock(freshName());
    const held = await lock.acquire();
    const controller = new AbortController();
    const waiting = lock.acquire({ signal: controller.signal });
    controller.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    const reason = new Error("changed my mind");
    const other = new AbortController();
    const again = lock.withLock({ signal: other.signal }, () => assert.fail("never held"));
    other.abort(reason);
    await assert.rejects(again, (error) => error === reason);
    await held.release();
    assert.equal(await lock.locked(), false);
  });

  it("a signal ends a wait for permits, and those behind move up", async () => {
    const semaphore = context.client.semaphore(freshName(), 3);
    const held = await semaphore.acquire({ permits: 2 });
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = semaphore.acquire({ permits: 3, signal });
    const also = semaphore.withPermits({ permits: 3, signal }, () => assert.fail("never held"));
    const behind = semaphore.acquire();
    await until(() => context.client.stats().semaphore.waiting === 3);
    const reason = new Error("changed my mind");
    controller.abort(reason);
    await assert.rejects(waiting, (error) => error === reason);
    await assert.rejects(also, (error) => error === reason);
    await (await behind).release();
    await held.release();
    await assert.rejects(semaphore.acquire({ signal }), (error) => error === reason);
    await rejects(semaphore.acquire({ signal, permits: 0.5 }), "INVALID_ARGUMENT");
    assert.equal((await semaphore.inspect()).available, 3);
  });

  it("a signal ends a wait for a side, and those behind move up", async () => {
    const rw = context.client.rwLock(freshName(), { sharedAgeMs: 0 });
    const held = await rw.read.acquire();
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = rw.write.acquire({ signal });
    const also = rw.withWrite({ signal }, () => assert.fail("never held"));
    const behind = rw.read.acquire();
    await until(() => context.client.stats().rwLock.waiting === 3);
    const reason = new Error("changed my mind");
    controller.abort(reason);
    await assert.rejects(waiting, (error) => error === reason);
    await assert.rejects(also, (error) => error === reason);
    await (await behind).release();
    await held.release();
    for (const side of [rw.read, rw.write]) {
      await assert.rejects(side.acquire({ signal }), (error) => error === reason);
      await rejects(side.acquire({ signal, waitMs: 0.5 }), "INVALID_ARGUMENT");
    }
    assert.equal((await rw.inspect()).readers, 0);
  });

  it("a signal ends a wait for several locks, and none is held", async () => {
    const { client } = context;
    const names = ["a", "b", "c"].map((part) => `${freshName()}-${part}`);
    const held = await client.lock(names[1]).acquire();
    const set = client.lockAll(names);
    const controller = new AbortController();
    const { signal } = controller;
    const waiting = set.acquire({ signal });
    const also = set.withLock({ signal }, () => assert.fail("never held"));
    await until(async () => (await client.lock(names[0]).inspect()).holder !== undefined);
    const reason = new Error("changed my mind");
    controller.abort(reason);
    for (const each of [waiting, also]) await assert.rejects(each, (error) => error === reason);
    await held.release();
    await client.lockAll(names).withLock({ waitMs: 10_000 }, () => undefined);
    await assert.rejects(set.acquire({ signal }), (error) => error === reason);
    await rejects(set.acquire({ signal, waitMs: 0.5 }), "INVALID_ARGUMENT");
    for (const name of names) assert.equal(await client.lock(name).locked(), false);
  });

  it("one that has fired before refuses without I/O, and a wrong argument goes first", async () => {
    const lock = context.client.lock(freshName());
    await assert.rejects(lock.acquire({ signal: AbortSignal.abort() }), { name: "AbortError" });
    await rejects(lock.acquire({ signal: AbortSignal.abort(), leaseMs: 1.5 }), "INVALID_ARGUMENT");
    assert.equal((await lock.inspect()).token, undefined);
  });

  it("one that fires too late changes nothing, and is not listened to any more", async () => {
    const lock = context.client.lock(freshName());
    const controller = new AbortController();
    const { signal } = controller;
    const listeners = new Set();
    const { addEventListener, removeEventListener } = signal;
    signal.addEventListener = (...args) => (listeners.add(args[1]), addEventListener.apply(signal, args));
    signal.removeEventListener = (...args) => (listeners.delete(args[1]), removeEventListener.apply(signal, args));
    const held = await lock.acquire({ signal });
    assert.equal(listeners.size, 0);
    controller.abort();
    assert.equal(held.valid, true);
    await held.release();
  });

  it("a signal that fires before the promise settles rejects it", async () => {
    const name = freshName();
    const { client } = context;
    const lock = client.lock(name);
    const permits = client.semaphore(`${name}-3`, 2);
    const rw = client.rwLock(`${name}-4`);
    const set = client.lockAll([`${name}-5`, `${name}-6`]);
    const reason = new Error("changed my mind");
    for (let round = 0; round < 200; round++) {
      const controller = new AbortController();
      const { signal } = controller;
      const all = [
        lock.acquire({ signal }),
        client.lock(`${name}-1`).withLock({ signal }, () => assert.fail("it was given up")),
        client.withLock(`${name}-2`, { signal }, () => assert.fail("it was given up")),
        permits.acquire({ signal }),
        permits.withPermits({ permits: 2, signal }, () => assert.fail("it was given up")),
        set.acquire({ signal }),
        rw.read.acquire({ signal }),
        rw.withWrite({ signal }, () => assert.fail("it was given up")),
        client.rateLimiter(name, { tokens: 1_000, perMs: 1 }).acquire(1, { signal }),
      ];
      controller.abort(reason);
      for (const outcome of await Promise.allSettled(all)) assert.equal(outcome.reason, reason);
    }
    assert.equal(client.stats().lock.held, 0);
    assert.equal(client.stats().semaphore.held, 0);
    await rw.withWrite({ waitMs: 2_000 }, () => undefined);
    assert.equal(client.stats().rwLock.held, 0);
    await permits.withPermits({ permits: 2, waitMs: 2_000 }, () => undefined);
    await set.withLock({ waitMs: 2_000 }, () => undefined);
    for (const left of [name, `${name}-1`, `${name}-2`]) {
      await client.withLock(left, { waitMs: 2_000 }, () => undefined); // given back in the background
    }
  });

  it("a signal that cannot be listened to begins nothing", async () => {
    const lock = context.client.lock(freshName());
    const refusal = new Error("no listeners");
    const signal = new AbortController().signal;
    signal.addEventListener = () => {
      throw refusal;
    };
    for (const acquire of [
      () => lock.acquire({ signal, waitMs: 2_000 }),
      () => lock.withLock({ signal, waitMs: 2_000 }, assert.fail),
    ])
      await assert.rejects(acquire(), (error) => error === refusal);
    assert.equal((await lock.inspect()).token, undefined);
    delete signal.addEventListener;
    const held = await lock.acquire({ signal });
    await held.release();
  });

  it("a signal whose listener cannot be removed harms nobody", async () => {
    const lock = context.client.lock(freshName());
    const { signal } = new AbortController();
    signal.removeEventListener = () => {
      throw new Error("it stays");
    };
    const [held] = await Promise.all([
      lock.acquire({ signal }),
      context.client.withLock(freshName(), { signal }, () => undefined),
    ]);
    await held.release();
    assert.equal(await lock.locked(), false);
  });

  it("AbortSignal.timeout works as with Node's own functions", async () => {
    const lock = context.client.lock(freshName());
    const held = await lock.acquire();
    await assert.rejects(lock.acquire({ signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
    await held.release();
  });

  it("a signal of the package abort-controller works, without reason", async () => {
    const lock = context.client.lock(freshName());
    const held = await lock.acquire();
    const signal = new OldSignal();
    const waiting = lock.acquire({ signal });
    signal.abort();
    const limiter = context.client.rateLimiter(freshName(), { tokens: 1, perMs: 1_000 });
    const outcomes = await Promise.allSettled([
      waiting,
      lock.acquire({ signal }),
      lock.withLock({ signal }, assert.fail),
      limiter.acquire(1, { signal }),
      connect("memory://", { signal }),
    ]);
    for (const { reason } of outcomes) assert.equal(reason?.name, "AbortError", inspect(reason));
    await held.release();
    const half = { aborted: false, addEventListener: () => undefined };
    await assert.rejects(lock.acquire({ signal: half }), {
      name: "TypeError",
      message: /signal must be an AbortSignal/,
    });
    assert.equal(await lock.locked(), false);
  });

  it("fired from everywhere in the life of an acquire, it leaves a lock that is free", async () => {
    const lock = context.client.lock(freshName());
    let got = 0;
    for (let round = 0; round < 300; round++) {
      const controller = new AbortController();
      const acquiring = lock.acquire({ signal: controller.signal });
      const turns = round % 30;
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      const held = await acquiring.catch((error) => assert.equal(error.name, "AbortError"));
      if (held) got += 1;
      await held?.release();
    }
    // A late grant is given back in the background: whoever asks next gets the lock as soon as that is done.
    await (await lock.acquire({ waitMs: 2_000 })).release();
    // memory:// has granted it when the call returns.
    if (context.url.startsWith("redis")) assert.ok(got < 300, "no signal was ever in time");
  });
});

onBothBackends((context) => {
  it("fired from everywhere in the life of an acquire, it leaves all permits", async () => {
    const semaphore = context.client.semaphore(freshName(), 2);
    for (let round = 0; round < 300; round++) {
      const controller = new AbortController();
      const { signal } = controller;
      const acquiring = [1, 2].map((permits) =>
        semaphore.acquire({ permits, signal }).then(
          (held) => held.release(),
          ({ name }) => assert.equal(name, "AbortError"),
        ),
      );
      const turns = round % 30;
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      await Promise.all(acquiring);
    }
    // A late grant is given back in the background.
    await (await semaphore.acquire({ permits: 2, waitMs: 2_000 })).release();
    assert.equal((await semaphore.inspect()).available, 2);
  });

  it("fired from everywhere in the life of an acquire, it leaves both sides", async () => {
    const rw = context.client.rwLock(freshName());
    for (let round = 0; round < 300; round++) {
      const controller = new AbortController();
      const { signal } = controller;
      const acquiring = [rw.read, rw.write, rw.read].map((side) =>
        side.acquire({ signal }).then(
          (held) => held.release(),
          ({ name }) => assert.equal(name, "AbortError"),
        ),
      );
      const turns = round % 30;
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
      await Promise.all(acquiring);
    }
    // A late grant is given back in the background.
    await (await rw.write.acquire({ waitMs: 2_000 })).release();
    assert.equal((await rw.inspect()).writer, undefined);
  });
});

describe("connect", () => {
  it("is given up with the signal's reason, and leaves no connection", async (test) => {
    const sockets = new Set();
    const silent = createServer((socket) => {
      sockets.add(socket.resume());
      socket.on("close", () => sockets.delete(socket)).on("error", () => undefined);
    });
    test.after(() => silent.close());
    await new Promise((resolve) => silent.listen(0, "127.0.0.1", resolve));
    const url = `redis://127.0.0.1:${silent.address().port}`;
    const controller = new AbortController();
    const connecting = connect(url, { signal: controller.signal });
    await until(() => sockets.size > 0);
    controller.abort();
    await assert.rejects(connecting, { name: "AbortError" });
    await until(() => sockets.size === 0);
    await assert.rejects(connect(url, { signal: AbortSignal.abort() }), { name: "AbortError" });
    assert.equal(sockets.size, 0);
  });
});

describe("a batch of completions", () => {
  it("rejects what the signal that one of them fires belongs to", async () => {
    const [first, second] = [freshName(), freshName()];
    const client = await connect("memory://");
    for (let round = 0; round < 50; round++) {
      const controller = new AbortController();
      const { signal } = controller;
      const firing = client.withLock(first, () => controller.abort());
      const given = [
        client.lock(second).acquire({ signal }),
        client.lock(`${second}-2`).withLock({ signal }, () => assert.fail("it ran after the signal")),
      ];
      for (const outcome of await Promise.allSettled(given)) assert.equal(outcome.reason, signal.reason);
      await firing;
    }
    await client.withLock(second, { waitMs: 2_000 }, () => undefined);
    await client.close();
  });
});

describe("connect given up as it connects", () => {
  const shared = useServer();

  it("rejects, and leaves no connection", async () => {
    for (const url of [shared.server.url, "memory://"]) {
      for (let round = 0; round < 20; round++) {
        const controller = new AbortController();
        const connecting = connect(url, { signal: controller.signal });
        let client;
        const connected = connecting.then((opened) => (client = opened));
        // memory:// is connected when the call returns; a server somewhere between.
        for (let turn = 0; turn < round; turn++) await new Promise((resolve) => setImmediate(resolve));
        controller.abort();
        if (client === undefined) await assert.rejects(connected, { name: "AbortError" });
        await client?.close();
      }
    }
    const others = async () => (await shared.server.command("CLIENT", "LIST")).match(/name=libdlock/g) ?? [];
    await until(async () => (await others()).length === 0);
  });
});

describe("acquires given up before their reply", () => {
  const shared = useServer();

  it("10,000 leave no key", async (test) => {
    const proxy = await Proxy.start(shared.server.port);
    test.after(() => proxy.close());
    const client = await connect(proxy.url, { responseTimeoutMs: 30_000, pingIntervalMs: 3_600_000 });
    const prefix = freshName();
    await client.withLock(prefix, () => undefined); // the server has the scripts
    proxy.holdReplies();
    const controller = new AbortController();
    const all = Array.from({ length: 10_000 }, (_, n) =>
      client.lock(`${prefix}-${n}`).acquire({ signal: controller.signal }),
    );
    const outcomes = Promise.allSettled(all);
    const keys = () => shared.server.command("EVAL", `return #redis.call("KEYS", "${prefix}-*")`, "0");
    await until(async () => (await keys()) === 10_000); // all have been granted, and nobody knows
    controller.abort();
    const names = new Set((await outcomes).map(({ status, reason }) => reason?.name ?? status));
    assert.deepEqual([...names], ["AbortError"]);
    proxy.passReplies();
    await until(async () => (await keys()) === 0);
    await client.close();
  });

  it("1,000 leave no side held", async (test) => {
    const proxy = await Proxy.start(shared.server.port);
    test.after(() => proxy.close());
    const client = await connect(proxy.url, { responseTimeoutMs: 30_000, pingIntervalMs: 3_600_000 });
    const prefix = freshName();
    await client.rwLock(prefix).withRead(() => undefined); // the server has the scripts
    proxy.holdReplies();
    const controller = new AbortController();
    const all = Array.from({ length: 1_000 }, (_, n) =>
      client.rwLock(`${prefix}-${n}`)[n % 2 === 0 ? "read" : "write"].acquire({ signal: controller.signal }),
    );
    const outcomes = Promise.allSettled(all);
    const held = () => shared.server.command("EVAL", `return #redis.call("KEYS", "${prefix}-*")`, "0");
    await until(async () => (await held()) === 1_000); // all have been granted, and nobody knows
    controller.abort();
    const names = new Set((await outcomes).map(({ status, reason }) => reason?.name ?? status));
    assert.deepEqual([...names], ["AbortError"]);
    proxy.passReplies();
    await until(async () => (await held()) === 0);
    await client.close();
  });

  it("1,000 leave no permit taken", async (test) => {
    const proxy = await Proxy.start(shared.server.port);
    test.after(() => proxy.close());
    const client = await connect(proxy.url, { responseTimeoutMs: 30_000, pingIntervalMs: 3_600_000 });
    const prefix = freshName();
    await client.semaphore(prefix, 3).withPermits(() => undefined); // the server has the scripts
    proxy.holdReplies();
    const controller = new AbortController();
    const all = Array.from({ length: 1_000 }, (_, n) =>
      client.semaphore(`${prefix}-${n}`, 3).acquire({ permits: 2, signal: controller.signal }),
    );
    const outcomes = Promise.allSettled(all);
    const taken = () => shared.server.command("EVAL", `return #redis.call("KEYS", "{${prefix}-*}:timeout")`, "0");
    await until(async () => (await taken()) === 1_000); // all have been granted, and nobody knows
    controller.abort();
    const names = new Set((await outcomes).map(({ status, reason }) => reason?.name ?? status));
    assert.deepEqual([...names], ["AbortError"]);
    proxy.passReplies();
    await until(async () => (await taken()) === 0);
    await client.close();
  });
});
