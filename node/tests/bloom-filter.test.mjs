// The Bloom filter as a program of Node uses it, on a server and on memory://. What it is is checked by tests/scenarios.

import assert from "node:assert/strict";
import { it } from "node:test";
import { runInNewContext } from "node:vm";

import { freshName, onBothBackends, rejects, throws } from "./kit/index.mjs";

const OPTIONS = { expected: 1_000, falsePositiveRate: 0.01 };

onBothBackends((context) => {
  it("finds what any client has added, text or bytes", async () => {
    const name = freshName();
    const seen = context.client.bloomFilter(name, OPTIONS);
    const theirs = (await context.open()).bloomFilter(name, OPTIONS);
    assert.deepEqual([seen.name, seen.client, seen.size, seen.hashes], [name, context.client, 9585, 7]);
    assert.deepEqual(await seen.add(["é", "b", "é", ""]), [true, true, false, true]);
    assert.deepEqual(await theirs.contains([Buffer.from("é"), "c", new Uint8Array()]), [true, false, true]);
    assert.deepEqual(await theirs.add(new Set([new Uint8Array([0xff, 0]), "b"])), [true, false]);
    assert.equal(await seen.count(), 4);
    const rate = await seen.falsePositiveRate();
    assert.ok(rate > 0 && rate < 1e-10, `${rate}`);
    assert.deepEqual([await seen.add([]), await seen.contains([])], [[], []]);
    assert.deepEqual([await seen.clear(), await theirs.clear()], [true, false]);
    assert.deepEqual(await theirs.contains(["b"]), [false]);
  });

  it("refuses another configuration until it is cleared", async () => {
    const name = freshName();
    const seen = context.client.bloomFilter(name, OPTIONS);
    const other = context.client.bloomFilter(name, { ...OPTIONS, expected: 2_000 });
    await seen.add(["a"]);
    const { message } = await rejects(other.contains(["a"]), "WRONG_TYPE");
    assert.match(message, /9585 bits and 7 hashes.*19170 bits and 7 hashes/);
    assert.equal(await other.clear(), true);
    assert.deepEqual(await other.add(["a"]), [true]);
  });

  it("ends a filter that has a time to live", async () => {
    const seen = context.client.bloomFilter(freshName(), { ...OPTIONS, ttlMs: 1 });
    await seen.add(["a"]);
    while ((await seen.contains(["a"]))[0]);
    assert.equal(await seen.count(), 0);
  });

  it("refuses what no filter can be, and says what it can", async () => {
    const { client } = context;
    const name = freshName();
    const refused = (options) => throws(() => client.bloomFilter(name, { ...OPTIONS, ...options }), "INVALID_ARGUMENT");
    for (const expected of [0, -1]) assert.equal(refused({ expected }).allowed, "1 to 9007199254740991");
    for (const falsePositiveRate of [0, 1, NaN]) {
      assert.equal(refused({ falsePositiveRate }).allowed, "above 0 and below 1");
    }
    for (const ttlMs of [0, -1, 1e15]) assert.equal(refused({ ttlMs }).allowed, "1 ms to 100 years");
    assert.match(refused({ expected: 2 ** 32 }).message, /4294967294 bits/);
    for (const options of [undefined, 5, { expected: 5 }, { ...OPTIONS, expected: 5n }, { ...OPTIONS, size: 5 }]) {
      assert.throws(() => client.bloomFilter(name, options), { name: "TypeError" });
    }
    const seen = client.bloomFilter(name, OPTIONS);
    for (const items of [undefined, "text", new Uint8Array(3), [5], [null], 5]) {
      await assert.rejects(seen.add(items), { name: "TypeError" });
      await assert.rejects(seen.contains(items), { name: "TypeError" });
    }
    await rejects(seen.add(["\ud800"]), "INVALID_ARGUMENT");
    // Before any server is asked; the native module takes seconds to read so many.
    if (context.server === undefined) {
      assert.equal((await rejects(seen.add(Array(1_000_001).fill("")), "INVALID_ARGUMENT")).allowed, "0 to 1000000");
    }
    assert.throws(() => seen.tryInit(), /bloomFilter/);
  });

  it("takes bytes of another realm, and nothing that only looks like bytes", async () => {
    const client = await context.open();
    const seen = client.bloomFilter(freshName(), OPTIONS);
    // As a Buffer is in a test under Jest.
    const foreign = runInNewContext("new Uint8Array([97, 98])");
    assert.deepEqual(await seen.add([foreign, "ab", new Uint8Array(new SharedArrayBuffer(1))]), [true, false, true]);
    for (const item of [Object.create(Uint8Array.prototype), new Proxy(new Uint8Array(1), {})]) {
      await assert.rejects(seen.add([item]), { name: "TypeError" });
    }
  });

  it("tells another kind of key, and a client that is closed", async () => {
    const client = await context.open();
    const name = freshName();
    const held = await client.lock(name).acquire();
    const seen = client.bloomFilter(name, OPTIONS);
    await rejects(seen.add(["a"]), "WRONG_TYPE");
    await held.release();
    assert.deepEqual(await seen.add(["a"]), [true]);
    await client.close();
    await rejects(seen.contains(["a"]), "CLOSED");
  });
});
