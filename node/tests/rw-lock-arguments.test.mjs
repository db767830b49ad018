// What a read-write lock takes, and what users of other libraries find: refused before any I/O, with a sentence that helps.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { connect } from "libdlock";

import { freshName, onBothBackends, rejects, throws } from "./kit/index.mjs";

onBothBackends((context) => {
  it("the leases of a read-write lock are those of a lock", async () => {
    const { client } = context;
    for (const leaseMs of [99, 86_400_001]) {
      throws(() => client.rwLock("k", { leaseMs }), "INVALID_ARGUMENT");
      throws(() => client.rwLock("k", { watchdogLeaseMs: leaseMs }), "INVALID_ARGUMENT");
      const { read, write } = client.rwLock(freshName());
      for (const side of [read, write]) await rejects(side.acquire({ leaseMs }), "INVALID_ARGUMENT");
    }
    throws(() => client.rwLock("k", { leaseMs: 5_000, watchdogLeaseMs: 5_000 }), "INVALID_ARGUMENT");
    const rw = client.rwLock(freshName(), { watchdogLeaseMs: 5_000 });
    const isThat = ({ remainingMs }) => assert.ok(remainingMs > 4_000 && remainingMs < 5_000, String(remainingMs));
    await rw.withRead(isThat);
    await rw.withWrite(isThat);
    throws(() => client.rwLock("a{"), "INVALID_NAME");
    throws(() => client.rwLock("\ud800"), "INVALID_NAME");
  });

  it("sharedAgeMs is 0 to 10000, and bounds who joins whom", async () => {
    const { client } = context;
    for (const sharedAgeMs of [-1, 10_001, 0.5]) throws(() => client.rwLock("k", { sharedAgeMs }), "INVALID_ARGUMENT");
    assert.throws(() => client.rwLock("k", { sharedAgeMs: "1s" }), { name: "TypeError" });
    for (const [sharedAgeMs, readers] of [
      [0, 2],
      [10_000, 1],
    ]) {
      const rw = client.rwLock(freshName(), { sharedAgeMs });
      const [one, two] = [await rw.read.acquire(), await rw.read.acquire()];
      assert.equal((await rw.inspect()).readers, readers);
      assert.equal(one.token === two.token, readers === 1);
      await Promise.all([one.release(), two.release()]);
    }
  });
});

describe("what read-write locks of other libraries have", () => {
  const missing = { name: "TypeError", code: "ERR_METHOD_NOT_IMPLEMENTED" };

  it("is refused with what there is instead", async () => {
    const client = await connect("memory://");
    const rw = client.rwLock("k");
    for (const [name, says] of [
      ["acquire", /^a read-write lock has no acquire\(\); .*rw\.read\.acquire\(\) or rw\.write\.acquire\(\)$/],
      ["tryAcquire", /rw\.read\.tryAcquire\(\) or rw\.write\.tryAcquire\(\)$/],
      ["withLock", /withRead\(run\) runs beside other readers, withWrite\(run\) alone$/],
      ["runExclusive", /withWrite\(run\)/],
      ["runShared", /withRead\(run\)$/],
      ["request", /withRead\(options, run\) is shared, withWrite\(options, run\) exclusive$/],
      ["readLock", /await rw\.read\.acquire\(\), or withRead\(run\)$/],
      ["writeLock", /await rw\.write\.acquire\(\), or withWrite\(run\)$/],
      ["acquireRead", /rw\.read\.acquire\(\)/],
      ["acquireWrite", /rw\.write\.acquire\(\)/],
      ["upgrade", /withWrite\(run\) may read as well, and held\.downgrade\(\)/],
      ["upgradeableRead", /withWrite\(run\) may read as well, and held\.downgrade\(\)/],
      ["downgrade", /await held\.downgrade\(\)$/],
      ["release", /await held\.release\(\)$/],
      ["unlock", /await held\.release\(\)$/],
      ["isLocked", /inspect\(\)/],
      ["getState", /inspect\(\)/],
    ]) {
      assert.throws(() => rw[name](), { ...missing, message: says });
    }
    for (const side of [rw.read, rw.write]) {
      for (const [name, says] of [
        ["lock", /^a side of a read-write lock has no lock\(\); acquire\(\) waits/],
        ["runExclusive", /withLock\(run\), which is rw\.withRead\(run\) or rw\.withWrite\(run\)$/],
        ["release", /await held\.release\(\)$/],
        ["unlock", /await held\.release\(\)$/],
        ["isLocked", /rw\.inspect\(\)/],
        ["inspect", /rw\.inspect\(\)/],
        ["waitForUnlock", /acquire\(\{ waitMs \}\)/],
        ["cancel", /acquire\(\{ signal \}\)/],
      ]) {
        assert.throws(() => side[name](), { ...missing, message: says });
      }
    }
    await client.close();
  });

  it("as options of Web Locks is told too", async () => {
    const client = await connect("memory://");
    const lock = client.lock("k");
    const refused = (call, message) => assert.rejects(async () => call(), { name: "TypeError", message });
    await refused(
      () => lock.acquire({ mode: "shared" }),
      /"mode"; client\.locks\.request has it, and client\.rwLock\(name\) has withRead.* shared.* Its opt/,
    );
    await refused(
      () => client.withLock("k", { mode: "exclusive" }, assert.fail),
      /withWrite\(run\), which is exclusive/,
    );
    await refused(() => lock.withLock({ ifAvailable: true }, assert.fail), /tryAcquire\(\) resolves with null/);
    await refused(() => lock.acquire({ steal: true }), /forceRelease\(\) frees a lock whoever holds it/);
    await refused(() => client.rwLock("k").withRead({ ifAvailable: true }, assert.fail), /tryAcquire\(\)/);
    await client.close();
  });
});
