// What integrates with frameworks, as their users meet it: by import, by require and in TypeScript, with frameworks and without.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { TESTS } from "./kit/index.mjs";
import { TOOLS, tsc } from "./kit/types.mjs";

const run = promisify(execFile);
const APP = dirname(TESTS);
const PARTS = {
  express: ["rateLimit"],
  fastify: ["default", "rateLimit"],
  koa: ["rateLimit"],
  nestjs: ["LibdlockModule", "RateLimited"],
  "prom-client": ["collectStats"],
};
const load = (part) => `const part = require("libdlock/${part}"); console.log(Object.keys(part).join());`;

describe("a part for a framework", () => {
  for (const [part, names] of Object.entries(PARTS)) {
    it(`can be imported and required: ${part}`, async () => {
      const file = join(APP, `part-${part}.cjs`);
      writeFileSync(file, load(part));
      const { stdout } = await run(process.execPath, [file]);
      const imported = await import(`libdlock/${part}`);
      for (const name of names) {
        assert.ok(stdout.trim().split(",").includes(name), stdout);
        assert.equal(typeof imported[name], "function");
      }
    });
  }

  it("is there without the frameworks, which it needs only at run time", async () => {
    const folder = mkdtempSync(join(tmpdir(), "libdlock-parts-"));
    try {
      for (const name of ["libdlock", `libdlock-linux-${process.arch}-gnu`]) {
        cpSync(join(APP, "node_modules", name), join(folder, "node_modules", name), { recursive: true });
      }
      for (const part of ["express", "fastify", "koa"]) {
        await run(process.execPath, ["-e", load(part)], { cwd: folder });
      }
      const missing = await run(process.execPath, ["-e", load("nestjs")], { cwd: folder }).catch((error) => error);
      assert.match(missing.stderr, /Cannot find module '@nestjs\/common'/);
      symlinkSync(join(TOOLS, "prom-client"), join(folder, "node_modules/prom-client"));
      await run(process.execPath, ["-e", load("prom-client")], { cwd: folder });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  for (const [compiler, module] of [
    ["typescript-oldest", "nodenext"],
    ["typescript-newest", "nodenext"],
    ["typescript-newest", "esnext"],
  ]) {
    it(`has types for ${compiler}, module ${module}`, async () => {
      const file = join(APP, "frameworks.mts");
      cpSync(join(TESTS, "consumers/frameworks.ts.txt"), file);
      const options = ["--strict", "--noEmit", "--exactOptionalPropertyTypes", "--target", "es2022"];
      const decorators = ["--experimentalDecorators", "--emitDecoratorMetadata", "--esModuleInterop"];
      const types = ["--types", "node", "--typeRoots", join(TOOLS, "@types"), "--skipLibCheck", "false"];
      const modules = ["--module", module, "--moduleResolution", module === "esnext" ? "bundler" : module];
      const command = [...tsc(compiler), ...options, ...decorators, ...types, ...modules, file];
      const { stdout = "" } = await run(process.execPath, command, { cwd: APP }).catch((error) => error);
      // Of the declarations of others some are wrong, such as those of @types/koa.
      const ours = stdout.split("\n").filter((line) => /^(?:\S*\/libdlock\/|frameworks)\S*\(/.test(line));
      assert.deepEqual(ours, []);
    });
  }
});
