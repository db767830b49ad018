// The Node worker of bench/run.py: libdlock-worker.mjs WHAT URL CALLERS SECONDS; see bench/README.md.

import { connect, Snowflake } from "libdlock";

import { answer, loops, PERMITS, ready, run } from "./callers.mjs";

const BATCH = 1000; // ids
const JOBS = 100; // in a batch, in every language
const PAYLOAD = Buffer.alloc(100, "x");
const APART_MS = 5; // between two acquires of `lost`, so that the leases end one after the other

const [what, url, count, length] = process.argv.slice(2);
const callers = Number(count);
const seconds = Number(length);
const client = await connect(url);

// Decisions of one rate limiter, so wide that nobody is refused.
function decisions() {
  const limiter = client.rateLimiter("bench", { tokens: 1_000_000, perMs: 1000 });
  return async (end) => {
    let done = 0;
    while (performance.now() < end) {
      const { allowed } = await limiter.tryAcquire();
      if (!allowed) throw new Error("refused");
      done++;
    }
    return done;
  };
}

// Of one that hardly ever asks the server.
function prefetched() {
  const limiter = client.rateLimiter("bench", { tokens: 1_000_000_000, perMs: 1000, prefetch: 0.5 });
  return async (end) => {
    let done = 0;
    while (performance.now() < end) {
      for (let each = 0; each < BATCH; each++) {
        if (!(await limiter.tryAcquire()).allowed) throw new Error("refused");
      }
      done += BATCH;
    }
    return done;
  };
}

function ids() {
  const generator = new Snowflake({ datacenter: 1, worker: 1 });
  return (end) => {
    let done = 0;
    while (performance.now() < end) {
      for (let each = 0; each < BATCH; each++) generator.nextId();
      done += BATCH;
    }
    return done;
  };
}

function batches() {
  const generator = new Snowflake({ datacenter: 1, worker: 1 });
  return (end) => {
    let done = 0;
    while (performance.now() < end) done += generator.nextIds(BATCH).length;
    return done;
  };
}

// A job is put, one is taken, and ended.
function jobs() {
  const queue = client.queue("bench");
  return async (end) => {
    let done = 0;
    while (performance.now() < end) {
      await queue.put(PAYLOAD);
      const delivery = await queue.take();
      await delivery.ack();
      done++;
    }
    return done;
  };
}

// The same of a batch.
function job_batches() {
  const queue = client.queue("bench");
  const payloads = new Array(JOBS).fill(PAYLOAD);
  return async (end) => {
    let done = 0;
    while (performance.now() < end) {
      await queue.putMany(payloads);
      const acked = await queue.ackMany(await queue.takeMany(JOBS));
      done += acked.filter(Boolean).length;
    }
    return done;
  };
}

// Holds so many locks; from the start on the server does not answer. Tells how long before each lease's end its signal came.
async function lost() {
  const holds = [];
  for (let caller = 0; caller < callers; caller++) {
    holds.push(await client.lock(`bench-${caller}`).acquire());
    await new Promise((resolve) => setTimeout(resolve, APART_MS));
  }
  // Whoever minds listens from the start.
  const signals = holds.map((held) => held.signal);
  await ready();
  const margins = holds.map((held, caller) => {
    const ends = performance.now() + held.remainingMs;
    return new Promise((resolve) => {
      signals[caller].addEventListener("abort", () => resolve(ends - performance.now()), { once: true });
    });
  });
  await answer({ margins_ms: await Promise.all(margins) });
  process.exit(0); // nothing is left to release
}

const works = { decisions, prefetched, ids, batches, jobs, job_batches };
if (what === "lost") await lost();
else if (what in works) await loops(Array.from({ length: callers }, works[what]), seconds);
else if (what === "permits") await run(what, (name) => client.semaphore(name, PERMITS), callers, seconds);
else await run(what, (name) => client.lock(name), callers, seconds);
await client.close();
