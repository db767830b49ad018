// What is forgotten: a hold, a client, a listener.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { connect } from "libdlock";

import { LONG, NEVER_MS, fired, freshName, onBothBackends } from "./kit/index.mjs";

// As --expose-gc would, which not every version's test runner passes on.
setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");

const warnings = [];
process.on("warning", (warning) => warnings.push(warning));

/** The warning with that code and that text in it, once the garbage collector has been made to find its cause. */
async function warned(code, text) {
  const deadline = performance.now() + NEVER_MS;
  for (;;) {
    const found = warnings.find((warning) => warning.code === code && warning.message.includes(text));
    if (found) return found;
    assert.ok(performance.now() < deadline, `no ${code} about ${text}`);
    gc();
    await turn();
  }
}

onBothBackends((context) => {
  it("a hold that is collected while held is not renewed any more, and a warning says so", async () => {
    const client = await context.open({ leaseMs: 300 });
    const name = freshName();
    // In a function of its own, so that no register remembers it.
    await (async () => {
      await client.lock(name).acquire();
    })();
    const warning = await warned("DLOCK_COLLECTED", name);
    assert.equal(warning.name, "DlockWarning");
    assert.match(warning.message, /release\(\) it, or use withLock$/);
    const held = await context.client.lock(name).acquire({ waitMs: 2_000 });
    await held.release();
  });

  it("permits that are collected while held are available again", async () => {
    const client = await context.open({ leaseMs: 300 });
    const name = freshName();
    await (async () => {
      await client.semaphore(name, 3).acquire({ permits: 2 });
    })();
    const { message } = await warned("DLOCK_COLLECTED", name);
    assert.match(
      message,
      /^libdlock: the hold of "[^"]+" was collected while held: .*release\(\) it, or use withPermits$/,
    );
    const held = await context.client.semaphore(name, 3).acquire({ permits: 3, waitMs: 5_000 });
    await held.release();
  });

  it("a side that is collected while held is to be had again", async () => {
    const client = await context.open({ leaseMs: 300 });
    for (const [side, scoped] of [
      ["read", "withRead"],
      ["write", "withWrite"],
    ]) {
      const name = freshName();
      await (async () => {
        await client.rwLock(name)[side].acquire();
      })();
      const { message } = await warned("DLOCK_COLLECTED", name);
      assert.match(
        message,
        new RegExp(`with token \\d+ was collected while held: .*release\\(\\) it, or use ${scoped}$`),
      );
      await (await context.client.rwLock(name).write.acquire({ waitMs: 5_000 })).release();
    }
  });

  it("a reader that has gone on from writing is collected as any", async () => {
    const client = await context.open({ leaseMs: 300 });
    const name = freshName();
    await (async () => {
      await (await client.rwLock(name).write.acquire()).downgrade();
    })();
    const { message } = await warned("DLOCK_COLLECTED", name);
    assert.match(message, /release\(\) it, or use withWrite$/);
    assert.equal(warnings.filter(({ message }) => message.includes(`"${name}"`)).length, 1);
    await (await context.client.rwLock(name).write.acquire({ waitMs: 5_000 })).release();
  });

  it("a withPermits that can never end is told so", async () => {
    const name = freshName();
    const never = () => new Promise(() => undefined);
    (() => void context.client.semaphore(name, 1).withPermits({ leaseMs: 300 }, never))();
    const { message } = await warned("DLOCK_COLLECTED", name);
    assert.match(message, /its withPermits waits for a promise that nothing can settle/);
  });

  it("a withLock that can never end is not told to use withLock", async () => {
    const name = freshName();
    (() => void context.client.withLock(name, { leaseMs: 300 }, () => new Promise(() => undefined)))();
    const { message } = await warned("DLOCK_COLLECTED", name);
    assert.match(message, /its withLock waits for a promise that nothing can settle/);
    assert.doesNotMatch(message, /use withLock/);
  });

  it("a hold that was released goes without a word", async () => {
    const name = freshName();
    await context.client.withLock(name, () => undefined);
    await (async () => {
      await context.client.lock(`${name}-next`).acquire();
    })();
    await warned("DLOCK_COLLECTED", `${name}-next`);
    assert.equal(
      warnings.some(({ message }) => message.includes(`"${name}"`)),
      false,
    );
  });

  it("a hold that was lost goes without a word, also while it is valid yet", async () => {
    const name = freshName();
    await (async () => {
      const held = await context.client.lock(name, { leaseMs: 1000 }).acquire();
      await fired(held.signal);
      assert.equal(held.valid, true, "it is told before the end");
    })();
    await (async () => {
      await context.client.lock(`${name}-next`).acquire();
    })();
    await warned("DLOCK_COLLECTED", `${name}-next`);
    assert.equal(
      warnings.some(({ message }) => message.includes(`"${name}"`)),
      false,
    );
  });

  it("a hold whose signal was asked for stays, because somebody may be listening", async () => {
    const client = await context.open({ leaseMs: 1000 });
    const name = freshName();
    const told = [];
    await (async () => {
      const { signal } = await client.lock(name).acquire();
      signal.addEventListener("abort", () => told.push(signal.reason.lossReason));
    })();
    const until = performance.now() + 2000; // two leases
    while (performance.now() < until) {
      gc();
      await turn();
    }
    assert.equal(await client.lock(name).locked(), true);
    await client.lock(name).forceRelease();
    while (told.length === 0) await turn();
    assert.deepEqual(told, ["deleted"]);
  });

  it("a pending acquire holds on to what it needs", async () => {
    const name = freshName();
    const held = await context.client.lock(name).acquire();
    const waiting = (async () => (await connect(context.url)).lock(name).acquire())();
    for (let n = 0; n < 5; n++) {
      gc();
      await turn();
    }
    await held.release();
    const got = await waiting;
    assert.equal(got.valid, true);
    await got.release();
    await got.lock.client.close();
  });

  it("a pending acquire of permits holds on to what it needs", async () => {
    const name = freshName();
    const held = await context.client.semaphore(name, 2).acquire();
    const waiting = (async () => (await connect(context.url)).semaphore(name, 2).acquire({ permits: 2 }))();
    for (let n = 0; n < 5; n++) {
      gc();
      await turn();
    }
    await held.release();
    const got = await waiting;
    assert.equal(got.valid, true);
    await got.release();
    await got.semaphore.client.close();
  });

  it("a pending acquire of a side holds on to what it needs", async () => {
    const name = freshName();
    const held = await context.client.rwLock(name).read.acquire();
    const waiting = (async () => (await connect(context.url)).rwLock(name).write.acquire())();
    for (let n = 0; n < 5; n++) {
      gc();
      await turn();
    }
    await held.release();
    const got = await waiting;
    const reads = await got.downgrade();
    assert.equal(reads.valid, true);
    await reads.release();
    await got.rwLock.client.close();
  });

  it("a client that is collected while open warns; one that has a listener for events too", async () => {
    const count = () => warnings.filter(({ code }) => code === "DLOCK_UNCLOSED").length;
    const before = count();
    await (async () => {
      await connect(context.url, { onEvent: () => undefined });
    })();
    const deadline = performance.now() + NEVER_MS;
    while (count() === before) {
      assert.ok(performance.now() < deadline);
      gc();
      await turn();
    }
  });
});

describe("memory", () => {
  it("stays where it is over 150,000 holds", { skip: LONG }, async () => {
    const client = await connect("memory://");
    const rss = () => process.memoryUsage().rss / 2 ** 20;
    const many = async () => {
      for (let n = 0; n < 50_000; n++) {
        const name = `k-${n % 10}`;
        if (n % 3 === 0) await client.withLock(name, () => undefined);
        else if (n % 3 === 1) await client.rwLock(`${name}-rw`).withWrite((held) => void held.downgrade());
        else await client.semaphore(`${name}-permits`, 5).withPermits({ permits: 2 }, ({ permits }) => permits);
      }
      return rss();
    };
    const sizes = [await many(), await many(), await many()];
    console.log(`MiB after each 50,000: ${sizes.map((size) => size.toFixed(0)).join(", ")}`);
    // What the first fifty thousand brought is there to be used again.
    assert.ok(sizes[2] < sizes[0] * 1.5 + 30, String(sizes));
    await client.close();
  });
});

describe("events", () => {
  it("tell a client's own listener what happens to its locks", async () => {
    const events = [];
    const others = [];
    const client = await connect("memory://events", { leaseMs: 300, onEvent: (event) => events.push(event) });
    const other = await connect("memory://events", { onEvent: (event) => others.push(event) });
    const name = freshName();
    const held = await client.lock(name).acquire();
    const { signal } = held;
    await other.lock(name).forceRelease();
    await fired(signal);
    while (!events.some(({ object, level }) => object === name && level === "warn")) await turn();
    for (const { level, message } of events) {
      assert.ok(["debug", "info", "warn", "error"].includes(level));
      assert.equal(typeof message, "string");
    }
    assert.equal(
      others.some(({ object, level }) => object === name && level === "warn"),
      false,
    );
    await client.close();
    await other.close();
  });

  it("a listener that throws is an uncaught exception, and keeps nobody's completion", async () => {
    const mistake = new Error("the listener's mistake");
    const uncaught = new Promise((resolve) => {
      process.setUncaughtExceptionCaptureCallback(resolve);
    });
    const client = await connect("memory://", {
      leaseMs: 300,
      onEvent: () => {
        throw mistake;
      },
    });
    const lock = client.lock(freshName());
    const { signal } = await lock.acquire();
    await lock.forceRelease();
    await fired(signal);
    assert.equal(await uncaught, mistake);
    process.setUncaughtExceptionCaptureCallback(null);
    assert.equal(await lock.locked(), false);
    await client.close();
  });
});
