// One Node process of the demo: callers that TIMES times between them wait for the rate limiter, take the lock, and change the shared
// file inside; and callers beside them that share a few permits, and others that read and write under a read-write lock, one a little
// while for every few turns.
//
//     worker.mjs URL NAME FILE TIMES WHO WORKER RATE BURST PERMITS [without-lock]
//
// Prints `ready`, starts on a line of input, then prints its progress as JSON lines.

import { appendFileSync, closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

import { connect, Snowflake } from "libdlock";

const CALLERS = 2;
const SHARERS = 2; // the first takes one permit at a time, the second two
const ROUNDS_IN = 5; // a round for so many turns
const VISITORS = 2;
const WRITES_IN = 4; // every fourth visit of each is a writer's
const INSIDE_MS = 1;
const REPORT_EVERY_MS = 250;
const COUNTER_WIDTH = 12; // digits on the file's first line

const [url, name, path, times, who, workerId, rate, burst, total, ...flags] = process.argv.slice(2);
const locked = !flags.includes("without-lock");

// Reads, changes and rewrites the shared file, in steps that nothing but the lock protects: the counter on its first line, and a line
// at its end. Says whether the file was last changed by somebody else. Blocks the event loop for some microseconds as the other
// languages block their threads: the promises of node:fs would hold the lock ten times as long for the same work.
function change(line) {
  const file = openSync(path, "r+");
  const read = (length, from) => {
    const buffer = Buffer.alloc(length);
    readSync(file, buffer, 0, length, from);
    return buffer.toString();
  };
  try {
    const counter = Number(read(COUNTER_WIDTH, 0));
    const { size } = fstatSync(file);
    const start = Math.max(0, size - 128);
    const tail = read(size - start, start);
    writeSync(file, `${line} ${who}\n`, size);
    writeSync(file, String(counter + 1).padStart(COUNTER_WIDTH, "0"), 0);
    return !tail.endsWith(` ${who}\n`);
  } finally {
    closeSync(file);
  }
}

const progress = { done: 0, handovers: 0, waited: 0, longest: 0, rounds: 0, visits: 0 };
const report = () => console.log(JSON.stringify(progress));

let begun = 0;
async function run(lock, limiter, ids) {
  while (begun < Number(times)) {
    begun++;
    const granted = (await limiter.acquire()).serverTimeUs;
    const asked = performance.now();
    let wait = 0;
    const turn = (held) => {
      wait = (performance.now() - asked) / 1000;
      return change(`${held ? held.token : begun} ${granted} ${ids.nextId()}`);
    };
    const handedOver = locked ? await lock.withLock(turn) : await turn();
    progress.done++;
    progress.handovers += Number(handedOver);
    progress.waited += wait;
    progress.longest = Math.max(progress.longest, wait);
  }
}

// Of CLOCK_MONOTONIC, which is one for all processes.
const nowUs = () => process.hrtime.bigint() / 1000n;

// Is inside a little while, and says so in a line of the file: nothing protects that.
async function round(file, how) {
  const entered = nowUs();
  await pause(INSIDE_MS);
  appendFileSync(file, `${entered} ${nowUs()} ${how} ${who}\n`);
}

async function share(semaphore, permits) {
  const inside = () => round(`${path}.rounds`, permits);
  for (let rounds = Math.floor(Number(times) / ROUNDS_IN / SHARERS); rounds > 0; rounds--) {
    await (locked ? semaphore.withPermits({ permits }, inside) : inside());
    progress.rounds++;
  }
}

async function visit(rwLock) {
  for (let visit = 1; visit <= Math.floor(Number(times) / ROUNDS_IN / VISITORS); visit++) {
    const writes = visit % WRITES_IN === 0;
    const inside = () => round(`${path}.visits`, writes ? "write" : "read");
    if (!locked) await inside();
    else await (writes ? rwLock.withWrite(inside) : rwLock.withRead(inside));
    progress.visits++;
  }
}

const client = await connect(url);
const lock = client.lock(name);
const limiter = client.rateLimiter(`${name}-rate`, { tokens: Number(rate), perMs: 1000, burst: Number(burst) });
const semaphore = client.semaphore(`${name}-permits`, Number(total));
const rwLock = client.rwLock(`${name}-sides`);
const ids = new Snowflake({ datacenter: 0, worker: Number(workerId) });
console.log("ready");
const input = createInterface({ input: process.stdin });
await once(input, "line");
input.close();
const reports = setInterval(report, REPORT_EVERY_MS);
await Promise.all([
  ...Array.from({ length: CALLERS }, () => run(lock, limiter, ids)),
  ...Array.from({ length: SHARERS }, (_, number) => share(semaphore, 1 + number)),
  ...Array.from({ length: VISITORS }, () => visit(rwLock)),
]);
clearInterval(reports);
report();
await client.close();
