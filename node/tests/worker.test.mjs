// Worker numbers as a program of Node uses them, on a server and on memory://. What they do is checked by tests/scenarios.

import assert from "node:assert/strict";
import { it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { connect } from "libdlock";

import { NEVER_MS, fired, freshName, onBothBackends, rejects, throws } from "./kit/index.mjs";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");

/** Leases a number of two until one is free. */
async function leaseWhenFree(client, pool) {
  const deadline = performance.now() + NEVER_MS;
  for (;;) {
    gc();
    await turn();
    try {
      return await client.worker(pool, { bits: 1 });
    } catch (error) {
      assert.equal(error.kind, "BUSY", error.stack);
      assert.ok(performance.now() < deadline, "it is not given back");
    }
  }
}

onBothBackends((context) => {
  it("leases a number, makes ids under it, and gives it back at the end of the scope", async () => {
    const { client } = context;
    const pool = freshName();
    const worker = await client.worker(pool);
    assert.deepEqual(
      [worker.number, worker.bits, worker.pool, worker.client, worker.valid, worker.lossReason],
      [0, 10, pool, client, true, undefined],
    );
    assert.ok(worker.remainingMs > 20_000 && worker.remainingMs <= 30_000);
    assert.equal(worker.signal.aborted, false);
    const { remainingMs, ...rest } = JSON.parse(JSON.stringify(worker));
    assert.ok(remainingMs > 0);
    assert.deepEqual(rest, { pool, number: 0, bits: 10, valid: true });
    const ids = worker.snowflake();
    const batch = ids.nextIds(5_000);
    batch.reduce((before, id) => (assert.ok(id > before), id), 0n);
    const last = batch.at(-1);
    assert.deepEqual([ids.decode(last).datacenter, ids.decode(last).worker], [0, 0]);
    const other = await (await context.open()).worker(pool);
    assert.equal(other.number, 1);
    await other.release();
    await rejects(other.release(), "NOT_HELD");
    await other[Symbol.asyncDispose]();
    await worker[Symbol.asyncDispose]();
    throws(() => ids.nextId(), "NOT_HELD");
    throws(() => ids.nextIds(3), "NOT_HELD");
    const again = await client.worker(pool, { leaseMs: 5_000 });
    assert.equal(again.number, 0);
    assert.ok(again.snowflake("default").nextId() > last);
    await again.release();
  });

  it("a generator keeps the number of a worker that was collected", async () => {
    const { client } = context;
    const pool = freshName();
    let ids = await (async () => (await client.worker(pool, { bits: 1 })).snowflake())();
    const other = await client.worker(pool, { bits: 1 });
    for (let round = 0; round < 5; round++) {
      gc();
      await turn();
    }
    await rejects(client.worker(pool, { bits: 1 }), "BUSY");
    assert.ok(ids.nextId() > 0n);
    ids = undefined;
    const again = await leaseWhenFree(client, pool);
    assert.equal(again.number, 0);
    await again.release();
    await other.release();
  });

  it("rejects at once when all numbers are taken, and says when the next may be free", async () => {
    const { client } = context;
    const pool = freshName();
    const both = [await client.worker(pool, { bits: 1 }), await client.worker(pool, { bits: 1 })];
    const busy = await rejects(client.worker(pool, { bits: 1 }), "BUSY");
    assert.ok(busy.retryAfterMs > 0 && busy.retryAfterMs <= 30_000 + 1_000, busy.message);
    for (const worker of both) await worker.release();
  });

  it("the end of the client is a loss, and gives the number back when asked to", async () => {
    const client = await connect(context.url);
    const pool = freshName();
    const worker = await client.worker(pool);
    const ids = worker.snowflake();
    const { signal } = worker;
    await client.close({ release: true });
    assert.equal((await fired(signal)).lossReason, "closed");
    assert.deepEqual([worker.valid, worker.remainingMs, worker.lossReason], [false, 0, "closed"]);
    throws(() => ids.nextId(), "LOST");
    await rejects(client.worker(pool), "CLOSED");
    const next = await context.client.worker(pool);
    assert.equal(next.number, 0);
    await next.release();
  });

  it("a lost number tells its signal, and makes no more ids", async (test) => {
    if (context.server === undefined) return test.skip("keys of memory:// are not deleted from outside");
    const pool = freshName();
    const worker = await context.client.worker(pool, { leaseMs: 1_000 });
    const ids = worker.snowflake();
    const { signal } = worker;
    await context.server.command("DEL", `dlock_id_pool:{${pool}}`);
    const reason = await fired(signal);
    assert.deepEqual([reason.kind, reason.lossReason], ["LOST", "deleted"]);
    throws(() => ids.nextId(), "LOST");
    throws(() => worker.snowflake(), "LOST");
    await rejects(worker.release(), "NOT_HELD");
  });

  it("a lease that is aborted leaves nothing leased", async () => {
    const { client } = context;
    const pool = freshName();
    for (let round = 0; round < 20; round++) {
      const control = new AbortController();
      const leasing = client.worker(pool, { bits: 1, signal: control.signal });
      control.abort(new Error("enough"));
      await assert.rejects(leasing, /enough/);
    }
    const both = [await leaseWhenFree(client, pool), await leaseWhenFree(client, pool)];
    assert.deepEqual(both.map(({ number }) => number).sort(), [0, 1]);
    for (const worker of both) await worker.release();
  });

  it("refuses what no worker number can be, and says what it can", async () => {
    const { client } = context;
    const pool = freshName();
    for (const bits of [0, -1, 23, 2 ** 40]) {
      const { allowed } = await rejects(client.worker(pool, { bits }), "INVALID_ARGUMENT");
      assert.equal(allowed, "1 to 22");
    }
    await rejects(client.worker(pool, { leaseMs: 99 }), "INVALID_ARGUMENT");
    await rejects(client.worker(""), "INVALID_NAME");
    await assert.rejects(client.worker(pool, 5), { name: "TypeError" });
    await assert.rejects(client.worker(pool, { bits: 5n }), { name: "TypeError" });
    await assert.rejects(client.worker(pool, { bits: 5 }, 3), /two arguments/);
    const worker = await client.worker(pool, { bits: 6 });
    assert.match(throws(() => worker.snowflake("js53"), "INVALID_ARGUMENT").message, /at most 5/);
    assert.throws(() => worker.snowflake(7), { name: "TypeError" });
    assert.throws(() => worker.nextId(), /snowflake/);
    await worker.release();
  });
});
