// Rate limiters that fetch tokens ahead, in Node. The core's tests check that the rate is kept exactly.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { connect } from "libdlock";

import { freshName, rejects, throws, useServer } from "./kit/index.mjs";

const RATE = 2_000;

async function scripts(server) {
  const stats = String(await server.command("INFO", "commandstats"));
  const calls = [...stats.matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g)];
  return calls.reduce((sum, [, count]) => sum + Number(count), 0);
}

describe("a limiter that fetches ahead", () => {
  const context = useServer();

  it("of two clients uses the rate and no more, and asks seldom", async () => {
    const name = freshName();
    const clients = [await connect(context.server.url), await connect(context.server.url)];
    const options = { tokens: RATE, perMs: 1_000, prefetch: 0.5 };
    const limiters = clients.map((client) => client.rateLimiter(name, options));
    const times = [];
    let decided = 0;
    const before = await scripts(context.server);
    const begun = performance.now();
    while (performance.now() - begun < 1_000) {
      for (const limiter of limiters) {
        const decision = await limiter.tryAcquire();
        decided++;
        if (decision.allowed) times.push(Number(decision.serverTimeUs));
      }
    }
    const seconds = (performance.now() - begun) / 1_000;
    const asked = (await scripts(context.server)) - before;
    times.sort((one, other) => one - other);
    // A slow machine may ask for less than there is.
    assert.ok(times.length >= Math.min(RATE, decided) / 2);
    assert.ok(times.length <= RATE + 1 + (RATE * (times.at(-1) - times[0])) / 1e6, `${times.length} tokens`);
    assert.ok(asked <= 2 * (50 * seconds + 10), `${asked} scripts in ${seconds} s`);
    for (const client of clients) await client.close();
    await rejects(limiters[0].tryAcquire(), "CLOSED");
  });

  it("gives back what it has when its client closes", async () => {
    const name = freshName();
    const rate = { tokens: 1_000, perMs: 1_000, burst: 100_000 };
    const other = await connect(context.server.url);
    const client = await connect(context.server.url);
    const limiter = client.rateLimiter(name, { ...rate, prefetch: 0.5 });
    for (let number = 0; number < 2_000; number++) assert.ok((await limiter.tryAcquire()).allowed);
    await client.close();
    assert.ok((await other.rateLimiter(name, rate).peek()).remaining >= 98_000);
    await other.close();
  });

  it("refuses shares and costs that cannot be", async () => {
    const client = await connect("memory://");
    const open = (prefetch) => client.rateLimiter("k", { tokens: 5, perMs: 1_000, prefetch });
    for (const share of [0, -0.1, 1.1, NaN, Infinity]) throws(() => open(share), "INVALID_ARGUMENT");
    for (const share of ["1", null, true, 1n]) assert.throws(() => open(share), TypeError);
    assert.equal((await open(1).tryAcquire(6)).retryAfterMs, undefined, "never");
    for (const cost of [-1, 0.5]) await rejects(open(1).tryAcquire(cost), "INVALID_ARGUMENT");
    assert.equal((await open(1).tryAcquire(2, { key: "a" })).remaining, 3);
    await client.close();
  });
});
