// What the tests share: names that no other test uses, both backends, programs in processes of their own.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { after, before, describe } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

import { connect } from "libdlock";

import { RedisServer } from "./redis.mjs";
import { ROOT, vectorFile, vectors } from "./vectors.mjs";

export { Proxy } from "./proxy.mjs";
export { RedisServer };
export { ROOT, vectorFile, vectors };

export const TESTS = dirname(dirname(fileURLToPath(import.meta.url)));
export const LONG = process.env.DLOCK_LONG === "1" ? false : "part of check-long";

/** Whether another client stands in the queue for a lock, or in that of another kind, and listens. */
export async function waits(server, name, queue = "queue") {
  const [first] = await server.command("ZRANGE", `dlock_${queue}:{${name}}`, 0, 0);
  return first !== undefined && (await server.command("PUBSUB", "NUMSUB", `dlock_inbox:${first}`))[1] === 1;
}

/** When a wait is given up: far beyond what even a busy machine takes, because it tells of what never happens and not of what is slow. */
export const NEVER_MS = 60_000;

/** Asks again and again until the answer is yes. */
export async function until(condition) {
  const deadline = performance.now() + NEVER_MS;
  while (!(await condition())) {
    assert.ok(performance.now() < deadline, "it never came true");
    await pause(5);
  }
}

let numbers = 0;
export const freshName = () => `lock-${process.pid}-${numbers++}`;

/** One server for the calling test file. */
export function useServer() {
  const shared = {};
  before(async () => {
    shared.server = await RedisServer.start();
  });
  after(() => shared.server.stop());
  return shared;
}

/** Runs the tests that `define` makes on both backends; `context` has a `url`, a `client` on it and `open()` for more. */
export function onBothBackends(define) {
  for (const backend of ["redis", "memory"]) {
    describe(backend, () => {
      const context = { clients: [] };
      let server;
      context.open = async (options) => {
        const client = await connect(context.url, options);
        context.clients.push(client);
        return client;
      };
      before(async () => {
        server = backend === "redis" ? await RedisServer.start() : undefined;
        context.server = server;
        context.url = server?.url ?? `memory://${freshName()}`;
        context.client = await context.open();
      });
      after(async () => {
        for (const client of context.clients) await client.close();
        await server?.stop();
      });
      define(context);
    });
  }
}

/** Asserts that `promise` rejects with a DlockError of that kind, and gives it. */
export async function rejects(promise, kind) {
  let caught;
  await assert.rejects(promise, (error) => {
    caught = error;
    assert.equal(error.name, "DlockError", error.stack);
    assert.equal(error.kind, kind, error.stack);
    return true;
  });
  return caught;
}

/** As `rejects`, for a function that throws. */
export function throws(act, kind) {
  let caught;
  assert.throws(act, (error) => {
    caught = error;
    return error.name === "DlockError" && error.kind === kind;
  });
  return caught;
}

/** How many ms threads of this process were ready to run so far while others had the processors. */
function hindered() {
  let ms = 0;
  for (const thread of readdirSync("/proc/self/task")) {
    try {
      ms += readFileSync(`/proc/self/task/${thread}/schedstat`, "utf8").split(" ")[1] / 1e6;
    } catch (error) {
      if (!["ENOENT", "ESRCH"].includes(error.code)) throw error; // it has ended meanwhile
    }
  }
  return ms;
}

/** What it gives tells how many ms have passed since, without those in which a busy machine kept this process from running. */
export function stopwatch() {
  const [began, before] = [performance.now(), hindered()];
  return () => performance.now() - began - Math.max(0, hindered() - before);
}

/**
 * For a bound of a few milliseconds, which a busy machine may break through no fault of ours: one of five attempts has to
 * keep it. A defect breaks all of them.
 */
export async function oneOfFive(attempt) {
  for (let left = 4; ; left--) {
    try {
      return await attempt();
    } catch (error) {
      if (left === 0) throw error;
    }
  }
}

/** Resolves with the reason when `signal` fires. The timer keeps the process alive meanwhile: the signal does not. */
export async function fired(signal, withinMs = NEVER_MS) {
  const late = AbortSignal.timeout(withinMs);
  const keepAlive = setTimeout(() => undefined, withinMs);
  try {
    if (!signal.aborted) await once(signal, "abort", { signal: late });
    return signal.reason;
  } finally {
    clearTimeout(keepAlive);
  }
}

const running = new Set();
process.once("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/** A program of `programs/` in a process of its own; `line()` gives its output, `end()` how it ended. */
export class Program {
  constructor(name, args, { nodeOptions = [], env = {} } = {}) {
    const command = [...nodeOptions, join(TESTS, "programs", name), ...args.map(String)];
    this.child = spawn(process.execPath, command, {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...env },
    });
    running.add(this.child);
    this.child.once("exit", () => running.delete(this.child));
    this.stderr = "";
    this.child.stderr.setEncoding("utf8").on("data", (text) => (this.stderr += text));
    this.lines = createInterface({ input: this.child.stdout })[Symbol.asyncIterator]();
    this.closed = once(this.child, "close");
  }

  /** The next line of its output. */
  async line() {
    const { value, done } = await this.lines.next();
    assert.ok(!done, `the program ended: ${this.stderr}`);
    return value;
  }

  /** Its exit code and signal, within `withinMs`. */
  async end(withinMs = NEVER_MS) {
    const late = setTimeout(() => this.child.kill("SIGKILL"), withinMs);
    const [code, signal] = await this.closed;
    clearTimeout(late);
    assert.notEqual(signal, "SIGKILL", `no end after ${withinMs} ms: ${this.stderr}`);
    return { code, signal };
  }
}
