// The Node process of the interop tests: does what the lines on its input say, see worker.py for the protocol.

import { createInterface } from "node:readline";

import { connect } from "libdlock";

const nowUs = () => process.hrtime.bigint() / 1000n;

const client = await connect(process.argv[2]);
const holds = new Map();
const watched = [];

async function acquire(name) {
  const held = await client.lock(name).acquire();
  const acquired = nowUs();
  holds.set(name, held);
  console.log(`acquired ${acquired} ${held.token}`);
}

async function renew(name, watchdogLeaseMs) {
  holds.set(name, await client.lock(name, { watchdogLeaseMs }).acquire());
  console.log("renewed");
}

async function release(name) {
  const called = nowUs();
  await holds.get(name).release();
  console.log(`released ${called}`);
}

async function contend(name, rounds) {
  const lock = client.lock(name);
  for (let round = 0; round < rounds; round++) {
    await lock.withLock((held) => {
      const acquired = nowUs();
      console.log(`hold ${held.token} ${acquired} ${nowUs()}`);
    });
  }
  console.log("done");
}

async function crowd(name, rounds, callers) {
  const lock = client.lock(name);
  const said = [];
  const caller = async () => {
    for (let round = 0; round < rounds; round++) {
      const asked = nowUs();
      await lock.withLock((held) => {
        const begin = nowUs();
        said.push(`hold ${held.token} ${begin} ${nowUs()} ${asked}`);
      });
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  console.log([...said, "done"].join("\n"));
}

async function watch(name, count) {
  for (let number = 0; number < count; number++) {
    const held = await client.lock(`${name}-${number}`).acquire();
    watched.push(held);
    held.signal.addEventListener("abort", () => console.log(`lost ${Math.floor(held.remainingMs * 1000)}`));
  }
  console.log("watching");
}

async function spend(name) {
  const { allowed, remaining } = await client.rateLimiter(name, { tokens: 10, perMs: 3_600_000 }).tryAcquire();
  console.log(`spent ${Number(allowed)} ${remaining}`);
}

const verbs = { acquire, renew, release, contend, crowd, watch, spend };
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [verb, name, ...numbers] = line.split(" ");
  await verbs[verb](name, ...numbers.map(Number));
}
