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

  it("writes a hold of permits, and how many there are", async () => {
    const semaphore = context.client.semaphore(freshName(), 3);
    assert.deepEqual(roundTrip(await semaphore.inspect()), { available: 0, queued: 0 });
    const held = await semaphore.acquire({ permits: 2 });
    const { remainingMs, ...rest } = roundTrip(held);
    assert.ok(remainingMs > 0);
    const { owner, permits } = held;
    assert.deepEqual(rest, { name: semaphore.name, permits: [...permits], owner, valid: true, holdCount: 1 });
    assert.deepEqual(roundTrip(await semaphore.inspect()), { permits: 3, available: 1, queued: 0 });
    await held.release();
    assert.deepEqual([roundTrip(held).valid, roundTrip(held).holdCount], [false, 0]);
  });

  it("writes a hold of a side, and who has them", async () => {
    const rw = context.client.rwLock(freshName());
    assert.deepEqual(roundTrip(await rw.inspect()), { ours: false, readers: 0, queued: 0 });
    for (const side of ["read", "write"]) {
      const held = await rw[side].acquire();
      const { remainingMs, ...rest } = roundTrip(held);
      assert.ok(remainingMs > 0);
      const { owner } = held;
      const token = Number(held.token);
      assert.deepEqual(rest, { name: rw.name, side, token, owner, valid: true, holdCount: 1 });
      const { ttlMs, ...seen } = roundTrip(await rw.inspect());
      assert.ok(ttlMs > 0);
      const who = side === "read" ? { readers: 1, ours: false } : { readers: 0, ours: true, writer: owner };
      assert.deepEqual(seen, { ...who, token, queued: 0 });
      await held.release();
    }
    assert.equal(roundTrip({ rw }).rw.name, rw.name);
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
