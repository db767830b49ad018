// The delayed queue as a program of Node uses it, on a server and on memory://. What a queue is is checked by tests/scenarios;
// deliveries and consumers have files of their own.

import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { describe, it } from "node:test";
import { runInNewContext } from "node:vm";

import { connect } from "libdlock";

import { Proxy, freshName, onBothBackends, rejects, throws, until, useServer } from "./kit/index.mjs";

const none = { ready: 0, delayed: 0, inFlight: 0, dead: 0, waiters: 0 };
const textOf = ({ payload }) => payload.toString();

onBothBackends((context) => {
  const open = (options) => context.client.queue(freshName(), options);
  const elsewhere = async ({ name }, options) => (await context.open()).queue(name, options);

  it("a job has what it was put with", async () => {
    const queue = open();
    const theirs = await elsewhere(queue);
    const before = Date.now();
    assert.deepEqual(await queue.put("grüße", { id: "one", priority: -7 }), { id: "one", isNew: true });
    const delivery = await theirs.take({ waitMs: 5_000 });
    assert.ok(Buffer.isBuffer(delivery.payload));
    assert.equal(textOf(delivery), "grüße");
    const { id, attempt, priority, token, ended, valid, lossReason } = delivery;
    assert.deepEqual([id, attempt, priority, ended, valid, lossReason], ["one", 1, -7, false, true, undefined]);
    assert.equal(typeof token, "bigint");
    assert.ok(Math.abs(delivery.due.getTime() - before) < 20_000 && delivery.remainingMs > 10_000);
    assert.deepEqual(JSON.parse(JSON.stringify(delivery)).token, Number(token));
    assert.deepEqual(await queue.counts(), { ...none, inFlight: 1 });
    await delivery.ack();
    assert.deepEqual([delivery.ended, delivery.valid, delivery.remainingMs], [true, false, 0]);
    assert.deepEqual(await queue.counts(), none);
    assert.equal(await theirs.tryTake(), null);
    await queue.put("next");
    const next = await queue.tryTake();
    assert.ok(next.token > token);
    await next.ack();
  });

  it("a queue is followed by one of its client", async () => {
    const [urgent, usual] = [open(), open()];
    const both = urgent.followedBy(usual);
    await usual.put("second");
    await both.put("first");
    const taken = await both.takeMany(2);
    assert.deepEqual(
      taken.map((delivery) => [delivery.queue.name, textOf(delivery)]),
      [
        [urgent.name, "first"],
        [usual.name, "second"],
      ],
    );
    assert.deepEqual(await both.ackMany(taken), [true, true]);
    const theirs = await elsewhere(usual);
    const error = throws(() => urgent.followedBy(theirs), "INVALID_ARGUMENT");
    assert.equal(error.allowed, "queues of one client");
    assert.throws(() => urgent.followedBy("usual"), { name: "TypeError", message: /^other must be a queue/ });
  });

  it("payloads are strings and bytes of any kind and size", async () => {
    const queue = open({ maxPayload: 2 ** 20 });
    const payloads = [
      "",
      "text",
      Buffer.from([0, 255, 10]),
      new Uint8Array([1, 2, 3]).subarray(1),
      runInNewContext("new Uint8Array([7, 8])"),
      Buffer.alloc(2 ** 20, 7),
    ];
    for (const payload of payloads) await queue.put(payload);
    for (const payload of payloads) {
      const delivery = await queue.tryTake();
      assert.ok(delivery.payload.equals(Buffer.from(payload)), `${payload.length} bytes`);
      await delivery.ack();
    }
    await rejects(queue.put(Buffer.alloc(2 ** 20 + 1)), "INVALID_ARGUMENT");
    const wrong = { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" };
    for (const payload of [undefined, null, 5, {}, new Uint16Array(2), new ArrayBuffer(2), ["a"]]) {
      await assert.rejects(queue.put(payload), wrong);
    }
    await assert.rejects(queue.put({ to: "ada" }), { message: /give JSON\.stringify\(value\)$/ });
    await rejects(queue.put("\ud800"), "INVALID_ARGUMENT");
    await rejects(queue.put("x", { id: "\ud800" }), "INVALID_ARGUMENT");
    await rejects(queue.put("x", { id: "i".repeat(513) }), "INVALID_ARGUMENT");
    assert.deepEqual(await queue.counts(), none);
  });

  it("what is given as a payload may change after the call", async () => {
    const queue = open();
    const bytes = Buffer.from("before");
    const put = queue.put(bytes);
    bytes.write("after!");
    await put;
    const delivery = await queue.take();
    assert.equal(textOf(delivery), "before");
    await delivery.ack();
  });

  it("a job is due after its delay, or at its time", async () => {
    const queue = open();
    const begun = performance.now();
    await queue.put("delay", { delayMs: 400 });
    assert.equal(await queue.tryTake(), null);
    assert.equal(await queue.take({ waitMs: 10 }), null);
    const delivery = await queue.take();
    assert.ok(performance.now() - begun >= 399);
    await delivery.ack();
    await queue.put("third", { at: new Date(Date.now() + 60_000), id: "third" });
    await queue.put("second", { at: 2_000 });
    await queue.put("first", { at: runInNewContext("new Date(1000)") });
    const taken = await queue.takeMany(10, { waitMs: 0 });
    assert.deepEqual(taken.map(textOf), ["first", "second"]);
    assert.deepEqual(
      taken.map(({ due }) => due.getTime()),
      [1_000, 2_000],
    );
    for (const each of taken) await each.ack();
    const [waiting] = await queue.peek();
    assert.ok(waiting.due.getTime() - Date.now() > 30_000);
    for (const options of [
      { at: 1, delayMs: 1 },
      { at: new Date(NaN) },
      { at: 0.5 },
      { delayMs: -1 },
      { delayMs: NaN },
      { delayMs: 101 * 365 * 86_400_000 },
      { priority: 32_768 },
    ]) {
      await rejects(queue.put("x", options), "INVALID_ARGUMENT");
    }
    for (const at of ["1970", {}, 5n]) await assert.rejects(queue.put("x", { at }), { name: "TypeError" });
    assert.equal(await queue.cancel("third"), true);
  });

  it("jobs are put together, in their order", async () => {
    const queue = open();
    const jobs = Array.from({ length: 250 }, (_, at) => String(at));
    const puts = await queue.putMany(jobs);
    assert.ok(puts.every(({ isNew }) => isNew) && new Set(puts.map(({ id }) => id)).size === 250);
    const done = [];
    for (let taken; (taken = await queue.takeMany(100, { waitMs: 0 })).length > 0;) {
      for (const delivery of taken) done.push(textOf(delivery));
      await taken[1].ack();
      const acked = await queue.ackMany(new Set(taken));
      assert.deepEqual(
        acked,
        taken.map((_, at) => at !== 1),
      );
      assert.ok(taken.every(({ ended, valid }) => ended && !valid));
    }
    assert.deepEqual(done, jobs);
    assert.deepEqual(await queue.ackMany([]), []);
    const mixed = new Set([{ payload: "b", id: "b", priority: -1 }, Buffer.from("a"), { payload: "b", id: "b" }]);
    assert.deepEqual(
      (await queue.putMany(mixed)).map(({ isNew }) => isNew),
      [true, true, false],
    );
    assert.deepEqual(await queue.putMany([]), []);
    await rejects(queue.putMany(["x", { payload: "y", delayMs: -1 }]), "INVALID_ARGUMENT");
    await assert.rejects(queue.putMany("job"), { message: /give \[job\]$/ });
    await assert.rejects(queue.putMany(Buffer.from("job")), { message: /give \[job\]$/ });
    await assert.rejects(queue.putMany([{ payload: "x", delay: 5 }]), { message: /did you mean delayMs\?/ });
    assert.equal((await queue.counts()).ready, 2);
  });

  it("a job that is put back comes again, until it is dead", async () => {
    const queue = open({ maxAttempts: 3 });
    await queue.put("x", { id: "x" });
    await (await queue.take()).nack();
    const second = await queue.take();
    assert.equal(second.attempt, 2);
    await second.giveBack();
    const again = await queue.take();
    assert.equal(again.attempt, 2, "what was given back does not count");
    await again.nack({ delayMs: 30, reason: "later" });
    assert.equal(await queue.tryTake(), null);
    await (await queue.take()).nack({ reason: "never" });
    const [dead] = await queue.dead.list();
    const { id, attempts, reason } = dead;
    assert.deepEqual([id, attempts, reason, textOf(dead)], ["x", 3, "never", "x"]);
    assert.ok(Math.abs(dead.deadSince.getTime() - Date.now()) < 20_000);
    assert.equal(await queue.dead.requeue("y"), false);
    assert.equal(await queue.dead.requeue("x"), true);
    const [waiting] = await queue.peek(1);
    assert.deepEqual([waiting.deadSince, waiting.reason, waiting.attempts], [undefined, undefined, 0]);
    assert.equal(await queue.purge(), 1);
    assert.deepEqual(
      [await queue.dead.requeueAll(), await queue.dead.remove("x"), await queue.dead.purge()],
      [0, false, 0],
    );
  });

  it("a signal ends a take with its reason, and takes nothing", async () => {
    const queue = open();
    const reason = new Error("changed my mind");
    const controller = new AbortController();
    const { signal } = controller;
    const all = [queue.take({ signal }), queue.take({ signal, waitMs: 60_000 }), queue.takeMany(5, { signal })];
    await until(async () => (await queue.counts()).waiters > 0);
    controller.abort(reason);
    for (const each of all) await assert.rejects(each, (error) => error === reason);
    await assert.rejects(queue.take({ signal }), (error) => error === reason);
    await queue.put("x");
    const delivery = await queue.take();
    assert.equal(delivery.attempt, 1);
    await delivery.ack();
  });

  it("a job that comes as its take is given up goes back", async () => {
    const queue = open();
    const reason = new Error("changed my mind");
    for (let round = 0; round < 50; round++) {
      await queue.put("x");
      const controller = new AbortController();
      const taking = queue.take({ signal: controller.signal });
      if (round % 2 === 0) await pause(round / 25);
      controller.abort(reason);
      const taken = await taking.catch((error) => {
        assert.equal(error, reason);
        return queue.take({ waitMs: 20_000 });
      });
      assert.equal(taken.attempt, 1);
      await taken.ack();
    }
    assert.deepEqual(await queue.counts(), none);
  });

  it("is iterated, until the loop or a signal ends it", async () => {
    const queue = open();
    const theirs = await elsewhere(queue);
    const got = [];
    const working = (async () => {
      for await (const delivery of queue) {
        got.push(textOf(delivery));
        await delivery.ack();
        if (got.length === 3) break;
      }
    })();
    await theirs.putMany(["a", "b", "c", "d"]);
    await working;
    assert.deepEqual([got, (await queue.counts()).ready], [["a", "b", "c"], 1]);
    const controller = new AbortController();
    const reason = new Error("that is all");
    const ends = assert.rejects(
      async () => {
        for await (const delivery of queue.deliveries({ signal: controller.signal })) {
          await delivery.ack();
          setImmediate(() => controller.abort(reason));
        }
      },
      (error) => error === reason,
    );
    await ends;
    // Its place in the line goes in the background.
    await until(async () => (await queue.counts()).waiters === 0);
    assert.deepEqual(await queue.counts(), none);
  });

  it("that is full refuses a put", async () => {
    const queue = open({ maxLength: 1 });
    await queue.put("x");
    const error = await rejects(queue.put("y"), "FULL");
    assert.deepEqual([error.retryable, error.family, error.object], [true, "UNAVAILABLE", queue.name]);
    await (await queue.take()).ack();
    await queue.put("y");
  });

  it("acknowledges together what is of one queue", async () => {
    const [queue, other] = [open(), open()];
    await queue.put("x");
    await other.put("y");
    const both = [await queue.take(), await other.take()];
    await rejects(queue.ackMany(both), "INVALID_ARGUMENT");
    assert.ok(both.every(({ ended, valid }) => !ended && valid));
    for (const wrong of [both[0], "x", ["x"]]) await assert.rejects(queue.ackMany(wrong), { name: "TypeError" });
    assert.deepEqual([await queue.ackMany([both[0]]), await other.ackMany([both[1]])], [[true], [true]]);
  });

  it("cancels what waits, and not what is being done", async () => {
    const queue = open();
    await queue.putMany(["a", "b", "c"].map((id) => ({ payload: id, id })));
    const delivery = await queue.take();
    await rejects(queue.cancel("a"), "NOT_HELD");
    assert.deepEqual([await queue.cancel("b"), await queue.cancel("b")], [true, false]);
    await delivery.ack();
    assert.equal(await queue.purge(), 1);
  });

  it("close ends takes, and is the end", async () => {
    const client = await context.open();
    const queue = client.queue(freshName());
    const all = Array.from({ length: 50 }, () => rejects(queue.take(), "CLOSED"));
    await until(async () => (await context.client.queue(queue.name).counts()).waiters > 0);
    await client.close();
    await Promise.all(all);
    throws(() => client.queue("k"), "CLOSED");
    for (const call of [
      () => queue.put("x"),
      () => queue.putMany(["x"]),
      () => queue.take(),
      () => queue.tryTake(),
      () => queue.takeMany(2),
      () => queue.cancel("x"),
      () => queue.peek(),
      () => queue.counts(),
      () => queue.purge(),
      () => queue.dead.list(),
      () => queue.dead.requeue("x"),
      () => queue.dead.requeueAll(),
      () => queue.dead.remove("x"),
      () => queue.dead.purge(),
    ]) {
      await rejects(call(), "CLOSED");
    }
  });

  it("numbers out of range are refused", async () => {
    for (const options of [
      { maxAttempts: 0 },
      { maxAttempts: 1_000_001 },
      { maxPayload: 2_097_153 },
      { maxLength: -1 },
      { leaseMs: 99 },
      { leaseMs: 500, watchdogLeaseMs: 500 },
    ]) {
      throws(() => open(options), "INVALID_ARGUMENT");
    }
    const queue = open();
    for (const most of [0, 101, 1.5, NaN]) await rejects(queue.takeMany(most), "INVALID_ARGUMENT");
    for (const most of [0, 1_001]) {
      await rejects(queue.peek(most), "INVALID_ARGUMENT");
      await rejects(queue.dead.list(most), "INVALID_ARGUMENT");
    }
    throws(() => context.client.queue("a{"), "INVALID_NAME");
  });

  it("what other libraries have is told", async () => {
    const queue = open();
    const refused = (call, message) => assert.rejects(async () => call(), { name: "TypeError", message });
    await refused(() => queue.take(100), /^take\(options\): options must be an object such as \{ waitMs: 100 \}/);
    await refused(() => queue.put("x", { delay: 5 }), /no option "delay"; did you mean delayMs\?/);
    await refused(() => queue.put("x", { jobId: "a" }), /no option "jobId"; did you mean id\?/);
    await refused(() => context.client.queue("k", { attempts: 3 }), /did you mean maxAttempts\?/);
    await refused(() => queue.put("x", {}, {}), /^put\(payload, options\) has two arguments/);
    for (const [name, says] of [
      ["add", /^a queue has no add\(\); await queue\.put\(payload, /],
      ["process", /queue\.consume\(handler, \{ concurrency \}\)$/],
      ["getFailed", /queue\.dead has list\(\)/],
    ]) {
      await refused(() => queue[name](), says);
    }
    await queue.put("x");
    const delivery = await queue.take();
    await refused(() => delivery.moveToCompleted(), /^a delivery has no moveToCompleted\(\); await delivery\.ack\(\)$/);
    await delivery.ack();
  });
});

describe("a server that cannot be reached", () => {
  const shared = useServer();

  it("is an error of put and take, and loses no job", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url, { operationTimeoutMs: 1_000, responseTimeoutMs: 500 });
    const queue = client.queue(freshName());
    await queue.put("x", { id: "x" });
    await proxy.close();
    const unreached = /^DLOCK_(CONNECTION|OUTCOME_UNKNOWN)$/;
    await assert.rejects(queue.put("y"), { code: unreached });
    await assert.rejects(queue.take({ waitMs: 500 }), { code: unreached });
    await client.close();
    const direct = await connect(shared.server.url);
    const delivery = await direct.queue(queue.name).take({ waitMs: 20_000 });
    assert.equal(delivery.id, "x");
    await delivery.ack();
    await direct.close();
  });

  it("a put whose reply is lost is repeated only if it has an id", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url);
    const queue = client.queue(freshName());
    await queue.put("first", { id: "first" });
    proxy.resetAtReplyTo(queue.name);
    assert.equal((await queue.put("x", { id: "x" })).id, "x");
    proxy.resetAtReplyTo(queue.name);
    const error = await rejects(queue.put("y"), "OUTCOME_UNKNOWN");
    assert.equal(error.object, queue.name);
    assert.equal(proxy.resets, 2);
    assert.deepEqual((await queue.peek()).map(textOf), ["first", "x", "y"]);
    await client.close();
    await proxy.close();
  });
});
