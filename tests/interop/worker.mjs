// The Node process of the interop tests: does what the lines on its input say, see worker.py for the protocol.

import { createInterface } from "node:readline";

import { connect } from "libdlock";

const nowUs = () => process.hrtime.bigint() / 1000n;

const client = await connect(process.argv[2]);
const holds = new Map();

async function acquire(name) {
  const held = await client.lock(name).acquire();
  const acquired = nowUs();
  holds.set(name, held);
  console.log(`acquired ${acquired} ${held.token}`);
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

async function spend(name) {
  const { allowed, remaining } = await client.rateLimiter(name, { tokens: 10, perMs: 3_600_000 }).tryAcquire();
  console.log(`spent ${Number(allowed)} ${remaining}`);
}

const verbs = { acquire, release, contend, spend };
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [verb, name, rounds] = line.split(" ");
  await verbs[verb](name, Number(rounds));
}
