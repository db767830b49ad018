// One Node process of the demo: callers that TIMES times between them wait for the rate limiter, take the lock, and change the shared
// file inside.
//
//     worker.mjs URL NAME FILE TIMES WHO WORKER RATE BURST [without-lock]
//
// Prints `ready`, starts on a line of input, then prints its progress as JSON lines.

import { closeSync, fstatSync, openSync, readSync, writeSync } from "node:fs";
import { once } from "node:events";
import { createInterface } from "node:readline";

import { connect, Snowflake } from "libdlock";

const CALLERS = 2;
const REPORT_EVERY_MS = 250;
const COUNTER_WIDTH = 12; // digits on the file's first line

const [url, name, path, times, who, workerId, rate, burst, ...flags] = process.argv.slice(2);
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

const progress = { done: 0, handovers: 0, waited: 0, longest: 0 };
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

const client = await connect(url);
const lock = client.lock(name);
const limiter = client.rateLimiter(`${name}-rate`, { tokens: Number(rate), perMs: 1000, burst: Number(burst) });
const ids = new Snowflake({ datacenter: 0, worker: Number(workerId) });
console.log("ready");
const input = createInterface({ input: process.stdin });
await once(input, "line");
input.close();
const reports = setInterval(report, REPORT_EVERY_MS);
await Promise.all(Array.from({ length: CALLERS }, () => run(lock, limiter, ids)));
clearInterval(reports);
report();
await client.close();
