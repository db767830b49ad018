// Errors: the vectors that every language checks, and what a JavaScript program sees of one.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";
import { inspect } from "node:util";

import { DlockError, connect } from "libdlock";

import { ROOT, freshName, rejects, useServer, vectors } from "./kit/index.mjs";

const failure = (row) => ({ errno: row.code, kind: row.name, op: "acquire", object: "k", message: "what happened" });

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
    const began = performance.now();
    await rejects(connect("redis://127.0.0.1:1", { connectTimeoutMs: 300 }), "CONNECTION");
    assert.ok(performance.now() - began < 1_500);
  });

  it("a wrong password: no text repeats it", async () => {
    const secret = "correct horse battery";
    const url = shared.server.url.replace("redis://", `redis://somebody:${encodeURIComponent(secret)}@`);
    for (const args of [[url], [shared.server.url, { user: "somebody", password: secret }]]) {
      const error = await connect(...args).catch((error) => error);
      assert.ok(error instanceof DlockError);
      const texts = `${inspect(error)} ${error.stack}`;
      assert.ok(!texts.includes(secret) && !texts.includes(encodeURIComponent(secret)), texts);
    }
  });

  it("a key that holds something else: WRONG_TYPE, and the data stays", async () => {
    const client = await connect(shared.server.url);
    const name = freshName();
    await shared.server.command("SET", name, "precious");
    const error = await rejects(client.lock(name).acquire({ waitMs: 100 }), "WRONG_TYPE");
    assert.equal(error.object, name);
    assert.equal(await shared.server.command("GET", name), "precious");
    await client.close();
  });

  it("a server without memory: OUT_OF_MEMORY", async () => {
    const client = await connect(shared.server.url);
    await shared.server.command("CONFIG", "SET", "maxmemory", "1");
    try {
      await rejects(client.lock(freshName()).acquire({ waitMs: 100 }), "OUT_OF_MEMORY");
    } finally {
      await shared.server.command("CONFIG", "SET", "maxmemory", "0");
    }
    await client.close();
  });

  it("an access rule that forbids it: NO_PERMISSION, with the rule", async () => {
    await shared.server.command("ACL", "SETUSER", "poor", "on", ">x", "+@all", "~other:*", "&*");
    const client = await connect(shared.server.url, { user: "poor", password: "x" });
    const error = await rejects(client.lock(freshName()).acquire({ waitMs: 100 }), "NO_PERMISSION");
    assert.match(error.message, /~/);
    await client.close();
  });
});
