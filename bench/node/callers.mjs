// Callers on one event loop, and the worker protocol: what they do with locks, whoever made them. A lock here has `acquire()`, which
// resolves with what has `release()`.

import { once } from "node:events";
import { createInterface } from "node:readline";

const WARM_UP_MS = 1000; // the compiler's, and so that connections and keys are warm before the clock starts
const WINDOW_FROM_MS = 500; // before a window is counted, all processes are at work
const HOLD_MS = 2; // of `handover`, in which the other process is waiting for sure

const input = createInterface({ input: process.stdin });

/** Says that all is warm, and resolves when the driver says go. */
export async function ready() {
  console.log("ready");
  await once(input, "line");
}

/** Gives the result, and resolves when the driver has read what it wants to know of this process. */
export async function answer(result) {
  console.log(JSON.stringify(result));
  await once(input, "close");
}

/** Every caller at its own work, which resolves with how often it did it until a point of performance.now(). */
export async function loops(works, seconds) {
  async function all(ms) {
    const end = performance.now() + ms;
    const done = await Promise.all(works.map((work) => work(end)));
    return done.reduce((sum, each) => sum + each);
  }
  await all(WARM_UP_MS);
  await ready();
  const begun = performance.now();
  const done = await all(seconds * 1000);
  await answer({ done, seconds: (performance.now() - begun) / 1000 });
}

function pairs(lock) {
  return async (end) => {
    let done = 0;
    while (performance.now() < end) {
      const held = await lock.acquire();
      await held.release();
      done++;
    }
    return done;
  };
}

// All callers take `bench` and let go of it at once, again and again. Holds that began within the window count.
async function contended(open, callers, seconds) {
  await (await open(`warm-${process.pid}`).acquire()).release();
  const locks = Array.from({ length: callers }, () => open("bench"));
  await ready();
  const from = performance.now() + WINDOW_FROM_MS;
  const to = from + seconds * 1000;
  const waits = [];
  let all = 0;
  async function caller(lock) {
    for (;;) {
      const asked = performance.now();
      if (asked >= to) return;
      const held = await lock.acquire();
      const now = performance.now();
      all++;
      if (from <= now && now < to) waits.push(now - asked);
      await held.release();
    }
  }
  await Promise.all(locks.map(caller));
  const buckets = new Map(); // 32 of them double the time: 2^(n/32) ns
  for (const ms of waits) {
    const bucket = Math.round(32 * Math.log2(Math.max(ms * 1e6, 1)));
    buckets.set(bucket, (buckets.get(bucket) ?? 0) + 1);
  }
  const waited = waits.reduce((sum, ms) => sum + ms / 1000, 0);
  await answer({ done: waits.length, seconds, all, waited, waits: [...buckets] });
}

// So many callers wait for `bench`, which somebody else holds.
async function idle(open, callers) {
  for (let caller = 0; caller < callers; caller++) void open("bench").acquire();
  await ready();
  await answer({});
  process.exit(0); // they wait for ever
}

// Holds `bench` until the driver is done.
async function hold(open) {
  const held = await open("bench").acquire();
  await ready();
  await answer({});
  await held.release();
}

// Takes `bench`, holds it, lets go; tells when it had it and when it called release, on the clock of the machine.
async function handover(open, seconds) {
  await (await open(`warm-${process.pid}`).acquire()).release();
  const lock = open("bench");
  await ready();
  const end = performance.now() + seconds * 1000;
  const turns = [];
  while (performance.now() < end) {
    const held = await lock.acquire();
    const taken = process.hrtime.bigint();
    await new Promise((resolve) => setTimeout(resolve, HOLD_MS));
    const released = process.hrtime.bigint();
    await held.release();
    turns.push([Number(taken), Number(released)]);
  }
  await answer({ turns });
}

/** So many permits has the semaphore of `permits`: one for each caller. */
export const PERMITS = 64;

/** What can be done with any lock; `open` makes one of that name. Of `permits` it makes a semaphore, which all callers share. */
export async function run(what, open, callers, seconds) {
  if (what === "permits") {
    await loops(
      Array.from({ length: callers }, () => pairs(open("bench"))),
      seconds,
    );
  } else if (what === "pairs") {
    await loops(
      Array.from({ length: callers }, (_, caller) => pairs(open(`bench-${caller}`))),
      seconds,
    );
  } else if (what === "contended") await contended(open, callers, seconds);
  else if (what === "idle") await idle(open, callers);
  else if (what === "hold") await hold(open);
  else if (what === "handover") await handover(open, seconds);
  else throw new Error(`there is no ${what}`);
}
