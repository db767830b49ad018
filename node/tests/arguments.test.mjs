// Values that are refused before any I/O, and the errors that say so.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { inspect } from "node:util";

import { DlockError, Snowflake, connect } from "libdlock";

import { ROOT, RedisServer, freshName, onBothBackends, rejects, throws, vectorFile, vectors } from "./kit/index.mjs";

const NO_DURATIONS = [NaN, Infinity, -Infinity, -1, -0.5, 0.5, 1.5, 2 ** 53, 1e308];
const LAYOUT = { epochMs: 0, timeBits: 41, datacenterBits: 5, workerBits: 5, sequenceBits: 12 };
const NO_NUMBERS = ["1", null, [], {}, true, 5n];

onBothBackends((context) => {
  it("durations that are none are refused, with what was given and what is allowed", async () => {
    const lock = context.client.lock(freshName());
    const held = await lock.acquire();
    for (const value of NO_DURATIONS) {
      for (const error of [
        throws(() => context.client.lock("k", { leaseMs: value }), "INVALID_ARGUMENT"),
        await rejects(lock.acquire({ leaseMs: value }), "INVALID_ARGUMENT"),
        await rejects(lock.acquire({ waitMs: value }), "INVALID_ARGUMENT"),
        await rejects(lock.tryAcquire({ leaseMs: value }), "INVALID_ARGUMENT"),
        await rejects(held.extend(value), "INVALID_ARGUMENT"),
      ]) {
        assert.ok(error.message.includes(String(value)) && error.message.includes("allowed"), error.message);
      }
    }
    assert.equal(held.valid, true);
    await held.release();
  });

  it("durations of a wrong type are a TypeError, as in Node's own functions", async () => {
    const lock = context.client.lock(freshName());
    for (const value of NO_NUMBERS) {
      const wrong = { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" };
      assert.throws(() => context.client.lock("k", { leaseMs: value }), wrong);
      await assert.rejects(lock.acquire({ leaseMs: value }), wrong);
      await assert.rejects(lock.acquire({ waitMs: value }), wrong);
      await lock.withLock((held) => assert.rejects(held.extend(value), wrong));
    }
  });

  it("leases out of range are refused, and leave no key", async () => {
    const lock = context.client.lock(freshName());
    for (const leaseMs of [0, 1, 99, 86_400_001, 2 ** 53 - 1]) {
      await rejects(lock.acquire({ leaseMs }), "INVALID_ARGUMENT");
      assert.equal(await lock.locked(), false);
      await lock.withLock((held) => rejects(held.extend(leaseMs), "INVALID_ARGUMENT"));
    }
    await lock.withLock({ leaseMs: 86_400_000 }, () => undefined);
    const held = await lock.acquire({ leaseMs: 100 });
    // On a busy machine it may be over already.
    await held.release().catch(({ kind }) => assert.equal(kind, "NOT_HELD"));
  });

  it("the options of a lock are those of the vectors, in camel case", () => {
    for (const { name, type, min, max } of vectorFile("options").lock) {
      if (type !== "duration") continue;
      const option = `${name.replace(/_./g, ([, letter]) => letter.toUpperCase())}Ms`;
      for (const value of [min, max]) context.client.lock("k", { [option]: value });
      for (const value of [min - 1, max + 1]) {
        const error = throws(() => context.client.lock("k", { [option]: value }), "INVALID_ARGUMENT");
        assert.match(error.message, new RegExp(name.replace("_", " ")));
      }
      assert.throws(() => context.client.lock("k", { [option]: "5s" }), { name: "TypeError" });
    }
    throws(() => context.client.lock("k", { leaseMs: 5_000, watchdogLeaseMs: 5_000 }), "INVALID_ARGUMENT");
  });

  it("a wait may be as long as a number of milliseconds", async () => {
    const lock = context.client.lock(freshName());
    for (const waitMs of [2 * 86_400_000, 2 ** 53 - 1]) {
      const held = await lock.acquire();
      const waiting = lock.acquire({ waitMs });
      await held.release();
      await (await waiting).release();
    }
  });

  it("names that JavaScript can hold are judged as everywhere", async () => {
    for (const { hex, ok, why } of vectors("names")) {
      const name = textOf(hex);
      if (name === undefined) continue;
      if (ok) assert.equal(context.client.lock(name).name, name, why);
      else throws(() => context.client.lock(name), "INVALID_NAME");
    }
  });

  it("lone surrogates are refused, for they have no UTF-8", () => {
    for (const name of ["\ud800", "a\udfffb", "\ude00\ud83d"]) {
      const error = throws(() => context.client.lock(name), "INVALID_NAME");
      assert.match(error.message, /lone surrogate/);
    }
  });

  it("a name is a string", () => {
    for (const name of [undefined, null, 1, {}, ["k"], Symbol("k")]) {
      assert.throws(() => context.client.lock(name), { name: "TypeError", code: "ERR_INVALID_ARG_TYPE" });
    }
  });
});

describe("options", () => {
  const refused = (call, says) => assert.rejects(async () => call(), { name: "TypeError", message: says });

  it("of one call are refused by the others, with what was meant", async () => {
    const client = await connect("memory://");
    const lock = client.lock("k");
    const limiter = client.rateLimiter("k", { tokens: 1, perMs: 1_000 });
    const semaphore = client.semaphore("permits", 5);
    const rw = client.rwLock("rw");
    for (const [call, says] of [
      [() => lock.acquire({ timeout: 100 }), /acquire\(options\) has no option "timeout"; did you mean waitMs\?/],
      [() => lock.acquire({ waitMS: 100 }), /"waitMS"; did you mean waitMs\?/],
      [() => lock.acquire({ ttl: 100 }), /did you mean leaseMs\? Its options are waitMs, leaseMs, signal$/],
      [() => lock.acquire({ nonsense: undefined }), /no option "nonsense"\. Its options/],
      [() => lock.acquire({ constructor: 5 }), /no option "constructor"\. Its options/],
      [() => lock.acquire(JSON.parse('{ "__proto__": 5 }')), /no option "__proto__"\. Its options/],
      [
        () => Snowflake.decode(1n, { ...LAYOUT, bits: 5 }),
        /layout has no option "bits"\. Its options are epochMs, timeBits/,
      ],
      [
        () => new Snowflake({ datacenter: 1, worker: 1, layout: { ...LAYOUT, worker: 5 } }),
        /layout has no option "worker"/,
      ],
      [() => lock.tryAcquire({ waitMs: 5 }), /tryAcquire\(options\) has no option "waitMs"/],
      [() => lock.withLock({ timeout: 5 }, assert.fail), /withLock\(options, run\) has no option "timeout"/],
      [() => client.withLock("k", { timeout: 5 }, assert.fail), /withLock\(name, options, run\) has no .*waitMs\?/],
      [() => client.lock("k", { waitMs: 5 }), /lock\(name, options\) has no option "waitMs"/],
      [() => client.rateLimiter("k", { limit: 5, window: 1 }), /rateLimiter.* "limit"; did you mean tokens\?/],
      [() => client.rateLimiter("k", { tokens: 1, perMs: 1, absent: { share: 1 } }), /absent has no option "share"/],
      [() => limiter.acquire(1, { timeoutMs: 5 }), /acquire\(cost, options\) .*waitMs\?/],
      [
        () => semaphore.acquire({ weight: 2 }),
        /has no option "weight"; did you mean permits\? Its .* permits, waitMs,/,
      ],
      [() => semaphore.acquire({ permit: 2 }), /"permit"; did you mean permits\?/],
      [() => semaphore.withPermits({ timeout: 5 }, assert.fail), /withPermits\(options, run\) has .* mean waitMs\?/],
      [() => semaphore.tryAcquire({ waitMs: 5 }), /tryAcquire\(options\) has no option "waitMs"/],
      [() => client.semaphore("k", 5, { permits: 2 }), /semaphore\(name, permits, options\) has no option "permits"/],
      [() => client.semaphore("k", 5, { lockTimeout: 2 }), /"lockTimeout"; did you mean watchdogLeaseMs\?/],
      [() => client.semaphore("k", 5, { reentrant: true }), /has no option "reentrant"/],
      [() => rw.read.acquire({ timeout: 5 }), /acquire\(options\) has no option "timeout"; did you mean waitMs\?/],
      [() => rw.write.tryAcquire({ waitMs: 5 }), /tryAcquire\(options\) has no option "waitMs"/],
      [() => rw.withRead({ timeout: 5 }, assert.fail), /withRead\(options, run\) has no .* mean waitMs\?/],
      [() => rw.withWrite({ ttl: 5 }, assert.fail), /withWrite\(options, run\) has no .* mean leaseMs\?/],
      [() => client.rwLock("k", { waitMs: 2 }), /rwLock\(name, options\) has no option .* reentrant, sharedAgeMs$/],
      [() => client.close({ force: true }), /close\(options\) has no option "force"/],
      [() => connect("memory://", { lock: { cohort_max: 5 } }), /option lock has no option .*mean cohortMax\?/],
      [() => connect("memory://", { lock: 5 }), /option lock: options must be an object such as/],
      [() => connect("memory://", { lock: { cohortMax: "5" } }), /lock\.cohortMax/],
      [() => connect("memory://", { timeout: 5 }), /connect\(url, options\) .* did you mean connectTimeoutMs\?/],
      [() => new Snowflake({ datacenter: 1, workerId: 1 }), /new Snowflake\(options\) .* did you mean worker\?/],
    ]) {
      await refused(call, says);
    }
    const { lock: locks, semaphore: permits, rwLock: sides } = client.stats();
    assert.equal(locks.acquired + permits.acquired + sides.acquired, 0);
    await client.close();
  });

  it("that the core refuses have the names under which they were given", async () => {
    for (const [options, says] of [
      [{ leaseMs: 1 }, /option leaseMs: "1ms" is out of range/],
      [{ cohortMax: -1 }, /option cohortMax: "-1" is out of range/],
      [{ lock: { cohortMax: -1 } }, /option lock\.cohortMax: "-1" is out of range/],
      [{ cohortAgeMs: 5, lock: { cohortAgeMs: 5 } }, /option lock\.cohortAgeMs: also given as cohortAgeMs; /],
      [{ clientName: "option lease: x y" }, /option clientName: "option lease: x y" holds/],
      [{ passwordEnv: "NO_SUCH_VARIABLE" }, /option passwordEnv: the environment has no variable/],
    ]) {
      const { message } = await rejects(connect("memory://", options), "INVALID_ARGUMENT");
      assert.match(message, says);
    }
    const { message } = await rejects(connect("memory://?lease=1ms", { cohortMax: 1 }), "INVALID_ARGUMENT");
    assert.match(message, /option lease: "1ms" is out of range/);
  });

  it("stand where they belong, in an object", async () => {
    const client = await connect("memory://");
    const lock = client.lock("k");
    const limiter = client.rateLimiter("k", { tokens: 1, perMs: 1_000 });
    const semaphore = client.semaphore("permits", 5);
    const rw = client.rwLock("rw");
    const run = () => assert.fail("it ran");
    for (const [call, says] of [
      [() => lock.acquire(500), /an object such as \{ waitMs: 500 \}, not a number/],
      [() => lock.acquire(null), /options must be an object .* not null/],
      [() => lock.acquire(run), /not a function/],
      [() => lock.tryAcquire(500), /options must be an object/],
      [() => lock.withLock(run, { waitMs: 5 }), /the options stand before the function/],
      [() => lock.withLock(500, run), /options must be an object/],
      [() => lock.withLock({ waitMs: 500 }), /run must be a function, not undefined/],
      [() => client.withLock("k", run, { waitMs: 5 }), /the options stand before the function/],
      [() => lock.withLock({}, run, { waitMs: 5 }), /withLock\(options, run\) has no argument behind the function/],
      [() => lock.withLock(run, undefined, 5), /withLock\(options, run\) has no argument behind the function/],
      [() => client.withLock("k", {}, run, { waitMs: 5 }), /has no argument behind the function/],
      [() => client.withLock(run), /name must be a string, not a function/],
      [() => client.lock("k", 500), /options must be an object/],
      [() => client.rateLimiter("k"), /options must be an object with tokens and perMs, not undefined/],
      [() => client.rateLimiter("k", 5), /options must be an object/],
      [() => limiter.acquire({ waitMs: 5 }), /cost must be a number, not an object/],
      [() => limiter.acquire(1, 500), /an object such as \{ waitMs: 500 \}/],
      [() => limiter.tryAcquire(1, { waitMs: 5 }), /tryAcquire\(cost, options\) has no option "waitMs"/],
      [() => limiter.tryAcquire(1, undefined, 5), /tryAcquire\(cost, options\) has no argument behind the options/],
      [() => lock.acquire({ leaseMs: 500 }, { waitMs: 5 }), /acquire\(options\) has one argument/],
      [() => lock.acquire(undefined, 500), /acquire\(options\) has one argument/],
      [() => lock.tryAcquire({}, { waitMs: 5 }), /tryAcquire\(options\) has one argument/],
      [() => lock.attach("dlock1;w;1000;1;o;k", { leaseMs: 500 }), /attach\(detached\) has no options/],
      [() => semaphore.acquire(2), /acquire\(options\): .* an object such as \{ permits: 2 \}, not a number$/],
      [() => semaphore.acquire({ permits: 2 }, 500), /acquire\(options\) has one argument: permits, waitMs/],
      [() => semaphore.tryAcquire(2), /such as \{ permits: 2 \}/],
      [() => semaphore.tryAcquire({}, 2), /tryAcquire\(options\) has one argument/],
      [() => semaphore.withPermits(2, run), /such as \{ permits: 2 \}/],
      [() => semaphore.withPermits(run, 2), /the options stand before the function/],
      [() => semaphore.withPermits({}, run, 2), /withPermits\(options, run\) has no argument behind the function/],
      [() => semaphore.withPermits({ permits: 2 }), /run must be a function, not undefined/],
      [() => semaphore.setPermits(2, run), /setPermits\(permits\) has one argument/],
      [() => semaphore.setPermits({ permits: 2 }), /permits must be a number, not an object$/],
      [() => client.semaphore(5), /name must be a string, not a number/],
      [() => client.semaphore("k"), /must be a number, not undefined: semaphore\(name, permits, options\)$/],
      [
        () => client.semaphore("k", { permits: 5 }),
        /must be a number, not an object: semaphore\(name, permits, options\)$/,
      ],
      [() => client.semaphore("k", 5, 500), /an object such as \{ leaseMs: 500 \}, not a number/],
      [() => rw.read.acquire(500), /an object such as \{ waitMs: 500 \}, not a number/],
      [() => rw.write.acquire({}, 500), /acquire\(options\) has one argument/],
      [() => rw.withRead(run, { waitMs: 5 }), /the options stand before the function/],
      [() => rw.withWrite({}, run, 5), /withWrite\(options, run\) has no argument behind the function/],
      [() => rw.withRead({ waitMs: 5 }), /withRead\(options, run\): run must be a function, not undefined/],
      [() => client.rwLock(run), /name must be a string, not a function/],
      [() => client.rwLock("k", 500), /an object such as \{ leaseMs: 500 \}, not a number/],
      [() => client.close(true), /options must be an object such as \{ release \}, not a boolean/],
      [() => connect("memory://", "lease=5s"), /options must be an object/],
      [() => connect({ url: "memory://" }), /url must be a string/],
      [() => lock.acquire({ signal: new AbortController() }), /give the signal of the AbortController/],
    ]) {
      await refused(call, says);
    }
    const { lock: locks, semaphore: permits, rwLock: sides } = client.stats();
    assert.equal(locks.acquired + permits.acquired + sides.acquired, 0);
    await client.close();
  });

  it("are refused when they are an object of another kind", async () => {
    const client = await connect("memory://");
    const lock = client.lock("k");
    const controller = new AbortController();
    for (const [given, says] of [
      [controller.signal, /not an AbortSignal object; give it as \{ signal \}$/],
      [controller, /not an AbortController object; give its signal as \{ signal \}$/],
      [Promise.resolve({ waitMs: 5 }), /not a Promise object; await it first$/],
      [new Map([["waitMs", 5]]), /such as \{ waitMs \}, not a Map object$/],
      [new Date(), /not a Date object$/],
      [new Error("no"), /not an Error object$/],
      [new URL("redis://localhost"), /not a URL object$/],
      [new Number(5), /not a Number object$/],
      [new String("5"), /not a String object$/],
      [{ [Symbol.toStringTag]: "a secret\n" }, /not an object of another kind$/],
    ]) {
      await refused(() => lock.acquire(given), says);
      await refused(() => lock.withLock(given, assert.fail), says);
    }
    await refused(() => lock.tryAcquire(controller.signal), /not an AbortSignal object$/);
    await refused(() => connect("memory://", controller.signal), /give it as \{ signal \}/);
    assert.equal(client.stats().lock.acquired, 0);
    await client.close();
  });

  it("may be undefined, and may be inherited", async () => {
    const client = await connect("memory://", { onEvent: undefined });
    const lock = client.lock("k", undefined);
    await lock.withLock(undefined, () => undefined);
    const held = await lock.acquire({ waitMs: undefined, leaseMs: undefined, signal: undefined });
    await rejects(lock.acquire(Object.create({ waitMs: 0 })), "BUSY");
    await rejects(lock.acquire(Object.assign(Object.create(null), { waitMs: 0 })), "BUSY");
    class Waits {
      waitMs = 0;
    }
    await rejects(lock.acquire(new Waits()), "BUSY");
    await held.release();
    await (await lock.acquire({}, undefined)).release();
    await (await lock.tryAcquire(undefined, undefined)).release();
    const limiter = client.rateLimiter("k", { tokens: 5, perMs: 1_000 });
    assert.equal((await limiter.tryAcquire(1, undefined)).granted, 1);
    assert.equal(Snowflake.decode(1n, Object.create(LAYOUT)).sequence, 1);
    await client.close({ release: undefined });
  });
});

// One value of each kind that a call may meet.
const NONSENSE = [undefined, null, {}, [], NaN, -1, 1.5, "", Symbol("x"), () => undefined, 5n, true, { nonsense: 1 }];

describe("nonsense", () => {
  it("given to any method is refused with an error of libdlock", async () => {
    const client = await connect("memory://");
    const limiter = client.rateLimiter("k", { tokens: 1_000_000, perMs: 1, burst: 1_000_000 });
    const ids = new Snowflake({ datacenter: 1, worker: 1 });
    const lock = client.lock("k");
    const held = await client.lock("held").acquire();
    const semaphore = client.semaphore("permits", 5);
    const rw = client.rwLock("rw");
    const heldPermits = await client.semaphore("held permits", 5).acquire();
    const slots = client.countingSemaphore("slots");
    await slots.trySetPermits(1_000_000);
    const latch = client.latch("latch");
    const generator = client.idGenerator("generator");
    const filter = client.bloomFilter("filter", { expected: 10, falsePositiveRate: 0.1 });
    const queue = client.queue("queue");
    await queue.put("held");
    const delivery = await queue.take();
    const consumer = client.queue("consumed").consume(() => undefined);
    await consumer.stop();
    const closed = await connect("memory://");
    const idle = closed.queue("of a closed client");
    await closed.close();
    const worker = await client.worker("numbers");
    const leased = async (leasing) => (await leasing).release();
    const set = client.lockAll(["set 1", "set 2"]);
    const heldAll = await client.lockAll(["held 1", "held 2"]).acquire();
    const rate = { tokens: 1, perMs: 1_000 };
    const place = { datacenter: 2, worker: 2 };
    const { options, password_sources: sources } = vectorFile("options");
    const optionNames = [...options, ...sources].map(
      ({ name, type }) => camel(name) + (type === "duration" ? "Ms" : ""),
    );
    const calls = {
      "connect(url)": (x) => connect(x),
      "connect(options)": (x) => connect("memory://", x),
      ...Object.fromEntries(
        [...optionNames, "signal", "onEvent"].map((name) => [
          `connect(${name})`,
          (x) => connect("memory://", { [name]: x }),
        ]),
      ),
      "Client.lock(name)": (x) => client.lock(x),
      "Client.lock(options)": (x) => client.lock("k", x),
      "Client.lock(leaseMs)": (x) => client.lock("k", { leaseMs: x }),
      "Client.lock(watchdogLeaseMs)": (x) => client.lock("k", { watchdogLeaseMs: x }),
      "Client.lock(reentrant)": (x) => client.lock("k", { reentrant: x }),
      "Client.semaphore(name)": (x) => client.semaphore(x, 5),
      "Client.semaphore(permits)": (x) => client.semaphore("k", x),
      "Client.semaphore(options)": (x) => client.semaphore("k", 5, x),
      "Client.semaphore(leaseMs)": (x) => client.semaphore("k", 5, { leaseMs: x }),
      "Client.semaphore(watchdogLeaseMs)": (x) => client.semaphore("k", 5, { watchdogLeaseMs: x }),
      "LockManager.request(name)": (x) => client.locks.request(x, () => undefined),
      "LockManager.request(options)": (x) => client.locks.request("k", x, () => undefined),
      "LockManager.request(callback)": (x) => client.locks.request("k", {}, x),
      ...Object.fromEntries(
        ["mode", "ifAvailable", "steal", "signal"].map((name) => [
          `LockManager.request(${name})`,
          (x) => client.locks.request("k", { [name]: x }, () => undefined),
        ]),
      ),
      "LockManager.query(names)": (x) => client.locks.query(x),
      "RwLock.steal(options)": (x) => leased(rw.steal(x)),
      "RwLock.steal(leaseMs)": (x) => leased(rw.steal({ leaseMs: x })),
      "Client.rwLock(name)": (x) => client.rwLock(x),
      "Client.rwLock(options)": (x) => client.rwLock("k", x),
      ...Object.fromEntries(
        ["leaseMs", "watchdogLeaseMs", "reentrant", "sharedAgeMs"].map((name) => [
          `Client.rwLock(${name})`,
          (x) => client.rwLock("k", { [name]: x }),
        ]),
      ),
      "Client.rateLimiter(name)": (x) => client.rateLimiter(x, rate),
      "Client.rateLimiter(options)": (x) => client.rateLimiter("k", x),
      ...Object.fromEntries(
        ["tokens", "perMs", "burst", "algorithm", "rates", "absent"].map((name) => [
          `Client.rateLimiter(${name})`,
          (x) => client.rateLimiter("k", { ...rate, [name]: x }),
        ]),
      ),
      "Client.rateLimiter(localShare)": (x) => client.rateLimiter("k", { ...rate, absent: { localShare: x } }),
      "Client.withLock(name)": (x) => client.withLock(x, () => undefined),
      "Client.withLock(options)": (x) => client.withLock("k", x, () => undefined),
      "Client.withLock(run)": (x) => client.withLock("k", {}, x),
      "Client.close(options)": async (x) => (await connect("memory://")).close(x),
      "Client.close(release)": async (x) => (await connect("memory://")).close({ release: x }),
      ...lockableCalls("Lock", lock),
      ...lockableCalls("RwLockSide", rw.read),
      ...lockableCalls("RwLockSide of writers", rw.write),
      "RwLock.withRead(options)": (x) => rw.withRead(x, () => undefined),
      "RwLock.withRead(run)": (x) => rw.withRead(undefined, x),
      "RwLock.withWrite(options)": (x) => rw.withWrite(x, () => undefined),
      "RwLock.withWrite(run)": (x) => rw.withWrite(undefined, x),
      "Lock.attach(detached)": (x) => lock.attach(x),
      "Semaphore.acquire(options)": async (x) => (await semaphore.acquire(x)).release(),
      "Semaphore.acquire(permits)": async (x) => (await semaphore.acquire({ permits: x })).release(),
      "Semaphore.acquire(waitMs)": async (x) => (await semaphore.acquire({ waitMs: x })).release(),
      "Semaphore.acquire(leaseMs)": async (x) => (await semaphore.acquire({ leaseMs: x })).release(),
      "Semaphore.acquire(signal)": async (x) => (await semaphore.acquire({ signal: x })).release(),
      "Semaphore.tryAcquire(options)": async (x) => (await semaphore.tryAcquire(x)).release(),
      "Semaphore.tryAcquire(permits)": async (x) => (await semaphore.tryAcquire({ permits: x })).release(),
      "Semaphore.tryAcquire(leaseMs)": async (x) => (await semaphore.tryAcquire({ leaseMs: x })).release(),
      "Semaphore.withPermits(options)": (x) => semaphore.withPermits(x, () => undefined),
      "Semaphore.withPermits(permits)": (x) => semaphore.withPermits({ permits: x }, () => undefined),
      "Semaphore.withPermits(run)": (x) => semaphore.withPermits(undefined, x),
      "Semaphore.setPermits(permits)": (x) => semaphore.setPermits(x),
      "Client.lockAll(names)": (x) => client.lockAll(x),
      "Client.lockAll(name)": (x) => client.lockAll(["k", x]),
      "Client.lockAll(options)": (x) => client.lockAll(["k"], x),
      ...lockableCalls("LockAll", set),
      "HeldAll.tokenOf(member)": (x) => heldAll.tokenOf(x),
      "Client.latch(name)": (x) => client.latch(x),
      "Latch.trySetCount(count)": (x) => latch.trySetCount(x),
      "Latch.countDown(by)": (x) => latch.countDown(x),
      "Latch.wait(options)": (x) => latch.wait(x),
      "Latch.wait(waitMs)": (x) => latch.wait({ waitMs: x }),
      "Client.idGenerator(name)": (x) => client.idGenerator(x),
      "Client.idGenerator(options)": (x) => client.idGenerator("generator", x),
      "Client.idGenerator(block)": (x) => client.idGenerator("generator", { block: x }),
      "Client.idGenerator(start)": (x) => client.idGenerator("generator", { start: x }),
      "IdGenerator.nextIds(count)": (x) => generator.nextIds(x),
      "Client.bloomFilter(name)": (x) => client.bloomFilter(x, { expected: 10, falsePositiveRate: 0.1 }),
      "Client.bloomFilter(options)": (x) => client.bloomFilter("filter", x),
      "Client.bloomFilter(expected)": (x) => client.bloomFilter("filter", { expected: x, falsePositiveRate: 0.1 }),
      "Client.bloomFilter(falsePositiveRate)": (x) =>
        client.bloomFilter("filter", { expected: 10, falsePositiveRate: x }),
      "Client.bloomFilter(ttlMs)": (x) =>
        client.bloomFilter("filter", { expected: 10, falsePositiveRate: 0.1, ttlMs: x }),
      "BloomFilter.add(items)": (x) => filter.add(x),
      "BloomFilter.contains(items)": (x) => filter.contains(x),
      ...queueCalls(client, idle, queue, delivery, consumer),
      "Client.worker(pool)": (x) => leased(client.worker(x)),
      "Client.worker(options)": (x) => leased(client.worker("pool", x)),
      "Client.worker(bits)": (x) => leased(client.worker("pool", { bits: x })),
      "Client.worker(leaseMs)": (x) => leased(client.worker("pool", { leaseMs: x })),
      "Client.worker(signal)": (x) => leased(client.worker("pool", { signal: x })),
      "Worker.snowflake(layout)": (x) => worker.snowflake(x),
      "Client.countingSemaphore(name)": (x) => client.countingSemaphore(x),
      "CountingSemaphore.trySetPermits(permits)": (x) => slots.trySetPermits(x),
      "CountingSemaphore.acquire(options)": (x) => slots.acquire(x),
      "CountingSemaphore.acquire(permits)": (x) => slots.acquire({ permits: x }),
      "CountingSemaphore.acquire(waitMs)": (x) => slots.acquire({ waitMs: x }),
      "CountingSemaphore.tryAcquire(options)": (x) => slots.tryAcquire(x),
      "CountingSemaphore.release(permits)": (x) => slots.release(x),
      "CountingSemaphore.addPermits(permits)": (x) => slots.addPermits(x),
      "Hold.extend(leaseMs)": (x) => held.extend(x),
      "Hold.extend(leaseMs) of permits": (x) => heldPermits.extend(x),
      "RateLimiter.tryAcquire(cost)": (x) => limiter.tryAcquire(x),
      "RateLimiter.tryAcquire(options)": (x) => limiter.tryAcquire(1, x),
      "RateLimiter.tryAcquire(key)": (x) => limiter.tryAcquire(1, { key: x }),
      "RateLimiter.tryAcquireMany(items)": (x) => limiter.tryAcquireMany(x),
      "RateLimiter.tryAcquireMany(item)": (x) => limiter.tryAcquireMany([x]),
      "RateLimiter.tryAcquireMany(key)": (x) => limiter.tryAcquireMany([[x, 1]]),
      "RateLimiter.tryAcquireMany(cost)": (x) => limiter.tryAcquireMany([["k", x]]),
      "RateLimiter.peek(options)": (x) => limiter.peek(x),
      "RateLimiter.reset(options)": (x) => limiter.reset(x),
      "RateLimiter.reserve(cost)": (x) => limiter.reserve(x),
      "RateLimiter.reserve(options)": (x) => limiter.reserve(1, x),
      "RateLimiter.penalty(tokens)": (x) => limiter.penalty(x),
      "RateLimiter.penalty(options)": (x) => limiter.penalty(1, x),
      "RateLimiter.reward(tokens)": (x) => limiter.reward(x),
      "RateLimiter.reward(options)": (x) => limiter.reward(1, x),
      "RateLimiter.block(lengthMs)": (x) => limiter.block(x),
      "RateLimiter.block(options)": (x) => limiter.block(0, x),
      "RateLimiter.acquire(cost)": (x) => limiter.acquire(x),
      "RateLimiter.acquire(options)": (x) => limiter.acquire(1, x),
      "RateLimiter.acquire(waitMs)": (x) => limiter.acquire(1, { waitMs: x }),
      "RateLimiter.acquire(signal)": (x) => limiter.acquire(1, { signal: x }),
      "new Snowflake(options)": (x) => new Snowflake(x),
      ...Object.fromEntries(
        ["datacenter", "worker", "layout", "borrowAheadMs", "startWaitMs"].map((name) => [
          `new Snowflake(${name})`,
          (x) => new Snowflake({ ...place, [name]: x }),
        ]),
      ),
      ...Object.fromEntries(
        Object.keys(LAYOUT).map((name) => [
          `Snowflake.decode(${name})`,
          (x) => Snowflake.decode(1n, { ...LAYOUT, [name]: x }),
        ]),
      ),
      "Snowflake.nextIds(count)": (x) => ids.nextIds(x),
      "Snowflake.decode(id)": (x) => ids.decode(x),
      "Snowflake.decode(layout)": (x) => Snowflake.decode(1n, x),
      "Snowflake.encode(id)": (x) => Snowflake.encode(x, 10),
      "Snowflake.encode(base)": (x) => Snowflake.encode(1n, x),
      "Snowflake.parse(text)": (x) => Snowflake.parse(x, 10),
      "Snowflake.parse(base)": (x) => Snowflake.parse("1", x),
    };
    const forgotten = taking().filter((method) => !Object.keys(calls).some((call) => call.startsWith(`${method}(`)));
    assert.deepEqual(forgotten, []);
    for (const [name, call] of Object.entries(calls)) {
      let refusals = 0;
      const [, parameter] = /\((\w+)\)/.exec(name);
      for (const nonsense of NONSENSE) {
        const error = await (async () => call(nonsense))().then(async (made) => {
          if (name.startsWith("connect")) await made.close();
        }, asItIs);
        if (error === undefined) continue;
        refusals += 1;
        const shown = `${name} of ${inspect(nonsense)}: ${error.stack}`;
        const ours = error instanceof DlockError || /^ERR_INVALID_ARG_/.test(error.code);
        assert.ok(ours && error.kind !== "INTERNAL", shown);
        // Core says "lease" and "connect_timeout" for all languages.
        const core = parameter.replace(/Ms$/, "").replace(/[A-Z]/g, (letter) => `.${letter.toLowerCase()}`);
        const named = new RegExp(`${parameter}|${core}|${WORDS[parameter] ?? parameter}`, "i");
        assert.match(error.message, named, shown);
        assert.doesNotMatch(
          error.message,
          /napi|convert|failed to|expect |downcast|unwrap|private member|of undefined/i,
          shown,
        );
      }
      assert.ok(refusals >= 4, `${name}: ${refusals} refusals`);
    }
    assert.deepEqual([held.valid, heldPermits.valid], [true, true]);
    await client.close();
  });
});

// What core calls a parameter of these, where the message does not repeat its name.
const WORDS = {
  options: "option|datacenter|tokens|expected",
  by: "by|count",
  member: "name|none of the locks",
  absent: "absent|localShare",
  pool: "name",
  ttlMs: "time to live",
  falsePositiveRate: "false positive rate",
  maxAttempts: "number of attempts",
  most: "number of jobs",
  job: "payload",
  detached: "detach",
  timeBits: "bits",
  datacenterBits: "bits",
  workerBits: "bits",
  sequenceBits: "bits",
  count: "batch",
  text: "id",
};

const asItIs = (error) => error;

/** What a lock has, and a side of a read-write lock. */
const lockableCalls = (kind, lock) => ({
  [`${kind}.acquire(options)`]: async (x) => (await lock.acquire(x)).release(),
  [`${kind}.acquire(waitMs)`]: async (x) => (await lock.acquire({ waitMs: x })).release(),
  [`${kind}.acquire(leaseMs)`]: async (x) => (await lock.acquire({ leaseMs: x })).release(),
  [`${kind}.acquire(signal)`]: async (x) => (await lock.acquire({ signal: x })).release(),
  [`${kind}.tryAcquire(options)`]: async (x) => (await lock.tryAcquire(x)).release(),
  [`${kind}.tryAcquire(leaseMs)`]: async (x) => (await lock.tryAcquire({ leaseMs: x })).release(),
  [`${kind}.withLock(options)`]: (x) => lock.withLock(x, () => undefined),
  [`${kind}.withLock(run)`]: (x) => lock.withLock(undefined, x),
});

const nacked = async (queue, options) => {
  await queue.put("x");
  await (await queue.take()).nack(options);
};

const queueCalls = (client, idle, queue, delivery, consumer) => ({
  "Client.queue(name)": (x) => client.queue(x),
  "Client.queue(options)": (x) => client.queue("queue", x),
  ...Object.fromEntries(
    ["leaseMs", "watchdogLeaseMs", "maxAttempts", "maxPayload", "maxLength"].map((name) => [
      `Client.queue(${name})`,
      (x) => client.queue("queue", { [name]: x }),
    ]),
  ),
  "Queue.put(payload)": (x) => queue.put(x),
  "Queue.put(options)": (x) => queue.put("x", x),
  ...Object.fromEntries(
    ["delayMs", "at", "id", "priority"].map((name) => [`Queue.put(${name})`, (x) => queue.put("x", { [name]: x })]),
  ),
  "Queue.putMany(jobs)": (x) => queue.putMany(x),
  "Queue.putMany(job)": (x) => queue.putMany([x]),
  "Queue.putMany(payload)": (x) => queue.putMany([{ payload: x }]),
  "Queue.take(options)": (x) => queue.take(x),
  "Queue.take(waitMs)": (x) => queue.take({ waitMs: x }),
  "Queue.take(signal)": (x) => queue.take({ signal: x }),
  "Queue.takeMany(most)": (x) => queue.takeMany(x),
  "Queue.ackMany(deliveries)": (x) => queue.ackMany(x),
  "Queue.ackMany(delivery)": (x) => queue.ackMany([x]),
  "Queue.takeMany(options)": (x) => queue.takeMany(1, x),
  "Queue.deliveries(options)": (x) => queue.deliveries(x),
  "Queue.deliveries(signal)": (x) => queue.deliveries({ signal: x }),
  "Queue.followedBy(other)": (x) => queue.followedBy(x),
  "Queue.consume(handler)": (x) => idle.consume(x),
  "Queue.consume(options)": (x) => idle.consume(() => undefined, x),
  ...Object.fromEntries(
    ["concurrency", "backoff", "graceMs", "onError"].map((name) => [
      `Queue.consume(${name})`,
      (x) => idle.consume(() => undefined, { [name]: x }),
    ]),
  ),
  "Queue.consume(baseMs)": (x) => idle.consume(() => undefined, { backoff: { baseMs: x } }),
  "Queue.cancel(id)": (x) => queue.cancel(x),
  "Queue.peek(most)": (x) => queue.peek(x),
  "DeadJobs.list(most)": (x) => queue.dead.list(x),
  "DeadJobs.requeue(id)": (x) => queue.dead.requeue(x),
  "DeadJobs.remove(id)": (x) => queue.dead.remove(x),
  "Delivery.nack(options)": (x) => nacked(client.queue("nacked"), x),
  "Delivery.nack(delayMs)": (x) => nacked(client.queue("nacked"), { delayMs: x }),
  "Delivery.nack(reason)": (x) => nacked(client.queue("nacked"), { reason: x }),
  "Delivery.extend(leaseMs)": (x) => delivery.extend(x),
  "Consumer.stop(options)": (x) => consumer.stop(x),
  "Consumer.stop(graceMs)": (x) => consumer.stop({ graceMs: x }),
  "Consumer.run(options)": (x) => consumer.run(x),
  "Consumer.run(signals)": (x) => consumer.run({ signals: x }),
});

/** `Class.method`, or `new Class`, for every public one that takes something: what the sources of the package declare. */
function taking() {
  const folder = join(ROOT, "node/ts");
  const files = readdirSync(folder).filter((file) => file.endsWith(".ts"));
  const sources = files.map((file) => readFileSync(join(folder, file), "utf8"));
  const declared = /^export (abstract )?class (\w+)(?:<.*>)?(?: extends (\w+).*?)?(?: implements .*?)? \{\n(.*?)^\}/gms;
  const classes = sources.flatMap((source) => [...source.matchAll(declared)]);
  return classes.flatMap(([, abstract, name, , body]) => {
    const methods = body.matchAll(/(@internal.*\*\/\n)?^  (?:static |override |async )*(\w+)(?:<\w+>)?\((?!\))/gm);
    const shown = [...methods].filter(([, internal]) => internal === undefined).map(([, , method]) => method);
    // What users have of a class that is abstract is what extends it.
    const heirs = classes.filter(([, , , base]) => base === name).map(([, , heir]) => heir);
    const users = abstract === undefined ? [name] : heirs;
    return users.flatMap((user) =>
      shown.map((method) => (method === "constructor" ? `new ${user}` : `${user}.${method}`)),
    );
  });
}

describe("names on the wire", () => {
  onBothBackends((context) => {
    it("are the bytes of their UTF-8", async () => {
      const other = await context.open();
      for (const name of ["é", "日本語", "🔒 lock\n", "a\u0301"]) {
        const held = await context.client.lock(name).acquire();
        const seen = await other.lock(Buffer.from(name, "utf8").toString()).inspect();
        assert.equal(seen.holder, held.owner);
        await held.release();
      }
    });
  });
});

describe("options of connect", () => {
  it("are those of the vectors, in camel case", async () => {
    const values = { duration: 5_000, boolean: true, string: "x" };
    for (const { name, type, min } of vectors("options")) {
      const option = camel(name) + (type === "duration" ? "Ms" : "");
      const connecting = connect("memory://", { [option]: values[type] ?? min });
      if (name.startsWith("tls_")) {
        // Known, and nothing to do with a client that has no connection.
        const error = await rejects(connecting, "INVALID_ARGUMENT");
        assert.ok(error.message.includes(`option ${option}: memory:// has no connection`), error.message);
      } else {
        await (await connecting).close();
      }
    }
    await (await connect("memory://", { tokenTtlMs: "none", leaseMs: undefined })).close();
  });

  it("keep to their limits", async () => {
    for (const { name, type, min, max } of vectors("options")) {
      if (type !== "duration") continue;
      const camel = `${name.replace(/_./g, ([, letter]) => letter.toUpperCase())}Ms`;
      for (const value of [min, max]) await (await connect("memory://", { [camel]: value })).close();
      for (const value of [min - 1, max + 1]) {
        const error = await rejects(connect("memory://", { [camel]: value }), "INVALID_ARGUMENT");
        assert.ok(error.message.includes(`option ${camel}: `), error.message);
      }
    }
  });

  it("that do not exist are refused with the names of those that do", async () => {
    for (const name of ["lease", "connect_timeout", "retries", "leaseMS"]) {
      const error = await connect("memory://", { [name]: 1 }).catch((error) => error);
      assert.ok(error instanceof TypeError, error.stack);
      assert.ok(error.message.includes(name) && error.message.includes("connectTimeoutMs"), error.message);
    }
  });

  it("of a wrong type are a TypeError", async () => {
    for (const value of [null, {}, [], 1n]) await assert.rejects(connect("memory://", { keyPrefix: value }), TypeError);
    await assert.rejects(connect(7), TypeError);
    for (const value of [undefined, null, 7, {}, { [Symbol.toStringTag]: "URL" }, ["memory://"]]) {
      const wrong = { name: "TypeError", message: /^url must be a string or a URL object, not / };
      await assert.rejects(connect(value), wrong);
    }
  });

  it("may stand in a URL object, also in one of another package", async () => {
    const server = await RedisServer.start();
    class OtherURL {
      href = server.url;
      [Symbol.toStringTag] = "URL";
    }
    const named = new URL(server.url);
    named.searchParams.set("client_name", "by-url");
    for (const url of [new OtherURL(), named]) {
      const client = await connect(url);
      await client.withLock(freshName(), () => undefined);
      assert.equal((await server.command("CLIENT", "LIST")).includes("name=by-url"), url === named);
      await client.close();
    }
    await server.stop();
    const error = await rejects(connect(new URL("memory://?lease=1ms")), "INVALID_ARGUMENT");
    assert.match(error.message, /option lease: /);
    await rejects(connect(new URL("http://x")), "INVALID_ARGUMENT");
  });

  it("and bad URLs are refused before any I/O", async () => {
    let connections = 0;
    const server = createServer(() => (connections += 1));
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address();
    for (const url of ["", "http://x", "127.0.0.1:6379", `redis://127.0.0.1:${port}/0?nonsense=1`, "redis://\ud800"]) {
      await rejects(connect(url), "INVALID_ARGUMENT");
    }
    const options = { leaseMs: 1 };
    await rejects(connect(`redis://127.0.0.1:${port}`, options), "INVALID_ARGUMENT");
    server.close();
    assert.equal(connections, 0);
  });
});

/** A name as JavaScript writes it. */
function camel(name) {
  return name.replace(/_./g, ([, letter]) => letter.toUpperCase());
}

/** The text whose UTF-8 that is; none for bytes that are no UTF-8, which no string of JavaScript can stand for. */
function textOf(hex) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(hex, "hex"));
  } catch {
    return undefined;
  }
}
