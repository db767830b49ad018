// JSON.stringify of what has bigints in it.

import assert from "node:assert/strict";
import { it } from "node:test";

import { freshName, onBothBackends } from "./kit/index.mjs";

const roundTrip = (value) => JSON.parse(JSON.stringify(value));

onBothBackends((context) => {
  it("writes a hold, with its token as a number", async () => {
    const name = freshName();
    const held = await context.client.lock(name).acquire();
    const { remainingMs, ...rest } = roundTrip(held);
    assert.ok(remainingMs > 0);
    assert.deepEqual(rest, { name, token: Number(held.token), owner: held.owner, valid: true, holdCount: 1 });
    await held.release();
    const { owner, ...over } = roundTrip({ held }).held;
    assert.equal(owner, held.owner);
    assert.deepEqual(over, { name, token: Number(held.token), valid: false, remainingMs: 0, holdCount: 0 });
  });

  it("writes an inspection, held or free", async () => {
    const lock = context.client.lock(freshName());
    assert.deepEqual(roundTrip(await lock.inspect()), { ours: false, queued: 0 });
    const held = await lock.acquire();
    const seen = await lock.inspect();
    const { ttlMs, ...rest } = roundTrip(seen);
    assert.equal(ttlMs, seen.ttlMs);
    assert.deepEqual(rest, { holder: held.owner, ours: true, token: Number(held.token), queued: 0 });
    assert.deepEqual(Object.keys(seen), ["holder", "ours", "ttlMs", "token", "queued"]);
    await held.release();
  });

  it("writes a decision, and a bigint past 2^53 as a string", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 1, perMs: 60_000 });
    for (const decision of [await limiter.tryAcquire(), await limiter.tryAcquire()]) {
      const { serverTimeUs, ...rest } = roundTrip(decision);
      assert.equal(serverTimeUs, Number(decision.serverTimeUs));
      const { serverTimeUs: dropped, ...plain } = decision;
      assert.equal(typeof dropped, "bigint");
      assert.deepEqual(rest, roundTrip(plain));
    }
    const far = Object.assign(await limiter.peek(), { serverTimeUs: 2n ** 53n });
    assert.equal(roundTrip(far).serverTimeUs, "9007199254740992");
  });
});
