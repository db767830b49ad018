// AbortSignal in: whatever is given up leaves nothing behind. faults.md 14.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { connect } from "libdlock";

import { Proxy, freshName, onBothBackends, rejects, useServer } from "./kit/index.mjs";

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

  it("AbortSignal.timeout works as with Node's own functions", async () => {
    const lock = context.client.lock(freshName());
    const held = await lock.acquire();
    await assert.rejects(lock.acquire({ signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
    await held.release();
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

describe("faults.md 14", () => {
  const shared = useServer();

  it("10,000 acquires given up between request and reply leave no key", async (test) => {
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
});

async function until(condition) {
  const deadline = performance.now() + 30_000;
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, "it never came true");
    await pause(5);
  }
}
