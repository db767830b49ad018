// Consumers of a queue: what a handler's end does to its job, back-off, stops.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { connect } from "libdlock";

import {
  Program,
  Proxy,
  fired,
  freshName,
  onBothBackends,
  rejects,
  stopwatch,
  throws,
  until,
  useServer,
} from "./kit/index.mjs";

const textOf = ({ payload }) => payload.toString();
const QUICK = { baseMs: 20, longestMs: 50 };
const left = async (queue) => {
  const { ready, delayed, inFlight, dead } = await queue.counts();
  return [ready, delayed, inFlight, dead];
};
/** A promise, and what settles it. */
const gate = () => {
  let open;
  const opened = new Promise((resolve) => (open = resolve));
  return { open, opened };
};

onBothBackends((context) => {
  const open = (options) => context.client.queue(freshName(), options);

  it("each job is done and acknowledged", async () => {
    const queue = open();
    const got = [];
    const consumer = queue.consume(
      async (delivery) => {
        await pause(1);
        got.push(textOf(delivery));
      },
      { concurrency: 4 },
    );
    const jobs = Array.from({ length: 50 }, (_, at) => String(at));
    await (await context.open()).queue(queue.name).putMany(jobs);
    await until(() => got.length === 50);
    assert.equal(await consumer.stop(), true);
    assert.deepEqual([...got].sort(), [...jobs].sort());
    assert.deepEqual(await left(queue), [0, 0, 0, 0]);
    assert.equal(await consumer.wait(), true);
    assert.equal(await consumer.stop(), true);
  });

  it("so many jobs are done at a time, and no more", async () => {
    const queue = open();
    const { open: goOn, opened } = gate();
    let running = 0;
    let most = 0;
    const handler = async () => {
      running += 1;
      most = Math.max(most, running);
      await opened;
      running -= 1;
    };
    const consumer = queue.consume(handler, { concurrency: 3 });
    await queue.putMany(["a", "b", "c", "d", "e"]);
    await until(() => running === 3);
    await pause(50);
    assert.deepEqual(await left(queue), [2, 0, 3, 0]);
    goOn();
    await until(async () => (await left(queue)).every((count) => count === 0));
    assert.equal(most, 3);
    await consumer.stop();
  });

  it("a job whose handler fails comes again after the back-off", async () => {
    const queue = open();
    const times = [];
    const told = [];
    const handler = ({ attempt }) => {
      times.push(performance.now());
      if (attempt < 3) throw new RangeError("secret");
    };
    const onError = (error, delivery) => told.push([error.message, delivery.id, delivery.attempt]);
    const consumer = queue.consume(handler, { backoff: { baseMs: 100, longestMs: 100 }, onError });
    await queue.put("x", { id: "x" });
    await until(() => times.length === 3);
    await consumer.stop();
    assert.ok(times[1] - times[0] >= 49 && times[2] - times[1] >= 49, String(times));
    assert.deepEqual(told, [
      ["secret", "x", 1],
      ["secret", "x", 2],
    ]);
    assert.deepEqual(await left(queue), [0, 0, 0, 0]);
  });

  it("a job that never succeeds is dead, with the kind of error", async () => {
    const queue = open({ maxAttempts: 2 });
    const thrown = [new RangeError("secret"), "secret"];
    const handler = () => Promise.reject(thrown.shift());
    const told = [];
    const consumer = queue.consume(handler, { backoff: QUICK, onError: (error) => told.push(error) });
    await queue.put("x");
    await until(async () => (await queue.counts()).dead === 1);
    await consumer.stop();
    const [{ attempts, reason }] = await queue.dead.list();
    assert.deepEqual([attempts, reason], [2, "string"]);
    assert.equal(told.length, 2);
  });

  it("the text of an error is the reason where that is asked for", async () => {
    const queue = open({ maxAttempts: 1 });
    const thrown = [
      new RangeError("no route\nto \u001b[31mhost"),
      "no paper",
      new Error(""),
      Object.assign(new Error(), { message: 5 }),
      new TypeError("ä".repeat(2_000)),
    ];
    const handler = () => Promise.reject(thrown.shift());
    const consumer = queue.consume(handler, { reason: "text", onError: () => undefined });
    await queue.putMany(["a", "b", "c", "d", "e"]);
    await until(async () => (await queue.counts()).dead === 5);
    await consumer.stop();
    // In any order: several failed at one time.
    const reasons = (await queue.dead.list()).map(({ reason }) => reason).sort();
    const [long] = reasons.splice(
      reasons.findIndex((reason) => reason.startsWith("TypeError")),
      1,
    );
    assert.deepEqual(reasons, ["Error", "Error", "RangeError: no route\\nto \\u{1b}[31mhost", "string: no paper"]);
    assert.match(long, /^TypeError: ä+$/);
    assert.equal(Buffer.byteLength(long), 1_023);
  });

  it("failures are warnings where nobody is told, without the text", async () => {
    const queue = open({ maxAttempts: 1 });
    const warnings = [];
    const listener = (warning) => warnings.push(warning);
    process.on("warning", listener);
    await queue.put("x", { id: "x" });
    const consumer = queue.consume(() => {
      throw new SyntaxError("secret");
    });
    await until(() => warnings.length > 0);
    process.off("warning", listener);
    await consumer.stop();
    const [{ code, message }] = warnings;
    assert.equal(code, "DLOCK_JOB_FAILED");
    assert.equal(message, `libdlock: job "x" of queue "${queue.name}" failed in its delivery 1: SyntaxError`);
  });

  it("a handler may end its delivery itself", async () => {
    const queue = open();
    let calls = 0;
    const handler = async (delivery) => {
      calls += 1;
      await delivery.nack({ delayMs: 60_000, reason: "in a minute" });
      if (calls === 2) throw new Error("after the end");
    };
    const told = [];
    const consumer = queue.consume(handler, { onError: (error) => told.push(error.message) });
    await queue.putMany(["a", "b"]);
    await until(async () => (await queue.counts()).delayed === 2);
    await consumer.stop();
    assert.deepEqual(told, ["after the end"]);
    assert.deepEqual(await left(queue), [0, 2, 0, 0]);
  });

  it("a stop finishes what is in hand and takes no more", async () => {
    const queue = open();
    const begun = gate();
    const goOn = gate();
    const consumer = queue.consume(async () => {
      begun.open();
      await goOn.opened;
    });
    await queue.putMany(["a", "b"]);
    await begun.opened;
    consumer.requestStop();
    const stopped = consumer.stop();
    await pause(20);
    assert.deepEqual(await left(queue), [1, 0, 1, 0]);
    goOn.open();
    assert.equal(await stopped, true);
    assert.deepEqual(await left(queue), [1, 0, 0, 0]);
    const delivery = await (await context.open()).queue(queue.name).tryTake();
    assert.deepEqual([textOf(delivery), delivery.attempt], ["b", 1]);
    await delivery.ack();
  });

  it("what is not done within the grace goes back, and its signal fires", async () => {
    const queue = open();
    const handed = gate();
    const ended = gate();
    const consumer = queue.consume(
      async (delivery) => {
        handed.open(delivery);
        await fired(delivery.signal);
        await rejects(delivery.ack(), "NOT_HELD");
        ended.open();
      },
      { graceMs: 30 },
    );
    await queue.put("x");
    const delivery = await handed.opened;
    assert.equal(await consumer.stop(), false);
    assert.equal(await consumer.wait(), false);
    assert.deepEqual([delivery.valid, delivery.signal.reason.code], [false, "DLOCK_CANCELLED"]);
    const again = await (await context.open()).queue(queue.name).take({ waitMs: 20_000 });
    assert.equal(again.attempt, 2);
    await ended.opened;
    await again.ack();
    assert.deepEqual(await left(queue), [0, 0, 0, 0]);
  });

  it("an idle consumer stops at once, and lets its places go", async () => {
    const queue = open();
    const consumer = queue.consume(() => undefined, { concurrency: 100 });
    await until(async () => (await queue.counts()).waiters > 0);
    const took = stopwatch();
    assert.equal(await consumer.stop({ graceMs: 10_000 }), true);
    assert.ok(took() < 5_000);
    await until(async () => (await queue.counts()).waiters === 0);
  });

  it("a job that comes as the consumer stops is not lost and does not count", async () => {
    const queue = open();
    for (let round = 0; round < 30; round++) {
      let done = 0;
      const consumer = queue.consume(() => void (done += 1));
      if (round % 3 > 0) await pause(round % 3);
      const put = queue.put("x");
      if (round % 2 === 0) await put;
      assert.equal(await consumer.stop(), true);
      await put;
      // The consumer's place in the line goes in the background: until then it is in front.
      const rest = done === 1 ? [] : await queue.takeMany(10, { waitMs: 20_000 });
      assert.equal(done + rest.length, 1);
      for (const delivery of rest) {
        assert.equal(delivery.attempt, 1);
        await delivery.ack();
      }
    }
  });

  it("a handler may stop its consumer", async () => {
    const queue = open();
    const consumer = queue.consume(() => consumer.requestStop());
    await queue.put("x");
    assert.equal(await consumer.wait(), true);
    assert.deepEqual(await left(queue), [0, 0, 0, 0]);
  });

  it("ends with the error when its client is closed", async () => {
    const client = await context.open();
    const consumer = client.queue(freshName()).consume(() => undefined, { concurrency: 3 });
    const waiting = rejects(consumer.wait(), "CLOSED");
    await client.close();
    await waiting;
    await rejects(consumer.run(), "CLOSED");
    await rejects(consumer[Symbol.asyncDispose](), "CLOSED");
    assert.equal(process.listenerCount("SIGTERM"), 0);
  });

  it("a scope stops it", async () => {
    const queue = open();
    const consumer = queue.consume(() => undefined);
    await queue.put("x");
    await until(async () => (await left(queue)).every((count) => count === 0));
    await consumer[Symbol.asyncDispose]();
    await queue.put("y");
    assert.deepEqual(await left(queue), [1, 0, 0, 0]);
  });

  it("wrong options are refused, and start nothing", async () => {
    const queue = open();
    for (const concurrency of [0, -1, 10_001]) {
      const error = throws(() => queue.consume(() => undefined, { concurrency }), "INVALID_ARGUMENT");
      assert.equal(error.allowed, "1 to 10000");
    }
    for (const options of [
      { graceMs: -1 },
      { backoff: { baseMs: -1 } },
      { backoff: { baseMs: 2, longestMs: 1 } },
      { backoff: { baseMs: 300_001 } },
      { reason: "message" },
    ]) {
      throws(() => queue.consume(() => undefined, options), "INVALID_ARGUMENT");
    }
    const refused = (act, message) => assert.throws(act, { name: "TypeError", message });
    refused(() => queue.consume(), /^handler must be a function, not undefined$/);
    refused(() => queue.consume({ concurrency: 2 }, () => undefined), /^handler must be a function, not an object$/);
    refused(() => queue.consume(() => undefined, { workers: 2 }), /has no option "workers"/);
    refused(() => queue.consume(() => undefined, { backoff: { delay: 5 } }), /has no option "delay"/);
    assert.equal((await queue.counts()).waiters, 0);
    const consumer = queue.consume(() => undefined);
    refused(() => consumer.close(), /^a consumer has no close\(\); await consumer\.stop\(\)/);
    await rejects(consumer.stop({ graceMs: -1 }), "INVALID_ARGUMENT");
    await assert.rejects(consumer.run({ signals: ["SIGNONSENSE"] }), { name: "TypeError" });
    assert.equal(await consumer.stop(), true);
  });
});

describe("a consumer in a process of its own", () => {
  const shared = useServer();

  for (const signal of ["SIGTERM", "SIGINT"]) {
    for (const graceMs of [20_000, 10]) {
      it(`${signal} with a grace of ${graceMs} ms loses no job`, async () => {
        const client = await connect(shared.server.url);
        const queue = client.queue(freshName());
        await queue.putMany(["a", "b"].map((id) => ({ payload: id, id })));
        const program = new Program("consumer.mjs", [shared.server.url, queue.name, graceMs]);
        assert.equal(await program.line(), "begun a");
        program.child.kill(signal);
        const inTime = graceMs > 1_000;
        if (inTime) assert.equal(await program.line(), "done a");
        assert.equal(await program.line(), `finished ${inTime}`);
        await program.end();
        assert.equal(program.child.exitCode, 0, program.stderr);
        const waiting = (await queue.peek()).map(({ id }) => id).sort();
        assert.deepEqual(waiting, inTime ? ["b"] : ["a", "b"]);
        assert.equal((await queue.counts()).inFlight, 0);
        await client.close();
      });
    }
  }

  it("that is killed loses no job", async () => {
    const client = await connect(shared.server.url);
    const queue = client.queue(freshName());
    await queue.putMany(Array.from({ length: 100 }, (_, at) => ({ payload: "x", id: String(at) })));
    const program = new Program("consumer.mjs", [shared.server.url, queue.name, 0, 100]);
    for (let begun = 0; begun < 100; begun++) assert.match(await program.line(), /^begun /);
    program.child.kill("SIGKILL");
    const done = new Set();
    while (done.size < 100) {
      const taken = await queue.takeMany(100, { waitMs: 20_000 });
      assert.ok(taken.length > 0);
      for (const delivery of taken) {
        assert.equal(delivery.attempt, 2);
        done.add(delivery.id);
        await delivery.ack();
      }
    }
    assert.deepEqual(await left(queue), [0, 0, 0, 0]);
    await client.close();
  });

  it("what onError throws comes up as from any callback", async () => {
    const program = new Program("bad-listener.mjs", [shared.server.url, freshName()]);
    assert.equal(await program.line(), "came up: oops");
    assert.equal(await program.line(), "dead: 1, stopped: true");
    await program.end();
  });

  it("a stop does not wait for a server that is away", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url, { operationTimeoutMs: 10_000, responseTimeoutMs: 500 });
    const queue = client.queue(freshName());
    await queue.putMany(["a", "b"]);
    const { open: goOn, opened } = gate();
    let begun = 0;
    const handler = async () => {
      begun += 1;
      await opened;
    };
    const consumer = queue.consume(handler, { concurrency: 2, onError: () => undefined });
    await until(() => begun === 2);
    proxy.holdReplies();
    const took = stopwatch();
    assert.equal(await consumer.stop({ graceMs: 100 }), false);
    // The operation goes on, and has twice as long.
    assert.ok(took() < 5_000, String(took()));
    goOn();
    proxy.passReplies();
    await client.close();
    await proxy.close();
  });

  it("any number of them hear a signal, without a warning", async () => {
    const program = new Program("many-consumers.mjs", [shared.server.url, freshName(), "15"]);
    assert.equal(await program.line(), "running");
    program.child.kill("SIGTERM");
    assert.equal(await program.line(), "stopped: 15, warnings: 0, listeners left: 0");
    await program.end();
  });

  it("goes on when the server can be reached again", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url, { operationTimeoutMs: 1_000, responseTimeoutMs: 500 });
    const name = freshName();
    const told = [];
    const got = [];
    const consumer = client.queue(name).consume((delivery) => void got.push(textOf(delivery)), {
      onError: (error) => told.push(error.code),
    });
    proxy.holdReplies();
    await until(() => told.length > 0);
    assert.deepEqual(
      [...new Set(told)].filter((code) => !["DLOCK_CONNECTION", "DLOCK_OUTCOME_UNKNOWN"].includes(code)),
      [],
    );
    proxy.passReplies();
    const direct = await connect(shared.server.url);
    await direct.queue(name).put("x");
    await until(() => got.includes("x"));
    await consumer.stop();
    await client.close();
    await direct.close();
    await proxy.close();
  });
});
