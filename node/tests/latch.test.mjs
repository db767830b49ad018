// The latch as a program of Node uses it, on a server and on memory://. What a latch is is checked by tests/scenarios.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { connect } from "libdlock";

import {
  Program,
  Proxy,
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
  const open = () => context.client.latch(freshName());
  const waiting = (count, client = context.client) => until(() => client.stats().latch.waiting === count);

  it("opens for all that wait when it is counted down to zero", async () => {
    const latch = open();
    const other = (await context.open()).latch(latch.name);
    assert.equal(await latch.trySetCount(3), true);
    assert.equal(await other.trySetCount(5), false);
    let opened = 0;
    const all = [latch, latch, other].map(async (each) => {
      assert.equal(await each.wait(), true);
      opened += 1;
    });
    await waiting(2);
    assert.equal(await other.countDown(), 2);
    assert.equal(await latch.count(), 2);
    assert.equal(opened, 0);
    assert.equal(await latch.countDown(2), 0);
    await Promise.all(all);
    assert.equal(await other.count(), 0);
  });

  it("is open when it was not set, and stays open", async () => {
    const latch = open();
    assert.deepEqual([latch.client, await latch.count()], [context.client, 0]);
    assert.equal(await latch.wait(), true);
    assert.equal(await latch.wait({ waitMs: 0 }), true);
    assert.equal(await latch.countDown(), 0);
    assert.equal(await latch.delete(), false);
    assert.equal(await latch.trySetCount(1), true);
    assert.equal(await latch.countDown(7), 0);
    assert.equal(await latch.trySetCount(2), true);
  });

  it("resolves with false when the time is over first", async () => {
    const latch = open();
    await latch.trySetCount(1);
    const began = performance.now();
    const took = stopwatch();
    assert.equal(await latch.wait({ waitMs: 300 }), false);
    // The wait is the core's, on a clock of whole microseconds; a second is for a busy machine.
    assert.ok(performance.now() - began > 299 && took() < 1_300);
    assert.equal(await latch.wait({ waitMs: 0 }), false);
    assert.equal(await latch.count(), 1);
  });

  it("counts exactly up to 2^53 - 1", async () => {
    const latch = open();
    assert.equal(await latch.trySetCount(2 ** 53 - 1), true);
    assert.equal(await latch.countDown(), 2 ** 53 - 2);
    assert.equal(await latch.count(), 2 ** 53 - 2);
    assert.equal(await latch.countDown(2 ** 53 - 3), 1);
  });

  it("that is deleted is open, and those that wait find out", async () => {
    const client = await context.open({ pollIntervalMs: 50 });
    const latch = client.latch(freshName());
    await latch.trySetCount(1);
    const found = latch.wait({ waitMs: 20_000 });
    await waiting(1, client);
    assert.equal(await latch.delete(), true);
    assert.equal(await found, true);
    assert.equal(await latch.delete(), false);
  });

  it("a signal ends a wait with its reason, and nothing is left", async () => {
    const latch = open();
    await latch.trySetCount(1);
    const controller = new AbortController();
    const { signal } = controller;
    const given = [latch.wait({ signal }), latch.wait({ signal, waitMs: 60_000 })];
    const other = latch.wait();
    await waiting(3);
    const reason = new Error("changed my mind");
    controller.abort(reason);
    for (const each of given) await assert.rejects(each, (error) => error === reason);
    await waiting(1);
    await assert.rejects(latch.wait({ signal }), (error) => error === reason);
    await rejects(latch.wait({ signal, waitMs: 0.5 }), "INVALID_ARGUMENT");
    await latch.countDown();
    assert.equal(await other, true);
    await assert.rejects(latch.wait({ signal }), (error) => error === reason);
  });

  it("a signal that fires before the promise settles rejects it", async () => {
    const latch = open();
    const reason = new Error("changed my mind");
    for (let round = 0; round < 100; round++) {
      const controller = new AbortController();
      const wait = latch.wait({ signal: controller.signal });
      controller.abort(reason);
      await assert.rejects(wait, (error) => error === reason);
    }
    assert.equal(context.client.stats().latch.waiting, 0);
  });

  it("1,000 that wait are told together", async () => {
    const client = await context.open();
    const latch = client.latch(freshName());
    await latch.trySetCount(1);
    const all = Array.from({ length: 1_000 }, () => latch.wait({ waitMs: 60_000 }));
    await waiting(1_000, client);
    await context.client.latch(latch.name).countDown();
    assert.ok((await Promise.all(all)).every((opened) => opened === true));
    const { opened, waiting: left, waitTimeouts, waitTime } = client.stats().latch;
    assert.deepEqual([opened, left, waitTimeouts, waitTime.count], [1_000, 0, 0, 1_000]);
  });

  it("of a client with a prefix has it before its name", async () => {
    const latch = (await context.open({ keyPrefix: "app:" })).latch(freshName());
    await latch.trySetCount(4);
    assert.equal(await context.client.latch(`app:${latch.name}`).count(), 4);
    assert.equal(await context.client.latch(latch.name).count(), 0);
  });

  it("and a lock of one name are two", async () => {
    const latch = open();
    await context.client.withLock(latch.name, async () => {
      for (const call of [
        () => latch.trySetCount(1),
        () => latch.countDown(),
        () => latch.count(),
        () => latch.wait(),
        () => latch.wait({ waitMs: 100 }),
        () => latch.delete(),
      ]) {
        assert.equal((await rejects(call(), "WRONG_TYPE")).object, latch.name);
      }
    });
  });

  it("close sends those that wait home, and is the end", async () => {
    const client = await context.open();
    const latch = client.latch(freshName());
    await latch.trySetCount(1);
    const all = Array.from({ length: 100 }, () => rejects(latch.wait(), "CLOSED"));
    all.push(rejects(latch.wait({ waitMs: 60_000 }), "CLOSED"));
    await waiting(101, client);
    await client.close();
    await Promise.all(all);
    throws(() => client.latch("k"), "CLOSED");
    for (const call of [
      () => latch.trySetCount(1),
      () => latch.countDown(),
      () => latch.count(),
      () => latch.delete(),
    ]) {
      await rejects(call(), "CLOSED");
    }
    await rejects(latch.wait(), "CLOSED");
    await rejects(latch.wait({ waitMs: 0 }), "CLOSED");
  });

  it("numbers that are no counts are refused, and change nothing", async () => {
    const latch = open();
    await latch.trySetCount(2);
    for (const count of [0, -1, 0.5, NaN, Infinity, 2 ** 53, -(2 ** 53)]) {
      for (const call of [() => latch.trySetCount(count), () => latch.countDown(count)]) {
        const error = await rejects(call(), "INVALID_ARGUMENT");
        assert.ok(
          error.message.includes(String(count)) && error.allowed.endsWith("1 to 9007199254740991"),
          error.message,
        );
        assert.equal(error.object, latch.name);
      }
    }
    for (const count of NO_NUMBERS) {
      const wrong = { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" };
      await assert.rejects(latch.trySetCount(count), wrong);
      await assert.rejects(latch.countDown(count), wrong);
    }
    await assert.rejects(latch.trySetCount(), { name: "TypeError" });
    await assert.rejects(latch.trySetCount(3n), {
      message: "count must be a number, not a bigint: give Number(value)",
    });
    await assert.rejects(latch.countDown(1, 2), { message: "countDown(by) has one argument" });
    for (const waitMs of [-1, 0.5, NaN]) await rejects(latch.wait({ waitMs }), "INVALID_ARGUMENT");
    assert.equal(await latch.count(), 2);
    throws(() => context.client.latch("a{"), "INVALID_NAME");
    throws(() => context.client.latch("\ud800"), "INVALID_NAME");
    assert.throws(() => context.client.latch(5), { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" });
  });

  it("what other libraries have is told", async () => {
    const latch = open();
    const refused = (call, message) => assert.rejects(async () => call(), { name: "TypeError", message });
    await refused(() => latch.wait(100), /^wait\(options\): options must be an object such as \{ waitMs: 100 \}/);
    await refused(() => latch.wait({ timeout: 100 }), /no option "timeout"; did you mean waitMs\?/);
    await refused(() => latch.wait(new AbortController().signal), /give it as \{ signal \}$/);
    await refused(() => latch.wait({}, {}), /^wait\(options\) has one argument/);
    await refused(() => context.client.latch("k", 3), /await latch\.trySetCount\(count\) sets its count$/);
    for (const [name, says] of [
      ["await", /^a latch has no await\(\); wait\(\) waits until it is open/],
      ["acquire", /wait\(\{ waitMs \}\)/],
      ["getCount", /await latch\.count\(\)$/],
      ["setCount", /await latch\.trySetCount\(count\)/],
      ["countdown", /await latch\.countDown\(\)$/],
      ["arrive", /await latch\.countDown\(\)$/],
      ["arriveAndWait", /await latch\.countDown\(\), then await latch\.wait\(\)$/],
      ["signal", /countDown\(\)$/],
      ["release", /countDown\(\)$/],
      ["isOpen", /\(await latch\.count\(\)\) === 0/],
      ["reset", /for one round/],
      ["add", /for one round/],
    ]) {
      assert.throws(() => latch[name](), { code: "ERR_METHOD_NOT_IMPLEMENTED", message: says });
    }
    assert.deepEqual(Object.keys(latch), ["name", "client"]);
  });
});

describe("a latch on a server", () => {
  const shared = useServer();

  it("rejects a wait when the server goes away", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url, { operationTimeoutMs: 1_000, responseTimeoutMs: 500, pollIntervalMs: 50 });
    const latch = client.latch(freshName());
    await latch.trySetCount(1);
    const wait = latch.wait();
    await until(() => client.stats().latch.waiting === 1);
    proxy.blackHole();
    await rejects(wait, "CONNECTION");
    await rejects(latch.count(), "CONNECTION");
    await client.close();
    await proxy.close();
  });

  it("keeps the process alive while it is waited for, and only then", async () => {
    const client = await connect(shared.server.url);
    const latch = client.latch(freshName());
    await latch.trySetCount(1);
    const program = new Program("latch.mjs", [shared.server.url, latch.name]);
    assert.equal(await program.line(), "waiting");
    // Whoever waits listens.
    await until(async () =>
      (await shared.server.command("PUBSUB", "CHANNELS", "*")).some((each) => each.includes(latch.name)),
    );
    assert.equal(program.child.exitCode, null);
    await latch.countDown();
    assert.equal(await program.line(), "open");
    assert.deepEqual(await program.end(), { code: 0, signal: null }, program.stderr);
    await client.close();
  });
});
