// Decisions that are asked for in one turn of the loop: they go to the server together, and each caller gets its own answer.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { connect } from "libdlock";

import { Program, freshName, onBothBackends, rejects, useServer } from "./kit/index.mjs";

const HOUR = 3_600_000;
const kinds = (settled) => settled.map(({ value, reason }) => reason?.kind ?? value.granted);

onBothBackends((context) => {
  it("the first of a turn get what is there, and the rest nothing", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 40, perMs: HOUR });
    for (const [asked, granted] of [
      [30, 30],
      [30, 10],
      [30, 0],
    ]) {
      const decisions = await Promise.all(Array.from({ length: asked }, () => limiter.tryAcquire()));
      assert.deepEqual(
        decisions.map(({ allowed }) => allowed),
        Array.from({ length: asked }, (_, at) => at < granted),
      );
      for (const { limit, usableAfterMs, serverTimeUs, refusedBy, retryAfterMs, allowed } of decisions) {
        assert.deepEqual([limit, usableAfterMs, typeof serverTimeUs], [40, 0, "bigint"]);
        assert.equal(refusedBy, allowed ? undefined : 0);
        assert.ok(allowed ? retryAfterMs === 0 : retryAfterMs > 0);
      }
    }
    const never = await Promise.all([limiter.tryAcquire(41), limiter.tryAcquire(2 ** 53 - 1)]);
    for (const { allowed, retryAfterMs } of never) assert.deepEqual([allowed, retryAfterMs], [false, undefined]);
  });

  it("what is wrong with one call is no matter of the others", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 9, perMs: HOUR });
    const settled = await Promise.allSettled([
      limiter.tryAcquire(),
      limiter.tryAcquire(-1),
      limiter.tryAcquire(0.5),
      limiter.tryAcquire(2, { key: "a" }),
      limiter.tryAcquire(1, { key: "" }),
      limiter.tryAcquire(1, { key: "x".repeat(600) }),
      limiter.tryAcquire(9, { key: "a" }),
      limiter.tryAcquire(8),
      limiter.acquire(1, { waitMs: 0 }),
      limiter.peek(),
    ]);
    const [number, name] = ["INVALID_ARGUMENT", "INVALID_NAME"];
    assert.deepEqual(kinds(settled), [1, number, number, 2, name, name, 0, 8, 0, 0]);
    assert.ok(settled[1].reason.stack.includes("turn.test.mjs"), settled[1].reason.stack);
  });

  it("calls are carried out in their order, whatever they are", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 5, perMs: HOUR });
    // A script that the server has not seen yet is sent twice.
    await limiter.reset();
    await limiter.peek();
    const asked = await Promise.all([
      limiter.tryAcquire(5),
      limiter.tryAcquire(1),
      limiter.reset(),
      limiter.tryAcquire(5),
      limiter.reserve(1),
      limiter.tryAcquire(1),
    ]);
    assert.deepEqual(
      asked.map((decision) => decision?.granted),
      [5, 0, undefined, 5, 1, 0],
    );
  });

  it("more callers than one call has room for are all answered", async () => {
    // One token in twenty minutes: none comes back meanwhile.
    const limiter = context.client.rateLimiter(freshName(), { tokens: 3_000, perMs: 1_000 * HOUR });
    const decisions = await Promise.all(Array.from({ length: 5_000 }, () => limiter.tryAcquire()));
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 3_000);
    const keys = await Promise.all(Array.from({ length: 1_500 }, (_, key) => limiter.tryAcquire(1, { key: `${key}` })));
    assert.ok(keys.every(({ allowed, remaining }) => allowed && remaining === 2_999));
  });

  it("a client that is closed in the same turn leaves nobody waiting", async () => {
    const client = await context.open();
    const limiter = client.rateLimiter(freshName(), { tokens: 9, perMs: HOUR });
    const asked = [limiter.tryAcquire(), limiter.tryAcquire(), limiter.tryAcquire(1, { key: "a" })];
    const settled = Promise.allSettled(asked);
    await client.close();
    for (const kind of kinds(await settled)) assert.ok(kind === 1 || kind === "CLOSED", kind);
    for (const call of [limiter.tryAcquire(), limiter.tryAcquire()]) await rejects(call, "CLOSED");
  });
});

describe("with a server", () => {
  const shared = useServer();

  it("callers of one turn need one script", async () => {
    const client = await connect(shared.server.url);
    const limiter = client.rateLimiter("few", { tokens: 10_000, perMs: HOUR });
    await limiter.tryAcquire();
    const scripts = async () => {
      const stats = await shared.server.command("INFO", "commandstats");
      return Number(/cmdstat_evalsha:calls=(\d+)/.exec(stats)[1]);
    };
    const before = await scripts();
    await Promise.all(Array.from({ length: 500 }, () => limiter.tryAcquire(2)));
    assert.equal((await scripts()) - before, 1);
    // Also by objects of their own, as long as they are alike.
    const same = () => client.rateLimiter("few", { tokens: 10_000, perMs: HOUR });
    const other = () => client.rateLimiter("few", { tokens: 10_000, perMs: HOUR, absent: "allow" });
    await Promise.all(Array.from({ length: 100 }, (_, at) => (at % 2 === 0 ? same() : other()).tryAcquire()));
    assert.equal((await scripts()) - before, 3);
    await client.close();
  });

  it("a call that was aborted before it was sent is not sent", async () => {
    const client = await connect(shared.server.url);
    const limiter = client.rateLimiter("aborted", { tokens: 5, perMs: HOUR });
    const others = [limiter.tryAcquire(), limiter.tryAcquire()];
    const reason = new Error("no more");
    await assert.rejects(limiter.acquire(1, { waitMs: 0, signal: AbortSignal.abort(reason) }), reason);
    for (const decision of await Promise.all(others)) assert.ok(decision.allowed);
    assert.equal((await limiter.peek()).remaining, 3);
    await client.close();
  });

  it("an exception of somebody else in the same turn keeps nobody from an answer", async () => {
    const program = new Program("turn.mjs", [shared.server.url]);
    assert.equal(await program.line(), "caught: of somebody else");
    assert.equal(await program.line(), "allowed: true,true,true");
    assert.equal((await program.end()).code, 0);
  });
});
