// faults.md 26 and 27: what is refused before any I/O, and how.

import assert from "node:assert/strict";
import { createServer } from "node:net";
import { describe, it } from "node:test";

import { connect } from "libdlock";

import { freshName, onBothBackends, rejects, throws, vectors } from "./kit/index.mjs";

const NO_DURATIONS = [NaN, Infinity, -Infinity, -1, -0.5, 0.5, 1.5, 2 ** 53, 1e308];
const NO_NUMBERS = ["1", null, [], {}, true, 5n];

onBothBackends((context) => {
  it("durations that are none are refused, with what was given and what is allowed", async () => {
    const lock = context.client.lock(freshName());
    const held = await lock.acquire();
    for (const value of NO_DURATIONS) {
      for (const error of [
        throws(() => context.client.lock("k", { leaseMs: value }), "INVALID_ARGUMENT"),
        await rejects(lock.acquire({ leaseMs: value }), "INVALID_ARGUMENT"),
        await rejects(lock.acquire({ waitMs: value }), "INVALID_ARGUMENT"),
        await rejects(lock.tryAcquire({ leaseMs: value }), "INVALID_ARGUMENT"),
        await rejects(held.extend(value), "INVALID_ARGUMENT"),
      ]) {
        assert.ok(error.message.includes(String(value)) && error.message.includes("allowed"), error.message);
      }
    }
    assert.equal(held.valid, true);
    await held.release();
  });

  it("durations of a wrong type are a TypeError, as in Node's own functions", async () => {
    const lock = context.client.lock(freshName());
    for (const value of NO_NUMBERS) {
      const wrong = { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" };
      assert.throws(() => context.client.lock("k", { leaseMs: value }), wrong);
      await assert.rejects(lock.acquire({ leaseMs: value }), wrong);
      await assert.rejects(lock.acquire({ waitMs: value }), wrong);
      await lock.withLock((held) => assert.rejects(held.extend(value), wrong));
    }
  });

  it("leases out of range are refused, and leave no key", async () => {
    const lock = context.client.lock(freshName());
    for (const leaseMs of [0, 1, 99, 86_400_001, 2 ** 53 - 1]) {
      await rejects(lock.acquire({ leaseMs }), "INVALID_ARGUMENT");
      assert.equal(await lock.locked(), false);
      await lock.withLock((held) => rejects(held.extend(leaseMs), "INVALID_ARGUMENT"));
    }
    for (const leaseMs of [100, 86_400_000]) await lock.withLock({ leaseMs }, () => undefined);
  });

  it("a wait is 24 h at most", async () => {
    const lock = context.client.lock(freshName());
    const held = await lock.acquire();
    const waiting = lock.acquire({ waitMs: 86_400_000 });
    await rejects(lock.acquire({ waitMs: 86_400_001 }), "INVALID_ARGUMENT");
    await held.release();
    await (await waiting).release();
  });

  it("names that JavaScript can hold are judged as everywhere", async () => {
    for (const { hex, ok, why } of vectors("names")) {
      const name = textOf(hex);
      if (name === undefined) continue;
      if (ok) assert.equal(context.client.lock(name).name, name, why);
      else throws(() => context.client.lock(name), "INVALID_NAME");
    }
  });

  it("lone surrogates are refused, for they have no UTF-8", () => {
    for (const name of ["\ud800", "a\udfffb", "\ude00\ud83d"]) {
      const error = throws(() => context.client.lock(name), "INVALID_NAME");
      assert.match(error.message, /lone surrogate/);
    }
  });

  it("a name is a string", () => {
    for (const name of [undefined, null, 1, {}, ["k"], Symbol("k")]) {
      assert.throws(() => context.client.lock(name), { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" });
    }
  });
});

describe("names on the wire", () => {
  onBothBackends((context) => {
    it("are the bytes of their UTF-8", async () => {
      const other = await context.open();
      for (const name of ["é", "日本語", "🔒 lock\n", "a\u0301"]) {
        const held = await context.client.lock(name).acquire();
        const seen = await other.lock(Buffer.from(name, "utf8").toString()).inspect();
        assert.equal(seen.holder, held.owner);
        await held.release();
      }
    });
  });
});

describe("options of connect", () => {
  it("are those of the vectors, in camel case", async () => {
    const values = { duration: 5_000, boolean: true, string: "x" };
    for (const { name, type, min } of vectors("options")) {
      const camel = name.replace(/_./g, ([, letter]) => letter.toUpperCase()) + (type === "duration" ? "Ms" : "");
      await (await connect("memory://", { [camel]: values[type] ?? min })).close();
    }
    await (await connect("memory://", { tokenTtlMs: "none", leaseMs: undefined })).close();
  });

  it("keep to their limits", async () => {
    for (const { name, type, min, max } of vectors("options")) {
      if (type !== "duration") continue;
      const camel = `${name.replace(/_./g, ([, letter]) => letter.toUpperCase())}Ms`;
      for (const value of [min, max]) await (await connect("memory://", { [camel]: value })).close();
      for (const value of [min - 1, max + 1]) {
        const error = await rejects(connect("memory://", { [camel]: value }), "INVALID_ARGUMENT");
        assert.ok(error.message.includes(name), error.message);
      }
    }
  });

  it("that do not exist are refused with the names of those that do", async () => {
    for (const name of ["lease", "connect_timeout", "retries", "leaseMS"]) {
      const error = await rejects(connect("memory://", { [name]: 1 }), "INVALID_ARGUMENT");
      assert.ok(error.message.includes(name) && error.message.includes("connectTimeoutMs"), error.message);
    }
  });

  it("of a wrong type are a TypeError", async () => {
    for (const value of [null, {}, [], 1n]) await assert.rejects(connect("memory://", { keyPrefix: value }), TypeError);
    await assert.rejects(connect(7), TypeError);
  });

  it("and bad URLs are refused before any I/O", async () => {
    let connections = 0;
    const server = createServer(() => (connections += 1));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address();
    for (const url of ["", "http://x", "127.0.0.1:6379", `redis://127.0.0.1:${port}/0?nonsense=1`, "redis://\ud800"]) {
      await rejects(connect(url), "INVALID_ARGUMENT");
    }
    const options = { leaseMs: 1 };
    await rejects(connect(`redis://127.0.0.1:${port}`, options), "INVALID_ARGUMENT");
    server.close();
    assert.equal(connections, 0);
  });
});

/** The text whose UTF-8 that is; none for bytes that are no UTF-8, which no string of JavaScript can stand for. */
function textOf(hex) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(hex, "hex"));
  } catch {
    return undefined;
  }
}
