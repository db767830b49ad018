// Timers of test frameworks, which stand still: the library goes on with Node's own, however those were replaced.

import assert from "node:assert/strict";
import { createRequire, syncBuiltinESMExports } from "node:module";
import nodeTimers from "node:timers";
import timersPromises from "node:timers/promises";
import { describe, it, mock } from "node:test";

import * as esm from "libdlock";
import { collectStats } from "libdlock/prom-client";
import { Registry } from "prom-client";

import { freshName } from "./kit/index.mjs";

const { setTimeout: realTimeout, clearTimeout: stopTimeout } = globalThis;
const standsStill = () => new Promise(() => undefined);

/** As sinon does it and, within a test file, jest: all that schedules, wherever a program may have it from. Returns what undoes it. */
function replaceAll() {
  const names = ["setTimeout", "setInterval", "setImmediate", "queueMicrotask"];
  const places = [globalThis, nodeTimers, timersPromises].flatMap((place) =>
    names.filter((name) => name in place).map((name) => [place, name, place[name]]),
  );
  places.push([process, "nextTick", process.nextTick]);
  for (const [place, name] of places) place[name] = standsStill;
  syncBuiltinESMExports();
  return () => {
    for (const [place, name, original] of places) place[name] = original;
    syncBuiltinESMExports();
  };
}

function nodeTest() {
  mock.timers.enable();
  return () => mock.timers.reset();
}

/** What `run` brings, while timers are replaced; rejects after 20 s of real time. */
async function under(replace, run) {
  const restore = replace();
  let timer;
  const late = new Promise((_, reject) => {
    timer = realTimeout(reject, 20_000, new Error("it stands still"));
  });
  try {
    return await Promise.race([run(), late]);
  } finally {
    stopTimeout(timer);
    restore();
  }
}

const builds = { esm, commonjs: createRequire(import.meta.url)("libdlock") };
for (const [build, { connect }] of Object.entries(builds)) {
  for (const replace of [nodeTest, replaceAll]) {
    describe(`${build}, ${replace.name}`, () => {
      it("goes on for as long as it is used", async () => {
        const client = await connect("memory://");
        await under(replace, async () => {
          // More than the completions after which the loop gets its turn.
          for (let n = 0; n < 100; n++) await client.withLock(`lock-${n}`, () => n);
          const limiter = client.rateLimiter("limit", { tokens: 1000, perMs: 1000 });
          const decisions = await Promise.all([limiter.tryAcquire(), limiter.tryAcquire()]);
          assert.deepEqual(
            decisions.map(({ allowed }) => allowed),
            [true, true],
          );
          await client.close();
        });
        const after = await connect("memory://");
        await after.withLock("lock", () => undefined);
        await after.close();
      });

      it("a consumer's grace ends", async () => {
        const client = await connect("memory://");
        const queue = client.queue(freshName());
        await queue.put("x");
        await under(replace, async () => {
          let consumer;
          const begun = new Promise((resolve) => {
            consumer = queue.consume(() => {
              resolve();
              return standsStill();
            });
          });
          await begun;
          assert.equal(await consumer.stop({ graceMs: 20 }), false);
        });
        await client.close();
      });
    });
  }
}

it("metrics show what was counted since the last look", async () => {
  const client = await esm.connect("memory://");
  const register = new Registry();
  collectStats(client, { register });
  await under(replaceAll, async () => {
    await client.withLock("lock", () => undefined);
    const first = await register.metrics();
    await client.withLock("lock", () => undefined);
    assert.notEqual(await register.metrics(), first);
  });
  await client.close();
});
