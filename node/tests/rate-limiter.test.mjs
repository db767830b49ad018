// The rate limiter: the vectors of every language, waits, policies; faults.md 36, 37 and 38.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { connect } from "libdlock";

import { Proxy, freshName, onBothBackends, rejects, throws, useServer, vectorFile } from "./kit/index.mjs";

const VECTORS = vectorFile("gcra");
const HOUR = 3_600_000;
const rateOf = ({ tokens, per_ms, burst }) => ({ tokens, perMs: per_ms, burst: burst ?? undefined });

onBothBackends((context) => {
  for (const row of VECTORS.limiters) {
    it(row.why, async () => {
      const limiter = context.client.rateLimiter(freshName(), rateOf(row));
      const began = performance.now();
      for (const { cost, ...expected } of row.calls) {
        const decision = await (cost === 0 ? limiter.peek() : limiter.tryAcquire(cost));
        const passed = performance.now() - began + 1;
        assert.equal(decision.limit, row.limit);
        assert.deepEqual(
          [decision.allowed, decision.granted, decision.remaining],
          [expected.allowed, expected.granted, expected.remaining],
        );
        near(decision.retryAfterMs, expected.retry_after_ms, passed);
        near(decision.resetAfterMs, expected.reset_after_ms, passed);
        assert.equal(typeof decision.serverTimeUs, "bigint");
        assert.ok(Math.abs(Number(decision.serverTimeUs / 1000n) - Date.now()) < 60_000);
      }
    });
  }

  it("refuses rates that are none, with the value and the range", () => {
    for (const row of VECTORS.invalid_rates) {
      const { code, message } = throws(() => context.client.rateLimiter("k", rateOf(row)), "INVALID_ARGUMENT");
      assert.equal(code, "DLOCK_INVALID_ARGUMENT");
      // A period is written in core's units: there the range tells which value it is about.
      const odd = row.burst ?? (row.tokens === 1 ? "1 us to 100 years" : row.tokens);
      assert.match(message, new RegExp(`(^|\\s)${odd}\\b`), `${row.why}: ${message}`);
    }
    const beyond = throws(() => context.client.rateLimiter("k", { tokens: 1, perMs: 2 ** 53 - 1 }), "INVALID_ARGUMENT");
    assert.ok(beyond.message.includes("9007199254740991"), beyond.message);
    for (const rate of [
      { tokens: 1.5 },
      { perMs: 0.0005 },
      { perMs: 1.0001 },
      { perMs: 3_155_760_000_000.001 },
      { perMs: Infinity },
      { perMs: -1 },
      { perMs: NaN },
      { burst: 0.1 },
      { tokens: 2 ** 53 },
    ]) {
      throws(() => context.client.rateLimiter("k", { tokens: 1, perMs: 1_000, ...rate }), "INVALID_ARGUMENT");
    }
    for (const rate of [
      { tokens: "1" },
      { perMs: null },
      { burst: 1n },
      { tokens: undefined },
      { absent: 7 },
      { absent: null },
    ]) {
      assert.throws(() => context.client.rateLimiter("k", { tokens: 1, perMs: 1_000, ...rate }), TypeError);
    }
    throws(() => context.client.rateLimiter("a{", { tokens: 1, perMs: 1_000 }), "INVALID_NAME");
    throws(() => context.client.rateLimiter("\ud800", { tokens: 1, perMs: 1_000 }), "INVALID_NAME");
  });

  it("takes periods to the microsecond", async () => {
    for (const perMs of [0.001, 1.001, 33.333, 3_155_760_000_000]) {
      assert.equal((await context.client.rateLimiter(freshName(), { tokens: 1, perMs }).tryAcquire()).allowed, true);
    }
    const perMs = HOUR + 0.001;
    assert.equal(
      (await context.client.rateLimiter(freshName(), { tokens: 1, perMs }).tryAcquire()).resetAfterMs,
      perMs,
    );
  });

  it("refuses costs that could never be granted, and waits that are none", async () => {
    for (const row of VECTORS.invalid_costs) {
      const limiter = context.client.rateLimiter(freshName(), rateOf(row));
      const error = await rejects(limiter.tryAcquire(row.cost), "INVALID_ARGUMENT");
      assert.ok(error.message.includes(String(row.cost)), error.message);
      assert.equal((await limiter.peek()).remaining, (await limiter.peek()).limit);
    }
    const limiter = context.client.rateLimiter(freshName(), { tokens: 5, perMs: 1_000 });
    for (const cost of [0.5, NaN, Infinity, 2 ** 53]) await rejects(limiter.tryAcquire(cost), "INVALID_ARGUMENT");
    for (const waitMs of [-1, 0.5, NaN, 86_400_001]) await rejects(limiter.acquire(1, { waitMs }), "INVALID_ARGUMENT");
    for (const cost of ["1", null, 1n]) await assert.rejects(limiter.tryAcquire(cost), TypeError);
  });

  it("waits its turn, in the order of asking, and not longer than it is told to", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 50, perMs: 1_000, burst: 1 });
    assert.equal((await limiter.tryAcquire()).allowed, true);
    const order = [];
    const began = performance.now();
    const all = [1, 2, 3].map(async (n) => {
      assert.equal((await limiter.acquire()).allowed, true);
      order.push(n);
    });
    await Promise.all(all);
    const took = performance.now() - began;
    assert.deepEqual(order, [1, 2, 3]);
    // Three tokens at one in 20 ms, the first of them on its way already.
    assert.ok(took > 40 && took < 2_000, `${took} ms`);
    const refused = await limiter.acquire(1, { waitMs: 5 });
    assert.equal(refused.allowed, false);
    assert.ok(refused.retryAfterMs > 5);
  });

  it("a wait that is given up leaves the line, and spends nothing", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 10, perMs: HOUR, burst: 1 });
    await limiter.tryAcquire();
    const controller = new AbortController();
    const waiting = limiter.acquire(1, { signal: controller.signal });
    const behind = await limiter.acquire(1, { waitMs: 20 });
    assert.deepEqual([behind.allowed, behind.limit, behind.serverTimeUs], [false, 1, undefined]);
    assert.ok(behind.retryAfterMs > 0, "nobody in the line can be served sooner than its head");
    controller.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    await assert.rejects(limiter.acquire(1, { signal: AbortSignal.abort() }), { name: "AbortError" });
    const { resetAfterMs } = await limiter.peek();
    assert.ok(resetAfterMs > 0 && resetAfterMs <= HOUR / 10);
  });

  it("reset fills the bucket, for everybody", async () => {
    const name = freshName();
    const rate = { tokens: 2, perMs: HOUR };
    const other = await context.open();
    const limiter = context.client.rateLimiter(name, rate);
    assert.equal((await limiter.tryAcquire(2)).remaining, 0);
    assert.equal((await other.rateLimiter(name, rate).tryAcquire()).allowed, false);
    await limiter.reset();
    assert.equal((await other.rateLimiter(name, rate).peek()).remaining, 2);
  });

  it("ends with its client", async () => {
    const client = await context.open();
    const limiter = client.rateLimiter(freshName(), { tokens: 1, perMs: HOUR });
    assert.equal(limiter.client, client);
    await limiter.tryAcquire();
    const refused = rejects(limiter.acquire(), "CLOSED");
    await client.close();
    await refused;
    await rejects(limiter.tryAcquire(), "CLOSED");
    await rejects(limiter.reset(), "CLOSED");
    throws(() => client.rateLimiter("k", { tokens: 1, perMs: 1 }), "CLOSED");
  });

  it("100 callers at once get exactly the burst", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 30, perMs: HOUR });
    const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.tryAcquire()));
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 30);
  });
});

describe("a limiter's server", () => {
  const shared = useServer();

  it("away: an error, or as the policy says", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url, { responseTimeoutMs: 200, operationTimeoutMs: 400 });
    const rate = { tokens: 10, perMs: HOUR };
    const limiter = (absent) =>
      client.rateLimiter(`${name}-${JSON.stringify(absent)}`.replace(/[{}]/g, ""), { ...rate, absent });
    const name = freshName();
    await limiter("fail").tryAcquire(); // the server has the script
    proxy.blackHole();
    const failed = await limiter("fail")
      .tryAcquire()
      .catch((error) => error);
    // Lost after it was sent (spent, for all that anybody knows), or never sent.
    assert.ok(["OUTCOME_UNKNOWN", "CONNECTION"].includes(failed.kind), failed.stack);
    for (const [absent, allowed] of [
      ["deny", false],
      ["allow", true],
      [{ localShare: 5 }, true],
    ]) {
      const decision = await limiter(absent).tryAcquire();
      assert.equal(decision.allowed, allowed, JSON.stringify(absent));
      assert.equal(decision.serverTimeUs, undefined);
      assert.equal(decision.limit, absent.localShare ? 2 : 10);
    }
    throws(() => limiter("nonsense"), "INVALID_ARGUMENT");
    throws(() => limiter({ localShare: 0 }), "INVALID_ARGUMENT");
    assert.throws(() => limiter({}), TypeError);
    await client.close();
    await proxy.close();
  });

  it("a reply that is lost counts as spent", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url);
    const limiter = client.rateLimiter(freshName(), { tokens: 5, perMs: HOUR });
    await limiter.tryAcquire();
    proxy.resetAtNextReplies(1);
    await rejects(limiter.tryAcquire(), "OUTCOME_UNKNOWN");
    assert.equal((await limiter.tryAcquire()).remaining, 2);
    await client.close();
    await proxy.close();
  });

  it("a key that holds something else: WRONG_TYPE, and no text of a script", async () => {
    const client = await connect(shared.server.url);
    const name = freshName();
    const limiter = client.rateLimiter(name, { tokens: 5, perMs: HOUR });
    await limiter.tryAcquire();
    const [key] = await shared.server.command("KEYS", `*${name}*`);
    await shared.server.command("DEL", key);
    await shared.server.command("RPUSH", key, "x");
    const error = await rejects(limiter.tryAcquire(), "WRONG_TYPE");
    assert.doesNotMatch(error.message, /lua|script|redis\.call/i);
    await client.close();
  });
});

/** `given` is what was expected, less by no more than what has passed. Undefined is never. */
function near(given, expected, passedMs) {
  if (expected === null) assert.equal(given, undefined);
  else assert.ok(given <= expected && given >= expected - passedMs, `${given}, not ${expected}`);
}
