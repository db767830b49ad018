// Methods that are passed on without their object, such as `promise.finally(held.release)`: each says so, once.

import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { Snowflake, connect } from "libdlock";

let client;
const things = {};
const unhandled = [];
const onUnhandled = (error) => unhandled.push(error);

before(async () => {
  process.on("unhandledRejection", onUnhandled);
  client = await connect("memory://");
  const rwLock = client.rwLock("rw");
  const queue = client.queue("jobs");
  await queue.put("x");
  Object.assign(things, {
    client,
    locks: client.locks,
    lock: client.lock("lock"),
    held: await client.lock("lock").acquire(),
    lockAll: client.lockAll(["a", "b"]),
    heldAll: await client.lockAll(["a", "b"]).acquire(),
    rwLock,
    side: rwLock.write,
    rwHeld: await rwLock.write.acquire(),
    semaphore: client.semaphore("permits", 2),
    heldPermits: await client.semaphore("permits", 2).acquire(),
    counting: client.countingSemaphore("counting"),
    latch: client.latch("latch"),
    limiter: client.rateLimiter("limit", { tokens: 1, perMs: 1000 }),
    idGenerator: client.idGenerator("ids"),
    bloomFilter: client.bloomFilter("seen", { expected: 10, falsePositiveRate: 0.1 }),
    queue,
    dead: queue.dead,
    delivery: await queue.take(),
    consumer: client.queue("other").consume(() => undefined),
    worker: await client.worker("pool"),
    snowflake: new Snowflake({ datacenter: 1, worker: 1 }),
  });
});

after(async () => {
  await things.consumer.stop();
  await client.close();
  process.off("unhandledRejection", onUnhandled);
});

/** The names of an object's public methods. */
function methods(thing) {
  const names = new Set();
  for (let at = Object.getPrototypeOf(thing); at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at)))
      if (typeof value === "function" && name !== "constructor") names.add(name);
  }
  return names;
}

it("says what to pass, by one error, and ends nothing", async () => {
  const wrong = [];
  for (const [kind, thing] of Object.entries(things)) {
    for (const name of methods(thing)) {
      const unbound = thing[name];
      const said = await Promise.resolve()
        .then(() => unbound())
        .then(String, String);
      const elsewhere = /^TypeError: .* has no \w+\(\)/.test(said);
      if (!elsewhere && !said.startsWith(`TypeError: ${name}() was called without its `))
        wrong.push([kind, name, said]);
      await turn();
      if (unhandled.length > 0) wrong.push([kind, name, "unhandled", String(unhandled.pop())]);
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(things.held.valid);
});

it("rejects a finally with an unbound release", async () => {
  await assert.rejects(Promise.resolve().finally(things.held.release), {
    message: "release() was called without its hold: pass () => held.release() and not held.release",
  });
});

it("a method bound by the caller works", async () => {
  const held = await client.lock("bound").acquire();
  await Promise.resolve().finally(held.release.bind(held));
  assert.equal(held.valid, false);
});
