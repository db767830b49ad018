// A process ends whatever is under way, and stays alive only for what is pending.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { connect } from "libdlock";

import { LONG, Program, freshName, stopwatch, useServer, waits } from "./kit/index.mjs";

const WAYS = ["exit", "close", "throw", "blocked"];

describe("a process", () => {
  const shared = useServer();

  async function leave(url, way) {
    const program = new Program("pending.mjs", [url, freshName(), way]);
    const took = stopwatch();
    const { code, signal } = await program.end();
    assert.deepEqual([code, signal], [7, null], `${way}: ${program.stderr}`);
    return took();
  }

  for (const way of WAYS) {
    it(`leaves with 800 operations pending: ${way}`, () => leave(shared.server.url, way));
    it(`leaves with 800 operations pending on memory://: ${way}`, () => leave("memory://", way));
  }

  it("leaves with 800 operations pending, 200 times", { skip: LONG }, async () => {
    const times = [];
    for (let round = 0; round < 50; round++) {
      for (const way of WAYS) times.push(await leave(shared.server.url, way));
    }
    console.log(`${times.length} exits, the slowest after ${Math.max(...times).toFixed(0)} ms`);
  });

  it("ends by itself while clients are open, locks and permits held", async () => {
    for (let round = 0; round < 3; round++) {
      const program = new Program("by-itself.mjs", [shared.server.url, freshName()]);
      assert.equal(await program.line(), "last line");
      const began = performance.now();
      assert.deepEqual(await program.end(), { code: 0, signal: null }, program.stderr);
      assert.ok(performance.now() - began < 5_000);
    }
  });

  it("that exits with permits held gives them back with their lease", async () => {
    const name = freshName();
    const program = new Program("permits.mjs", [shared.server.url, name, 1_000]);
    await program.line();
    const client = await connect(shared.server.url, { pollIntervalMs: 200 });
    const semaphore = client.semaphore(name, 3);
    program.child.stdin.end();
    assert.deepEqual(await program.end(), { code: 0, signal: null }, program.stderr);
    assert.equal((await semaphore.inspect()).available, 1);
    const took = stopwatch();
    const held = await semaphore.acquire({ permits: 3, waitMs: 10_000 });
    // The lease, a poll (+ 20 %) and what a busy machine takes.
    assert.ok(took() < 1_000 + 240 + 2_000);
    await held.release();
    await client.close();
  });

  it("stays alive for an operation that is pending, and only for that", async () => {
    const client = await connect(shared.server.url);
    const name = freshName();
    const held = await client.lock(name).acquire();
    const program = new Program("waits.mjs", [shared.server.url, name]);
    assert.equal(await program.line(), "waiting");
    while (!(await waits(shared.server, name)));
    assert.equal(program.child.exitCode, null);
    await held.release();
    assert.equal(await program.line(), "got it");
    assert.deepEqual(await program.end(), { code: 0, signal: null }, program.stderr);
    await client.close();
  });
});
