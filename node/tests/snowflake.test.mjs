// Ids without a server: the vectors of every language, uniqueness, bad input.

import assert from "node:assert/strict";
import { once } from "node:events";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Worker } from "node:worker_threads";

import { Snowflake } from "libdlock";

import { LONG, TESTS, throws, vectorFile } from "./kit/index.mjs";

const VECTORS = vectorFile("snowflake");
const camel = (row) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name.replace(/_./g, ([, c]) => c.toUpperCase()), value]),
  );
const FIRST = camel(VECTORS.layouts[0]);
delete FIRST.name;
const layoutOf = ({ layout }) => (typeof layout === "string" ? layout : camel(layout));

describe("Snowflake", () => {
  it("takes ids apart as every language does", () => {
    for (const row of VECTORS.decode) {
      const { timeMs, datacenter, worker, sequence } = camel(row);
      const expected = { timeMs, datacenter, worker, sequence };
      assert.deepEqual(Snowflake.decode(BigInt(row.id), layoutOf(row)), expected, row.why);
    }
  });

  it("knows the layouts by their names", () => {
    for (const row of VECTORS.layouts) {
      const { name, ...layout } = row;
      for (const id of [0n, 12_345n, 2n ** 53n - 1n]) {
        assert.deepEqual(Snowflake.decode(id, name), Snowflake.decode(id, camel(layout)));
      }
    }
    assert.deepEqual(Snowflake.decode(7n), Snowflake.decode(7n, "default"));
  });

  it("refuses ids and layouts that are none, with value and range", () => {
    for (const row of VECTORS.decode_refused) {
      const error = throws(() => Snowflake.decode(BigInt(row.id), layoutOf(row)), "INVALID_ARGUMENT");
      assert.ok(error.message.includes(row.id), error.message);
    }
    for (const row of VECTORS.layouts_refused) {
      throws(() => Snowflake.decode(0n, layoutOf(row)), "INVALID_ARGUMENT");
      throws(() => new Snowflake({ datacenter: 0, worker: 0, layout: layoutOf(row) }), "INVALID_ARGUMENT");
    }
    throws(() => Snowflake.decode(2n ** 63n), "INVALID_ARGUMENT");
    throws(() => Snowflake.decode(2n ** 64n + 1n), "INVALID_ARGUMENT");
    throws(() => Snowflake.decode(0n, "Default"), "INVALID_ARGUMENT");
    throws(() => Snowflake.decode(0n, { ...FIRST, timeBits: 1.5 }), "INVALID_ARGUMENT");
    for (const id of [1, "1", null, undefined]) assert.throws(() => Snowflake.decode(id), TypeError);
    for (const layout of [1, null, {}]) assert.throws(() => Snowflake.decode(0n, layout), TypeError);
  });

  it("writes and reads ids in every base", () => {
    for (const row of VECTORS.text) {
      for (const base of [10, 32, 36, 58, 62]) {
        assert.equal(Snowflake.encode(BigInt(row.id), base), row[`base${base}`]);
        assert.equal(Snowflake.parse(row[`base${base}`], base), BigInt(row.id));
      }
    }
    for (const { text, base, id, why } of VECTORS.parse) assert.equal(Snowflake.parse(text, base), BigInt(id), why);
    for (const { text, base, why } of VECTORS.parse_refused) {
      assert.throws(() => Snowflake.parse(text, base), { kind: "INVALID_ARGUMENT" }, why);
    }
    for (const base of [0, 2, 63, 1.5]) {
      throws(() => Snowflake.encode(1n, base), "INVALID_ARGUMENT");
      throws(() => Snowflake.parse("1", base), "INVALID_ARGUMENT");
    }
    throws(() => Snowflake.encode(-1n, 62), "INVALID_ARGUMENT");
    throws(() => Snowflake.parse("\ud800", 62), "INVALID_ARGUMENT");
    assert.throws(() => Snowflake.parse(1, 62), TypeError);
  });

  it("makes ids that say who made them, and when", () => {
    const ids = new Snowflake({ datacenter: 3, worker: 17 });
    const before = Date.now();
    const parts = ids.decode(ids.nextId());
    assert.deepEqual([parts.datacenter, parts.worker], [3, 17]);
    assert.ok(parts.timeMs >= before - 1 && parts.timeMs <= Date.now() + 1);
    const small = new Snowflake({ datacenter: 0, worker: 9, layout: "js53" });
    const id = small.nextId();
    assert.ok(Number.isSafeInteger(Number(id)));
    assert.equal(small.decode(id).worker, 9);
  });

  it("refuses places, durations and batches out of range, with value and range", () => {
    for (const place of [
      { datacenter: 32 },
      { datacenter: -1 },
      { worker: 32 },
      { worker: -1 },
      { worker: 2 ** 53 - 1 },
    ]) {
      const error = throws(() => new Snowflake({ datacenter: 0, worker: 0, ...place }), "INVALID_ARGUMENT");
      assert.ok(error.message.includes(String(Object.values(place)[0])), error.message);
    }
    for (const other of [{ worker: 0.5 }, { datacenter: NaN }, { borrowAheadMs: 11 }, { startWaitMs: 60_001 }]) {
      throws(() => new Snowflake({ datacenter: 0, worker: 0, ...other }), "INVALID_ARGUMENT");
    }
    for (const [other, said] of [
      [{ borrowAheadMs: -1 }, /-1 ms.*0 to 10/],
      [{ startWaitMs: -1 }, /-1 ms.*0 to 60000/],
    ]) {
      assert.match(
        throws(() => new Snowflake({ datacenter: 0, worker: 0, ...other }), "INVALID_ARGUMENT").message,
        said,
      );
    }
    for (const wrong of [{ worker: "1" }, { datacenter: 1n }, { layout: 7 }, { startWaitMs: null }]) {
      assert.throws(() => new Snowflake({ datacenter: 0, worker: 0, ...wrong }), TypeError);
    }
    const ids = new Snowflake({ datacenter: 0, worker: 0, borrowAheadMs: 10, startWaitMs: 0 });
    for (const count of [0, -1, 1_000_001, 1.5, NaN, 2 ** 53]) {
      throws(() => ids.nextIds(count), "INVALID_ARGUMENT");
    }
    assert.throws(() => ids.nextIds("1"), TypeError);
    assert.throws(() => ids.nextIds(1n), TypeError);
  });

  it("a time before the layout's epoch, or past its end, is CLOCK", () => {
    const future = { ...FIRST, epochMs: Date.now() + 3_600_000 };
    const past = { ...FIRST, epochMs: 0, timeBits: 30 };
    const refused = (layout) => throws(() => new Snowflake({ datacenter: 0, worker: 0, layout }), "CLOCK");
    const early = refused(future);
    assert.ok(early.retryable && early.retryAfterMs > 3_500_000 && early.retryAfterMs <= 3_600_000);
    const late = refused(past);
    assert.deepEqual([late.retryable, late.retryAfterMs], [false, undefined]);
  });

  it("never makes one twice, one by one, in batches, and by a second generator", () => {
    const place = { datacenter: 1, worker: 1 };
    const [ids, again] = [new Snowflake(place), new Snowflake(place)];
    let last = 0n;
    const next = (id) => {
      assert.ok(id > last);
      last = id;
    };
    for (let round = 0; round < 5_000; round++) {
      next(ids.nextId());
      next(again.nextId());
    }
    const batch = ids.nextIds(50_000);
    assert.ok(batch instanceof BigInt64Array);
    assert.equal(batch.length, 50_000);
    batch.forEach(next);
    next(again.nextId());
    assert.equal(ids.nextIds(1).length, 1);
  });

  it("never makes one twice in several worker threads", async () => {
    const count = LONG ? 200_000 : 3_000_000;
    const start = () =>
      new Worker(join(TESTS, "programs/ids.mjs"), { workerData: { datacenter: 2, worker: 2, count } });
    const batches = await Promise.all(
      [start(), start(), start()].map(async (worker) => (await once(worker, "message"))[0]),
    );
    const all = new BigInt64Array(3 * count);
    batches.forEach((batch, n) => {
      batch.reduce((last, id) => (assert.ok(id > last), id), 0n);
      all.set(batch, n * count);
    });
    all.sort();
    for (let n = 1; n < all.length; n++) {
      if (all[n] === all[n - 1]) assert.fail(`${all[n]} came twice`);
    }
  });
});
