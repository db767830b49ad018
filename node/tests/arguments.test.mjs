// faults.md 26 and 27: what is refused before any I/O, and how.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { inspect } from "node:util";

import { DlockError, Snowflake, connect } from "libdlock";

import { ROOT, freshName, onBothBackends, rejects, throws, vectorFile, vectors } from "./kit/index.mjs";

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
    for (const leaseMs of [100, 86_400_000]) await lock.withLock({ leaseMs }, () => undefined);
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
      [() => client.close({ force: true }), /close\(options\) has no option "force"/],
      [() => connect("memory://", { lock: { cohort_max: 5 } }), /option lock has no option .*mean cohortMax\?/],
      [() => connect("memory://", { lock: 5 }), /option lock: options must be an object such as/],
      [() => connect("memory://", { lock: { cohortMax: "5" } }), /lock\.cohortMax/],
      [() => connect("memory://", { timeout: 5 }), /connect\(url, options\) .* did you mean connectTimeoutMs\?/],
      [() => new Snowflake({ datacenter: 1, workerId: 1 }), /new Snowflake\(options\) .* did you mean worker\?/],
    ]) {
      await refused(call, says);
    }
    assert.equal(client.stats().lock.acquired, 0);
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
      [() => limiter.tryAcquire(1, { waitMs: 5 }), /tryAcquire\(cost\) has no options/],
      [() => limiter.tryAcquire(1, undefined, 5), /tryAcquire\(cost\) has no options/],
      [() => lock.acquire({ leaseMs: 500 }, { waitMs: 5 }), /acquire\(options\) has one argument/],
      [() => lock.acquire(undefined, 500), /acquire\(options\) has one argument/],
      [() => lock.tryAcquire({}, { waitMs: 5 }), /tryAcquire\(options\) has one argument/],
      [() => lock.attach("dlock1;w;1000;1;o;k", { leaseMs: 500 }), /attach\(detached\) has no options/],
      [() => client.close(true), /options must be an object such as \{ release \}, not a boolean/],
      [() => connect("memory://", "lease=5s"), /options must be an object/],
      [() => connect({ url: "memory://" }), /url must be a string/],
      [() => lock.acquire({ signal: new AbortController() }), /give the signal of the AbortController/],
    ]) {
      await refused(call, says);
    }
    assert.equal(client.stats().lock.acquired, 0);
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
    const rate = { tokens: 1, perMs: 1_000 };
    const place = { datacenter: 2, worker: 2 };
    const optionNames = vectors("options").map(({ name, type }) => camel(name) + (type === "duration" ? "Ms" : ""));
    const calls = {
      "connect(url)": (x) => connect(x),
      "connect(options)": (x) => connect("memory://", x),
      ...Object.fromEntries(
        [...optionNames, "passwordEnv", "passwordFile", "signal", "onEvent"].map((name) => [
          `connect(${name})`,
          (x) => connect("memory://", { [name]: x }),
        ]),
      ),
      "Client.lock(name)": (x) => client.lock(x),
      "Client.lock(options)": (x) => client.lock("k", x),
      "Client.lock(leaseMs)": (x) => client.lock("k", { leaseMs: x }),
      "Client.lock(watchdogLeaseMs)": (x) => client.lock("k", { watchdogLeaseMs: x }),
      "Client.lock(reentrant)": (x) => client.lock("k", { reentrant: x }),
      "Client.rateLimiter(name)": (x) => client.rateLimiter(x, rate),
      "Client.rateLimiter(options)": (x) => client.rateLimiter("k", x),
      ...Object.fromEntries(
        ["tokens", "perMs", "burst", "absent"].map((name) => [
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
      "Lock.acquire(options)": async (x) => (await lock.acquire(x)).release(),
      "Lock.acquire(waitMs)": async (x) => (await lock.acquire({ waitMs: x })).release(),
      "Lock.acquire(leaseMs)": async (x) => (await lock.acquire({ leaseMs: x })).release(),
      "Lock.acquire(signal)": async (x) => (await lock.acquire({ signal: x })).release(),
      "Lock.tryAcquire(options)": async (x) => (await lock.tryAcquire(x)).release(),
      "Lock.tryAcquire(leaseMs)": async (x) => (await lock.tryAcquire({ leaseMs: x })).release(),
      "Lock.withLock(options)": (x) => lock.withLock(x, () => undefined),
      "Lock.withLock(run)": (x) => lock.withLock(undefined, x),
      "Lock.attach(detached)": (x) => lock.attach(x),
      "Held.extend(leaseMs)": (x) => held.extend(x),
      "RateLimiter.tryAcquire(cost)": (x) => limiter.tryAcquire(x),
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
    assert.equal(held.valid, true);
    await client.close();
  });
});

// What core calls a parameter of these, where the message does not repeat its name.
const WORDS = {
  options: "option|datacenter|tokens",
  absent: "absent|localShare",
  detached: "detach",
  timeBits: "bits",
  datacenterBits: "bits",
  workerBits: "bits",
  sequenceBits: "bits",
  count: "batch",
  text: "id",
};

const asItIs = (error) => error;

/** `Class.method`, or `new Class`, for every public one that takes something: what the sources of the package declare. */
function taking() {
  const folder = join(ROOT, "node/ts");
  const sources = readdirSync(folder).map((file) => readFileSync(join(folder, file), "utf8"));
  const classes = sources.flatMap((source) => [...source.matchAll(/^export class (\w+).*?\{\n(.*?)^\}/gms)]);
  return classes.flatMap(([, name, body]) => {
    const methods = body.matchAll(/(@internal \*\/\n)?^  (?:static |override |async )*(\w+)(?:<\w+>)?\((?!\))/gm);
    const shown = [...methods].filter(([, internal]) => internal === undefined).map(([, , method]) => method);
    return shown.map((method) => (method === "constructor" ? `new ${name}` : `${name}.${method}`));
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
      await (await connect("memory://", { [option]: values[type] ?? min })).close();
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
