// The Node process of the interop tests: does what the lines on its input say, see worker.py for the protocol.

import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

import { connect } from "libdlock";

const nowUs = () => process.hrtime.bigint() / 1000n;

const client = await connect(process.argv[2]);
const holds = new Map();
const permits = new Map();
const sides = new Map();
const numbers = new Map();
const generators = new Map();
const watched = [];

async function acquire(name) {
  const held = await client.lock(name).acquire();
  const acquired = nowUs();
  holds.set(name, held);
  console.log(`acquired ${acquired} ${held.token}`);
}

async function renew(name, watchdogLeaseMs) {
  holds.set(name, await client.lock(name, { watchdogLeaseMs: Number(watchdogLeaseMs) }).acquire());
  console.log("renewed");
}

async function release(name) {
  const called = nowUs();
  await holds.get(name).release();
  console.log(`released ${called}`);
}

async function contend(name, rounds) {
  const lock = client.lock(name);
  for (let round = 0; round < Number(rounds); round++) {
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
    for (let round = 0; round < Number(rounds); round++) {
      const asked = nowUs();
      await lock.withLock((held) => {
        const begin = nowUs();
        said.push(`hold ${held.token} ${begin} ${nowUs()} ${asked}`);
      });
    }
  };
  await Promise.all(Array.from({ length: Number(callers) }, caller));
  console.log([...said, "done"].join("\n"));
}

async function watch(name, count) {
  for (let number = 0; number < Number(count); number++) {
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

async function take(name, total, count) {
  const held = await client.semaphore(name, Number(total)).acquire({ permits: Number(count) });
  const acquired = nowUs();
  permits.set(name, held);
  console.log(`permits ${acquired} ${held.permits.join(",")}`);
}

async function give(name) {
  const called = nowUs();
  await permits.get(name).release();
  console.log(`gave ${called}`);
}

async function share(name, total, rounds, wants) {
  const semaphore = client.semaphore(name, Number(total));
  const said = [];
  const caller = async (permits) => {
    for (let round = 0; round < Number(rounds); round++) {
      const asked = nowUs();
      await semaphore.withPermits({ permits }, async () => {
        const begin = nowUs();
        await pause(1);
        said.push(`turn ${permits} ${begin} ${nowUs()} ${asked}`);
      });
    }
  };
  await Promise.all(wants.split(",").map((each) => caller(Number(each))));
  console.log([...said, "done"].join("\n"));
}

async function hold(name, side) {
  const held = await client.rwLock(name)[side].acquire();
  const acquired = nowUs();
  sides.set(name, held);
  console.log(`side ${acquired} ${held.token}`);
}

async function downgrade(name) {
  const called = nowUs();
  const held = await sides.get(name).downgrade();
  sides.set(name, held);
  console.log(`downgraded ${called} ${held.token}`);
}

async function leave(name) {
  const called = nowUs();
  await sides.get(name).release();
  console.log(`left ${called}`);
}

async function mix(name, rounds, wanted) {
  const rw = client.rwLock(name);
  const said = [];
  const caller = async (side) => {
    for (let round = 0; round < Number(rounds); round++) {
      const asked = nowUs();
      await rw[side].withLock(async (held) => {
        const begin = nowUs();
        await pause(1);
        said.push(`turn ${side} ${begin} ${nowUs()} ${asked} ${held.token}`);
      });
    }
  };
  await Promise.all(wanted.split(",").map(caller));
  console.log([...said, "done"].join("\n"));
}

async function number(pool) {
  const worker = await client.worker(pool, { bits: 4 });
  numbers.set(pool, worker);
  generators.set(pool, worker.snowflake());
  console.log(`number ${worker.number}`);
}

async function ids(pool, count) {
  try {
    console.log(`ids ${generators.get(pool).nextIds(Number(count)).join(",")}`);
  } catch (error) {
    if (!["LOST", "NOT_HELD"].includes(error.kind)) throw error;
    console.log("ids none");
  }
}

async function back(pool) {
  await numbers.get(pool).release();
  console.log("back");
}

const verbs = {
  acquire,
  renew,
  release,
  contend,
  crowd,
  watch,
  spend,
  permits: take,
  give,
  share,
  side: hold,
  downgrade,
  leave,
  mix,
  number,
  ids,
  back,
};
console.log("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [verb, ...words] = line.split(" ");
  await verbs[verb](...words);
}
