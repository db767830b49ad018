// Errors: the vectors that every language checks, and what a JavaScript program sees of one.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";
import { inspect } from "node:util";

import { DlockError, connect } from "libdlock";

import { ROOT, freshName, rejects, stopwatch, useServer, vectors } from "./kit/index.mjs";

const failure = ({ code: errno, name: kind, retryable = false }) => {
  return { errno, kind, op: "acquire", object: "k", message: "what happened", retryable };
};

describe("DlockError", () => {
  it("has every code of the vectors, and its type no other", () => {
    const named = vectors("errors").filter((row) => row.node);
    for (const row of named) {
      const error = new DlockError(failure(row));
      assert.equal(error.code, row.node);
      assert.equal(error.kind, row.name);
      assert.equal(error.errno, row.code);
      assert.deepEqual([error.name, error.op, error.object], ["DlockError", "acquire", "k"]);
      assert.equal(error.message, "what happened");
    }
    const source = readFileSync(join(ROOT, "node/ts/error.ts"), "utf8");
    const [, union] = /export type ErrorKind =\n([^;]*);/.exec(source);
    assert.deepEqual(
      [...union.matchAll(/"(.*?)"/g)].map(([, kind]) => kind).sort(),
      named.map(({ name }) => name).sort(),
    );
  });

  it("has the family of the vectors, and says of each error whether a retry can help", () => {
    for (const row of vectors("errors").filter((row) => row.node)) {
      for (const retryable of [true, false]) {
        const error = new DlockError(failure({ ...row, retryable }));
        assert.deepEqual([error.family, error.retryable], [row.family, retryable], row.name);
      }
    }
  });

  it("carries facts, which JSON and inspect show, and no others", () => {
    const facts = { holder: "a:1", remainingMs: 2500, retryAfterMs: 0.25, allowed: "1 to 5" };
    const error = new DlockError({ ...failure({ code: 1, name: "BUSY" }), ...facts });
    const written = JSON.parse(JSON.stringify(error));
    for (const [fact, value] of Object.entries(facts)) {
      assert.deepEqual([error[fact], written[fact]], [value, value]);
      assert.match(inspect(error), new RegExp(`${fact}: '?${String(value)}`));
    }
    const bare = new DlockError(failure({ code: -13, name: "CLOSED" }));
    assert.doesNotMatch(inspect(bare), /holder|remainingMs|retryAfterMs|allowed|family/);
  });

  it("is an Error, also that of the package's other copy", () => {
    const { DlockError: Required } = createRequire(import.meta.url)("libdlock");
    for (const Class of [DlockError, Required]) {
      const error = new Class(failure({ code: 1, name: "BUSY" }));
      assert.ok(error instanceof Error && error instanceof DlockError && error instanceof Required);
    }
    for (const other of [new Error("x"), null, undefined, 1, {}]) assert.equal(other instanceof DlockError, false);
  });

  it("may be derived from, and is no instance of what is derived", () => {
    class Derived extends DlockError {}
    const error = new DlockError(failure({ code: 1, name: "BUSY" }));
    const derived = new Derived(failure({ code: 1, name: "BUSY" }));
    assert.equal(error instanceof Derived, false);
    assert.ok(derived instanceof Derived && derived instanceof DlockError);
  });

  it("refuses the bad URLs of the vectors and shows none of their secrets", async () => {
    const { bad } = JSON.parse(readFileSync(join(ROOT, "tests/vectors/urls.json"), "utf8"));
    for (const { url, says, kind } of bad) {
      const error = await rejects(connect(url), kind ?? "INVALID_ARGUMENT");
      assert.ok(error.message.includes(says), `${url}: ${error.message}`);
      assert.ok(!error.message.includes("cret"), `${url}: ${error.message}`);
    }
  });

  it("says in its stack who called", async () => {
    const client = await connect("memory://");
    const lock = client.lock("k");
    await lock.acquire();
    async function theCaller() {
      await lock.acquire({ waitMs: 0 });
    }
    const error = await rejects(theCaller(), "BUSY");
    assert.match(error.stack, /^DlockError: .*\n(.*\n)*.*theCaller/);
    assert.match(inspect(error), /code: 'DLOCK_BUSY'/);
    await client.close();
  });
});

describe("the server's errors", () => {
  const shared = useServer();

  it("nobody listens: CONNECTION within connectTimeoutMs", async () => {
    const took = stopwatch();
    const error = await rejects(connect("redis://127.0.0.1:1", { connectTimeoutMs: 300 }), "CONNECTION");
    assert.ok(took() < 1_500);
    assert.equal(error.retryable, true);
  });

  it("a wrong password: no text repeats it, and no retry can help", async () => {
    const secret = "correct horse battery";
    const url = shared.server.url.replace("redis://", `redis://somebody:${encodeURIComponent(secret)}@`);
    for (const args of [[url], [shared.server.url, { user: "somebody", password: secret }]]) {
      const error = await connect(...args).catch((error) => error);
      assert.ok(error instanceof DlockError);
      assert.deepEqual([error.kind, error.retryable], ["CONNECTION", false]);
      const texts = `${inspect(error)} ${error.stack}`;
      assert.ok(!texts.includes(secret) && !texts.includes(encodeURIComponent(secret)), texts);
    }
  });

  it("a key that holds something else: WRONG_TYPE, and the data stays", async () => {
    const client = await connect(shared.server.url);
    const name = freshName();
    await shared.server.command("SET", name, "precious");
    const error = await rejects(client.lock(name).acquire({ waitMs: 10_000 }), "WRONG_TYPE");
    assert.equal(error.object, name);
    assert.equal(await shared.server.command("GET", name), "precious");
    await client.close();
  });

  it("a server without memory: OUT_OF_MEMORY", async () => {
    const client = await connect(shared.server.url);
    await shared.server.command("CONFIG", "SET", "maxmemory", "1");
    try {
      await rejects(client.lock(freshName()).acquire({ waitMs: 10_000 }), "OUT_OF_MEMORY");
    } finally {
      await shared.server.command("CONFIG", "SET", "maxmemory", "0");
    }
    await client.close();
  });

  it("a held lock: BUSY, with the holder and the rest of its lease", async () => {
    const [ours, theirs] = [await connect(shared.server.url), await connect(shared.server.url)];
    const name = freshName();
    const held = await theirs.lock(name).acquire();
    const error = await rejects(ours.lock(name).acquire({ waitMs: 0 }), "BUSY");
    assert.deepEqual([error.holder, error.object, error.retryable], [held.owner, name, true]);
    assert.ok(error.remainingMs > 20_000 && error.remainingMs <= 30_000, String(error.remainingMs));
    assert.deepEqual([error.family, error.allowed, error.retryAfterMs], [undefined, undefined, undefined]);
    await Promise.all([ours.close(), theirs.close({ release: true })]);
  });

  it("a value out of range: INVALID_ARGUMENT, with what is allowed", async () => {
    const client = await connect(shared.server.url);
    const calls = [
      [() => client.lock("k", { leaseMs: 5 }), "100 ms to 24 h"],
      [() => client.lock("k", { leaseMs: 0.5 }), "whole milliseconds"],
      [() => client.rateLimiter("k", { tokens: 1, perMs: 1, absent: "maybe" }), '"fail", "deny"'],
      [() => connect("memory://", { cohortMax: 1e9 }), "whole numbers from "],
    ];
    for (const [call, allowed] of calls) {
      const error = await rejects((async () => call())(), "INVALID_ARGUMENT");
      assert.ok(error.allowed.startsWith(allowed), error.allowed);
      assert.ok(error.message.endsWith(`; allowed: ${error.allowed}`), error.message);
      assert.deepEqual([error.family, error.retryable], ["USAGE", false]);
    }
    await client.close();
  });

  it("an access rule that forbids it: NO_PERMISSION, with the rule", async () => {
    await shared.server.command("ACL", "SETUSER", "poor", "on", ">x", "+@all", "~other:*", "&*");
    const client = await connect(shared.server.url, { user: "poor", password: "x" });
    const error = await rejects(client.lock(freshName()).acquire({ waitMs: 10_000 }), "NO_PERMISSION");
    assert.match(error.message, /~/);
    await client.close();
  });
});
