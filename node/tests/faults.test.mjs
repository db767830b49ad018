// Faults that a Node program meets: dead holders, stopped ones, dead connections. tests/faults/README.md lists all of them,
// with the tests that have a checker; this file has what the layer for Node adds.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { connect } from "libdlock";

import {
  Program,
  Proxy,
  RedisServer,
  fired,
  freshName,
  oneOfFive,
  stopwatch,
  until,
  useServer,
  waits,
} from "./kit/index.mjs";

describe("faults", () => {
  const shared = useServer();

  it("a killed holder's lock comes free with its lease", async () => {
    const name = freshName();
    const holder = new Program("holder.mjs", [shared.server.url, name, 1_000]);
    const token = BigInt(await holder.line());
    const client = await connect(shared.server.url, { pollIntervalMs: 200 });
    const left = await shared.server.command("PTTL", name);
    const [began, took] = [performance.now(), stopwatch()];
    holder.child.kill("SIGKILL");
    const held = await client.lock(name).acquire({ waitMs: 10_000 });
    const waited = performance.now() - began;
    assert.ok(held.token > token);
    // Not before the key expires, and no later than a lease, a poll (+ 20 %) and what a busy machine takes.
    assert.ok(waited > left - 50 && took() < 1_000 + 240 + 500, `${waited} ms, with ${left} ms left`);
    await client.close({ release: true });
  });

  it("a holder stopped past its lease knows it at once, and its release frees nothing", async () => {
    const name = freshName();
    const holder = new Program("holder.mjs", [shared.server.url, name, 1_000]);
    const token = BigInt(await holder.line());
    holder.child.kill("SIGSTOP");
    const client = await connect(shared.server.url);
    const held = await client.lock(name).acquire({ waitMs: 10_000 });
    assert.ok(held.token > token);
    holder.child.kill("SIGCONT");
    assert.equal(await holder.line(), "lost false expired");
    assert.equal(await holder.line(), "DLOCK_NOT_HELD");
    assert.equal((await holder.end()).code, 0);
    assert.equal(held.valid, true);
    assert.equal((await client.lock(name).inspect()).holder, held.owner);
    await client.close({ release: true });
  });

  it("a holder stopped past its permits' lease knows it, and frees none", async () => {
    const name = freshName();
    const holder = new Program("permits.mjs", [shared.server.url, name, 1_000]);
    await holder.line();
    holder.child.kill("SIGSTOP");
    const client = await connect(shared.server.url);
    const semaphore = client.semaphore(name, 3);
    const held = await semaphore.acquire({ permits: 3, waitMs: 10_000 });
    holder.child.kill("SIGCONT");
    assert.equal(await holder.line(), "lost false expired");
    assert.equal(await holder.line(), "DLOCK_NOT_HELD");
    assert.equal((await holder.end()).code, 0);
    assert.equal(held.valid, true);
    assert.deepEqual(await semaphore.inspect(), { permits: 3, available: 0, queued: 0 });
    await client.close({ release: true });
  });

  it("a black hole costs a timed acquire its own time, and a hold is lost before its end", () =>
    oneOfFive(async () => {
      const proxy = await Proxy.start(shared.server.port);
      const client = await connect(proxy.url, { leaseMs: 1_000 });
      const held = await client.lock(freshName()).acquire();
      const { signal } = held;
      let leftMs;
      signal.addEventListener("abort", () => (leftMs = held.remainingMs));
      proxy.blackHole();
      const [began, took] = [performance.now(), stopwatch()];
      const error = await client
        .lock(freshName())
        .acquire({ waitMs: 500 })
        .catch((error) => error);
      const [waited, ms] = [performance.now() - began, took()];
      assert.ok(["CONNECTION", "OUTCOME_UNKNOWN", "BUSY"].includes(error.kind), error.stack);
      // The deadline +- 50 ms, and what a busy machine takes.
      assert.ok(waited >= 450 && ms < 750, `${waited} ms`);
      assert.equal((await fired(signal)).lossReason, "expired");
      assert.ok(leftMs > 0 && leftMs <= 50, `${leftMs} ms before the end`);
      await client.close();
      await proxy.close();
    }));

  it("after an empty restart a hold is lost at its next renewal, and others get the lock", async () => {
    const server = await RedisServer.start();
    const client = await connect(server.url, { leaseMs: 1_500 });
    const name = freshName();
    const held = await client.lock(name).acquire();
    const { signal } = held;
    await server.kill();
    assert.ok(await server.run());
    await fired(signal);
    const other = await connect(server.url);
    const taken = await other.lock(name).acquire({ waitMs: 2_000 });
    assert.ok(taken.token > held.token);
    await client.close();
    await other.close();
    await server.stop();
  });

  it("a reply lost on the way is made good", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url);
    const name = freshName();
    for (let round = 0; round < 10; round++) {
      proxy.resetAtReplyTo(name);
      const held = await client.lock(name).acquire();
      proxy.resetAtReplyTo(name);
      await held.release();
      assert.equal(await shared.server.command("EXISTS", name), 0);
    }
    assert.equal(proxy.resets, 20);
    await client.close();
    await proxy.close();
  });

  it("lost replies cost a semaphore no permit", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url);
    const semaphore = client.semaphore(freshName(), 5);
    await semaphore.withPermits(() => undefined);
    for (let round = 0; round < 10; round++) {
      proxy.resetAtReplyTo(semaphore.name);
      const held = await semaphore.acquire({ permits: 3 });
      assert.equal(await shared.server.command("GET", semaphore.name), "2");
      proxy.resetAtReplyTo(semaphore.name);
      await held.release();
      assert.equal(await shared.server.command("GET", semaphore.name), "5");
    }
    assert.equal(proxy.resets, 20);
    await client.close();
    await proxy.close();
  });

  it("lost replies cost a read-write lock neither side", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url);
    const rw = client.rwLock(freshName());
    await rw.withRead(() => undefined);
    await rw.withWrite((held) => held.downgrade());
    for (let round = 0; round < 10; round++) {
      proxy.resetAtReplyTo(rw.name);
      const writes = await rw.write.acquire();
      assert.equal(await shared.server.command("HGET", rw.name, "mode"), "write");
      proxy.resetAtReplyTo(rw.name);
      const reads = await writes.downgrade();
      assert.equal(await shared.server.command("HGET", rw.name, "mode"), "read");
      proxy.resetAtReplyTo(rw.name);
      await reads.release();
      assert.equal(await shared.server.command("EXISTS", rw.name), 0);
    }
    assert.equal(proxy.resets, 30);
    await client.close();
    await proxy.close();
  });

  it("a release that fails after withPermits has failed is a warning", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url, { operationTimeoutMs: 1_000 });
    const warned = new Promise((resolve) => process.once("warning", resolve));
    const work = () => {
      proxy.blackHole();
      throw new RangeError("the work failed too");
    };
    await assert.rejects(client.semaphore(freshName(), 1).withPermits(work), RangeError);
    const { code, message } = await warned;
    assert.equal(code, "DLOCK_RELEASE_FAILED");
    assert.match(message, /at the end of withPermits failed: /);
    await client.close();
    await proxy.close();
  });

  it("a release that fails after its function has failed is a warning", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url, { operationTimeoutMs: 1_000 });
    const warned = new Promise((resolve) => process.once("warning", resolve));
    const work = () => {
      proxy.blackHole();
      throw new RangeError("the work failed too");
    };
    await assert.rejects(client.withLock(freshName(), work), RangeError);
    const { name, code } = await warned;
    assert.deepEqual([name, code], ["DlockWarning", "DLOCK_RELEASE_FAILED"]);
    await client.close();
    await proxy.close();
  });

  it("a subscription killed during a wait costs a poll at most", async () => {
    const server = await RedisServer.start();
    const [holder, waiter] = [await connect(server.url), await connect(server.url)];
    const name = freshName();
    const held = await holder.lock(name).acquire();
    const waiting = waiter.lock(name).acquire();
    while (!(await waits(server, name)));
    await server.command("CLIENT", "KILL", "TYPE", "pubsub");
    const took = stopwatch();
    await held.release();
    const got = await waiting;
    const ms = took();
    assert.ok(ms < 1_200, `${ms} ms`);
    await got.release();
    await waiter.close();
    await holder.close();
    // The server sees the end of a connection a moment after the client.
    await until(async () => (await server.command("PUBSUB", "CHANNELS")).length === 0);
    await server.stop();
  });

  it("a waiter here is woken by the message, not by its poll", () =>
    oneOfFive(async () => {
      const [holder, waiter] = [
        await connect(shared.server.url),
        await connect(shared.server.url, { pollIntervalMs: 30_000 }),
      ];
      const name = freshName();
      const held = await holder.lock(name).acquire();
      const waiting = waiter.lock(name).acquire();
      while (!(await waits(shared.server, name)));
      await held.release();
      const took = stopwatch();
      await (await waiting).release();
      assert.ok(took() < 150);
      await holder.close();
      await waiter.close();
    }));

  it("waiters for either side are woken by the message too", () =>
    oneOfFive(async () => {
      const [holder, waiter] = [
        await connect(shared.server.url),
        await connect(shared.server.url, { pollIntervalMs: 30_000 }),
      ];
      const name = freshName();
      for (const [side, other] of [
        ["read", "write"],
        ["write", "read"],
      ]) {
        const held = await holder.rwLock(name)[side].acquire();
        const waiting = waiter.rwLock(name)[other].acquire();
        while (!(await waits(shared.server, name, "rw_queue")));
        await held.release();
        const took = stopwatch();
        await (await waiting).release();
        assert.ok(took() < 150);
      }
      await holder.close();
      await waiter.close();
    }));

  it("a writer stopped past its lease knows it, and frees nothing", async () => {
    const name = freshName();
    const holder = new Program("writer.mjs", [shared.server.url, name, 1_000]);
    const token = BigInt(await holder.line());
    holder.child.kill("SIGSTOP");
    const client = await connect(shared.server.url);
    const rw = client.rwLock(name);
    const held = await rw.read.acquire({ waitMs: 10_000 });
    assert.ok(held.token > token);
    holder.child.kill("SIGCONT");
    assert.equal(await holder.line(), "lost false expired");
    assert.equal(await holder.line(), "DLOCK_NOT_HELD");
    assert.equal((await holder.end()).code, 0);
    assert.equal(held.valid, true);
    const { writer, readers } = await rw.inspect();
    assert.deepEqual([writer, readers], [undefined, 1]);
    await client.close({ release: true });
  });

  it("a waiter for permits is woken by the message too", () =>
    oneOfFive(async () => {
      const [holder, waiter] = [
        await connect(shared.server.url),
        await connect(shared.server.url, { pollIntervalMs: 30_000 }),
      ];
      const name = freshName();
      const held = await holder.semaphore(name, 3).acquire({ permits: 3 });
      const waiting = waiter.semaphore(name, 3).acquire({ permits: 2 });
      while (!(await waits(shared.server, name, "semaphore_queue")));
      await held.release();
      const took = stopwatch();
      await (await waiting).release();
      assert.ok(took() < 150);
      await holder.close();
      await waiter.close();
    }));
});
