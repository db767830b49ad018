// What a semaphore takes, and what users of other libraries find: refused before any I/O, with a sentence that helps.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { inspect } from "node:util";

import { connect } from "libdlock";

import { freshName, onBothBackends, rejects, throws } from "./kit/index.mjs";

const NO_NUMBERS = ["1", null, [], {}, true, 5n];

onBothBackends((context) => {
  it("numbers of permits out of range are refused, and make nothing", async () => {
    const { client } = context;
    for (const permits of [0, -1, 2 ** 31, 2 ** 53 - 1, 0.5, NaN, Infinity, 2 ** 53]) {
      const error = throws(() => client.semaphore("k", permits), "INVALID_ARGUMENT");
      assert.ok(error.message.includes(String(permits)), error.message);
    }
    const semaphore = client.semaphore(freshName(), 2 ** 31 - 1);
    for (const permits of [0, -1, 10_001, 2 ** 31, 2 ** 32 + 1]) {
      for (const call of [
        () => semaphore.acquire({ permits }),
        () => semaphore.tryAcquire({ permits }),
        () => semaphore.withPermits({ permits }, assert.fail),
      ]) {
        assert.equal((await rejects(call(), "INVALID_ARGUMENT")).allowed, "1 to 10000");
      }
    }
    for (const permits of [0, 2 ** 31]) {
      assert.equal((await rejects(semaphore.setPermits(permits), "INVALID_ARGUMENT")).allowed, "1 to 2147483647");
    }
    for (const permits of [...NO_NUMBERS, undefined]) {
      const wrong = { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" };
      assert.throws(() => client.semaphore("k", permits), wrong);
      await assert.rejects(semaphore.setPermits(permits), wrong);
      if (permits !== undefined) await assert.rejects(semaphore.acquire({ permits }), wrong);
    }
    assert.equal((await semaphore.inspect()).permits, undefined);
    await semaphore.withPermits({ permits: 10_000 }, ({ permits }) => assert.equal(permits.length, 10_000));
  });

  it("the leases of a semaphore are those of a lock", async () => {
    const { client } = context;
    for (const leaseMs of [99, 86_400_001]) {
      throws(() => client.semaphore("k", 1, { leaseMs }), "INVALID_ARGUMENT");
      throws(() => client.semaphore("k", 1, { watchdogLeaseMs: leaseMs }), "INVALID_ARGUMENT");
      await rejects(client.semaphore(freshName(), 1).acquire({ leaseMs }), "INVALID_ARGUMENT");
    }
    throws(() => client.semaphore("k", 1, { leaseMs: 5_000, watchdogLeaseMs: 5_000 }), "INVALID_ARGUMENT");
    const semaphore = client.semaphore(freshName(), 1, { watchdogLeaseMs: 5_000 });
    await semaphore.withPermits(({ remainingMs }) => assert.ok(remainingMs > 4_000 && remainingMs < 5_000));
    throws(() => client.semaphore("a{", 1), "INVALID_NAME");
    throws(() => client.semaphore("\ud800", 1), "INVALID_NAME");
  });
});

describe("what semaphores of other libraries have", () => {
  const missing = { name: "TypeError", code: "ERR_METHOD_NOT_IMPLEMENTED" };

  it("is refused with what there is instead", async () => {
    const client = await connect("memory://");
    const semaphore = client.semaphore("k", 2);
    for (const [name, says] of [
      ["release", /a semaphore has no release\(\); the hold .* await held\.release\(\)$/],
      ["runExclusive", /withPermits\(\{ permits \}, run\)/],
      ["withLock", /withPermits\(\{ permits \}, run\)/],
      ["use", /withPermits\(\{ permits \}, run\)/],
      ["setValue", /setPermits\(permits\)/],
      ["getValue", /inspect\(\)/],
      ["isLocked", /inspect\(\)/],
      ["waitForUnlock", /acquire\(\{ waitMs \}\)/],
      ["cancel", /acquire\(\{ signal \}\)/],
    ]) {
      assert.throws(() => semaphore[name](), { ...missing, message: says });
    }
    assert.deepEqual(Object.keys(semaphore), ["name", "client"]);
    await client.close();
  });

  it("is no pair of value and release", async () => {
    const client = await connect("memory://");
    const semaphore = client.semaphore("k", 2);
    const held = await semaphore.acquire();
    assert.throws(
      () => {
        const [, release] = held;
        release();
      },
      { name: "TypeError", message: /one hold, not with \[value, release\]: .* await held\.release\(\)$/ },
    );
    assert.match(inspect(held), /^HeldPermits \{/);
    assert.equal(held.valid, true);
    await held.release();
    await client.close();
  });
});
