// The peer of the Node worker for jobs: BullMQ on ioredis. bullmq-worker.mjs jobs|job_batches|fill URL CALLERS SECONDS
//
// One Queue and one Worker in this process, as their constructors come, but for the concurrency, which is the number of callers, or of the
// jobs of a batch, and for `removeOnComplete`: without it each job that is done stays on the server, as it does not with ours. A caller
// adds a job, and the next one when it is completed; the processor does nothing.

import { Queue, Worker } from "bullmq";

import { answer, loops, ready } from "./callers.mjs";

const JOBS = 100; // in a batch, in every language
const DATA = { payload: "x".repeat(100) };
const OPTIONS = { removeOnComplete: true };
const DAY_MS = 86_400_000;

const [what, url, count, length] = process.argv.slice(2);
const callers = Number(count);
const connection = { url, maxRetriesPerRequest: null };
const queue = new Queue("bench", { connection });

const completed = new Map(); // by the id of the job, what is to be called
const early = new Set(); // those that were done before `add` said their ids
let worker;

async function start(concurrency) {
  worker = new Worker("bench", () => Promise.resolve(), { connection, concurrency });
  worker.on("error", (error) => console.error(error));
  worker.on("completed", (job) => {
    const resolve = completed.get(job.id);
    if (resolve === undefined) early.add(job.id);
    else {
      completed.delete(job.id);
      resolve();
    }
  });
  await worker.waitUntilReady();
}

function done(id) {
  if (early.delete(id)) return Promise.resolve();
  return new Promise((resolve) => completed.set(id, resolve));
}

async function jobs(end) {
  let times = 0;
  while (performance.now() < end) {
    const job = await queue.add("job", DATA, OPTIONS);
    await done(job.id);
    times++;
  }
  return times;
}

async function batches(end) {
  let times = 0;
  while (performance.now() < end) {
    const added = await queue.addBulk(new Array(JOBS).fill({ name: "job", data: DATA, opts: OPTIONS }));
    await Promise.all(added.map((job) => done(job.id)));
    times += added.length;
  }
  return times;
}

// So many jobs that are due tomorrow.
async function fill() {
  await queue.waitUntilReady();
  await ready();
  const begun = performance.now();
  for (let put = 0; put < callers; put += JOBS) {
    await queue.addBulk(new Array(JOBS).fill({ name: "job", data: DATA, opts: { ...OPTIONS, delay: DAY_MS } }));
  }
  await answer({ done: callers, seconds: (performance.now() - begun) / 1000 });
}

if (what === "fill") await fill();
else {
  const batched = what === "job_batches";
  await start(batched ? callers * JOBS : callers);
  await loops(new Array(callers).fill(batched ? batches : jobs), Number(length));
  await worker.close();
}
await queue.close();
process.exit(0);
