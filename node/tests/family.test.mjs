// Node's processes come of child_process and cluster, which start afresh; a child neither holds nor releases.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Program, freshName, useServer } from "./kit/index.mjs";

describe("a child of a process that holds a lock", () => {
  const shared = useServer();

  for (const way of ["fork", "spawn", "cluster"]) {
    it(`made by ${way} neither holds nor releases it`, async () => {
      const name = freshName();
      const program = new Program("family.mjs", [shared.server.url, name, way]);
      assert.equal(await program.line(), "child true false null");
      assert.equal(await program.line(), "parent 0 true true");
      assert.deepEqual(await program.end(), { code: 0, signal: null }, program.stderr);
      assert.equal(await shared.server.command("EXISTS", name), 0);
    });
  }
});
