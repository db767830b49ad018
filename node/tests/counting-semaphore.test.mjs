// The counting semaphore as a program of Node uses it, on a server and on memory://. What it is is checked by tests/scenarios.

import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";

import { connect } from "libdlock";

import {
  Program,
  RedisServer,
  freshName,
  onBothBackends,
  rejects,
  stopwatch,
  throws,
  until,
  useServer,
} from "./kit/index.mjs";

const NO_NUMBERS = ["1", null, [], {}, true, 5n];

onBothBackends((context) => {
  const open = async (permits) => {
    const semaphore = context.client.countingSemaphore(freshName());
    if (permits !== undefined) assert.equal(await semaphore.trySetPermits(permits), true);
    return semaphore;
  };
  const waiting = (count, client = context.client) => until(() => client.stats().countingSemaphore.waiting === count);

  it("gives permits that anybody may bring back", async () => {
    const semaphore = await open(3);
    const other = (await context.open()).countingSemaphore(semaphore.name);
    assert.equal(await other.trySetPermits(9), false);
    assert.equal(await semaphore.acquire({ permits: 2 }), undefined);
    assert.equal(await semaphore.tryAcquire({ permits: 2 }), false);
    assert.equal(await other.tryAcquire(), true);
    assert.equal(await semaphore.available(), 0);
    await other.release(2);
    await other.release();
    await other.release();
    assert.deepEqual(await semaphore.inspect(), { exists: true, available: 4, queued: 0 });
    assert.equal(semaphore.client, context.client);
  });

  it("that is not there has no permits until it is made", async () => {
    const semaphore = await open();
    assert.deepEqual(await semaphore.inspect(), { exists: false, available: 0, queued: 0 });
    assert.equal(await semaphore.tryAcquire(), false);
    const waits = semaphore.acquire();
    await waiting(1);
    assert.equal(await semaphore.trySetPermits(1), true);
    await waits;
    assert.equal(await semaphore.available(), 0);
    const empty = await open(0);
    assert.deepEqual(await empty.inspect(), { exists: true, available: 0, queued: 0 });
  });

  it("rejects with BUSY when the wait is over", async () => {
    const semaphore = await open(2);
    const began = performance.now();
    const took = stopwatch();
    const error = await rejects(semaphore.acquire({ permits: 3, waitMs: 300 }), "BUSY");
    // The wait is the core's, on a clock of whole microseconds; a second is for a busy machine.
    assert.ok(performance.now() - began > 299 && took() < 1_300);
    assert.equal(error.object, semaphore.name);
    assert.equal(await semaphore.available(), 2);
  });

  it("serves those that wait in order, few behind many", async () => {
    const semaphore = await open(1);
    const order = [];
    const all = [2, 1].map((permits) => semaphore.acquire({ permits }).then(() => order.push(permits)));
    await waiting(2);
    assert.deepEqual(order, []);
    await semaphore.release();
    await all[0];
    assert.deepEqual(order, [2]);
    await semaphore.release();
    await all[1];
  });

  it("changes its number for everybody, and drains it", async () => {
    const semaphore = await open(3);
    await semaphore.addPermits(2);
    await semaphore.addPermits(-7);
    assert.equal(await semaphore.available(), -2);
    assert.equal(await semaphore.tryAcquire(), false);
    assert.equal(await semaphore.drain(), -2);
    assert.equal(await semaphore.drain(), 0);
    await semaphore.addPermits(5);
    assert.equal(await semaphore.drain(), 5);
    assert.equal(await semaphore.available(), 0);
  });

  it("a signal ends a wait, and takes no permit", async () => {
    const semaphore = await open(1);
    const controller = new AbortController();
    const { signal } = controller;
    const given = [
      semaphore.acquire({ permits: 2, signal }),
      semaphore.acquire({ permits: 3, signal, waitMs: 60_000 }),
    ];
    const behind = semaphore.acquire();
    await waiting(3);
    const reason = new Error("changed my mind");
    controller.abort(reason);
    for (const each of given) await assert.rejects(each, (error) => error === reason);
    await behind;
    await semaphore.release();
    await assert.rejects(semaphore.acquire({ signal }), (error) => error === reason);
    await rejects(semaphore.acquire({ signal, waitMs: 0.5 }), "INVALID_ARGUMENT");
    assert.equal(await semaphore.available(), 1);
  });

  it("permits granted to whoever gave up are brought back", async () => {
    const semaphore = await open(5);
    const reason = new Error("changed my mind");
    for (let round = 0; round < 200; round++) {
      const controller = new AbortController();
      const taking = semaphore.acquire({ permits: 2, signal: controller.signal });
      // In some rounds the server has granted them by then.
      if (round % 4 > 0) await new Promise((resolve) => setTimeout(resolve, (round % 4) / 2));
      controller.abort(reason);
      const [{ status, reason: why }] = await Promise.allSettled([taking]);
      if (status === "fulfilled") await semaphore.release(2);
      else assert.equal(why, reason);
    }
    await until(async () => (await semaphore.available()) === 5);
    assert.equal(context.client.stats().countingSemaphore.waiting, 0);
  });

  it("a signal that fires after the grant brings the permits back", async () => {
    const semaphore = await open(2);
    const controller = new AbortController();
    const taking = semaphore.acquire({ permits: 2, signal: controller.signal });
    // The loop stands still until the grant is there, and the signal fires before its completion is drained.
    const from = performance.now();
    while (performance.now() - from < 100);
    controller.abort(new Error("too late"));
    await assert.rejects(taking, { message: "too late" });
    await until(async () => (await semaphore.available()) === 2);
  });

  it("1,000 callers at once are never more than its permits", async () => {
    const client = await context.open();
    const semaphore = client.countingSemaphore(freshName());
    await semaphore.trySetPermits(10);
    let running = 0;
    let most = 0;
    const work = async (n) => {
      const permits = 1 + (n % 3);
      await semaphore.acquire({ permits });
      running += permits;
      most = Math.max(most, running);
      await Promise.resolve();
      running -= permits;
      await semaphore.release(permits);
    };
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => work(n)));
    assert.ok(most > 3 && most <= 10, `${most} permits at once`);
    const { acquired, released, waiting: left } = client.stats().countingSemaphore;
    assert.deepEqual([acquired, released, left], [1_000, 1_000, 0]);
    assert.equal(await semaphore.available(), 10);
  });

  it("and a semaphore with leases of one name are two", async () => {
    const leased = context.client.semaphore(freshName(), 2);
    await leased.withPermits(async () => {
      const semaphore = context.client.countingSemaphore(leased.name);
      for (const call of [
        () => semaphore.trySetPermits(1),
        () => semaphore.acquire(),
        () => semaphore.tryAcquire(),
        () => semaphore.release(),
        () => semaphore.addPermits(1),
        () => semaphore.drain(),
        () => semaphore.inspect(),
      ]) {
        await rejects(call(), "WRONG_TYPE");
      }
    });
  });

  it("of a client with a prefix has it before its name", async () => {
    const semaphore = (await context.open({ keyPrefix: "app:" })).countingSemaphore(freshName());
    await semaphore.trySetPermits(4);
    assert.equal(await context.client.countingSemaphore(`app:${semaphore.name}`).available(), 4);
  });

  it("close sends those that wait home, and is the end", async () => {
    const client = await context.open();
    const semaphore = client.countingSemaphore(freshName());
    await semaphore.trySetPermits(1);
    await semaphore.acquire();
    const all = Array.from({ length: 100 }, () => rejects(semaphore.acquire(), "CLOSED"));
    await waiting(100, client);
    await client.close({ release: true });
    await Promise.all(all);
    throws(() => client.countingSemaphore("k"), "CLOSED");
    for (const call of [
      () => semaphore.trySetPermits(1),
      () => semaphore.acquire(),
      () => semaphore.tryAcquire(),
      () => semaphore.release(),
      () => semaphore.addPermits(1),
      () => semaphore.drain(),
      () => semaphore.inspect(),
      () => semaphore.available(),
    ]) {
      await rejects(call(), "CLOSED");
    }
    // Nobody holds a permit: what was taken stays taken.
    const other = context.client.countingSemaphore(semaphore.name);
    if (context.server) assert.equal(await other.available(), 0);
  });

  it("numbers of permits out of range are refused, and change nothing", async () => {
    const semaphore = await open(2);
    const calls = [
      [(permits) => semaphore.acquire({ permits }), 0, -1, 2 ** 31],
      [(permits) => semaphore.tryAcquire({ permits }), 0, -1, 2 ** 31],
      [(permits) => semaphore.release(permits), 0, -1, 2 ** 31],
      [(permits) => semaphore.addPermits(permits), 0, 2 ** 31, -(2 ** 31)],
      [(permits) => semaphore.trySetPermits(permits), -1, 2 ** 31],
    ];
    for (const [call, ...numbers] of calls) {
      for (const permits of [...numbers, 2 ** 32 + 1, 0.5, NaN, Infinity, 2 ** 53]) {
        const error = await rejects(call(permits), "INVALID_ARGUMENT");
        assert.ok(error.message.includes(String(permits)) && error.allowed !== undefined, error.message);
        assert.equal(error.object, semaphore.name);
      }
      for (const permits of NO_NUMBERS) {
        await assert.rejects(call(permits), { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" });
      }
    }
    await semaphore.addPermits(2 ** 31 - 1 - 2);
    await rejects(semaphore.release(), "INVALID_ARGUMENT");
    assert.equal(await semaphore.available(), 2 ** 31 - 1);
    for (const waitMs of [-1, 0.5, NaN]) await rejects(semaphore.acquire({ waitMs }), "INVALID_ARGUMENT");
    throws(() => context.client.countingSemaphore("a{"), "INVALID_NAME");
    throws(() => context.client.countingSemaphore("\ud800"), "INVALID_NAME");
    assert.throws(() => context.client.countingSemaphore(), { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" });
  });

  it("what other libraries and other semaphores have is told", async () => {
    const semaphore = await open(1);
    const refused = (call, message) => assert.rejects(async () => call(), { name: "TypeError", message });
    await refused(() => semaphore.acquire(2), /options must be an object such as \{ permits: 2 \}/);
    await refused(() => semaphore.acquire({ timeout: 5 }), /did you mean waitMs\?/);
    await refused(
      () => semaphore.acquire({ leaseMs: 5 }),
      /has no option "leaseMs"\. Its options are permits, waitMs, signal$/,
    );
    await refused(() => semaphore.tryAcquire({ waitMs: 5 }), /tryAcquire\(options\) has no option "waitMs"/);
    await refused(() => semaphore.release({ permits: 2 }), /^permits must be a number, not an object$/);
    await refused(() => semaphore.release(1, 2), /^release\(permits\) has one argument$/);
    await refused(() => context.client.countingSemaphore("k", 5), /await counting\.trySetPermits\(permits\) makes it/);
    for (const [name, says] of [
      [
        "withPermits",
        /^a counting semaphore has no withPermits\(\); .* finally; client\.semaphore\(name, permits\) has/,
      ],
      ["runExclusive", /withPermits\(run\)$/],
      ["use", /withPermits\(run\)$/],
      ["setPermits", /trySetPermits\(permits\) makes it, addPermits\(permits\)/],
      ["setValue", /trySetPermits\(permits\) makes it, addPermits\(permits\)/],
      ["getValue", /available\(\)$/],
      ["availablePermits", /available\(\)$/],
      ["drainPermits", /drain\(\)$/],
      ["isLocked", /available\(\)/],
      ["waitForUnlock", /acquire\(\{ waitMs \}\)/],
      ["cancel", /acquire\(\{ signal \}\)/],
    ]) {
      assert.throws(() => semaphore[name](), { code: "ERR_METHOD_NOT_IMPLEMENTED", message: says });
    }
    assert.deepEqual(Object.keys(semaphore), ["name", "client"]);
  });
});

describe("a counting semaphore on a server", () => {
  const shared = useServer();

  it("whose permits cannot be brought back has a warning", async () => {
    const server = await RedisServer.start();
    const client = await connect(server.url, { operationTimeoutMs: 1_000, responseTimeoutMs: 500 });
    const semaphore = client.countingSemaphore(freshName());
    await semaphore.trySetPermits(2);
    const controller = new AbortController();
    const taking = semaphore.acquire({ signal: controller.signal });
    // The grant arrives while the loop stands still; the server is gone before it is drained.
    const from = performance.now();
    while (performance.now() - from < 100);
    const killed = server.kill();
    controller.abort(new Error("too late"));
    const warned = once(process, "warning", { signal: AbortSignal.timeout(20_000) });
    await assert.rejects(taking, { message: "too late" });
    const [warning] = await warned;
    assert.equal(warning.code, "DLOCK_RELEASE_FAILED");
    assert.match(warning.message, /permits that nobody wanted any more may be missing: release/);
    await killed;
    await client.close();
  });

  it("keeps the process alive while it is waited for, and only then", async () => {
    const client = await connect(shared.server.url);
    const semaphore = client.countingSemaphore(freshName());
    await semaphore.trySetPermits(0);
    const program = new Program("takes.mjs", [shared.server.url, semaphore.name]);
    assert.equal(await program.line(), "waiting");
    await until(async () => (await semaphore.inspect()).queued === 1);
    assert.equal(program.child.exitCode, null);
    await semaphore.release();
    assert.equal(await program.line(), "got it");
    assert.deepEqual(await program.end(), { code: 0, signal: null }, program.stderr);
    assert.equal(await semaphore.available(), 0);
    await client.close();
  });
});
