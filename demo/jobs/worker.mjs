// One Node process of the demo's queues: puts COUNT jobs into the queue of NEXT, and does those of the queue of OWN.
//
//     worker.mjs URL NAME FOLDER WHO OWN NEXT COUNT
//
// To do a job is to make the file FOLDER/ID, which cannot be made twice. Prints `ready`, starts on a line of input, then prints its
// progress as JSON lines; stops when its input ends.

import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";

import { connect } from "libdlock";

const CONCURRENCY = 4;
const INSIDE_MS = 2;
const LEASE_MS = 2_000;
const REPORT_EVERY_MS = 100;

const [url, name, folder, who, own, next, count] = process.argv.slice(2);
const progress = { done: 0, repeated: 0, found_done: 0 };
const report = () => console.log(JSON.stringify(progress));

// Does a job; false when it was done before.
async function make(job) {
  try {
    await writeFile(join(folder, job), who, { flag: "wx" });
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  }
}

async function work(delivery) {
  await pause(INSIDE_MS);
  progress[(await make(delivery.id)) ? "done" : "found_done"]++;
  if (delivery.attempt > 1) progress.repeated++;
}

const client = await connect(url);
const others = client.queue(`${name}-${next}`);
const mine = client.queue(`${name}-${own}`, { watchdogLeaseMs: LEASE_MS });
const input = createInterface({ input: process.stdin });
const over = once(input, "close");
console.log("ready");
await once(input, "line");
const reports = setInterval(report, REPORT_EVERY_MS);
const consumer = mine.consume(work, { concurrency: CONCURRENCY });
const jobs = Array.from({ length: Number(count) }, (_, number) => `${who}-${number}`);
await others.putMany(jobs.map((job) => ({ payload: job, id: job })));
await over;
await consumer.stop();
clearInterval(reports);
report();
await client.close();
