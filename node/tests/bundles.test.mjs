// A program as one file, made by a bundler: it finds the native library, which is installed beside it and nothing else is.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { promisify } from "node:util";

import { ROOT, TESTS } from "./kit/index.mjs";

const run = promisify(execFile);
const APP = dirname(TESTS);
const PLATFORM = `libdlock-linux-${process.arch}-gnu`;
const tool = createRequire(join(ROOT, "node/package.json"));
const PROGRAMS = { esm: join(TESTS, "consumers/consumer.mjs"), cjs: join(TESTS, "consumers/consumer.cjs") };

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

/** A folder in which the native library is installed, if anything is. */
function folder(...packages) {
  const made = mkdtempSync(join(tmpdir(), "libdlock-bundle-"));
  folders.push(made);
  mkdirSync(join(made, "node_modules"));
  for (const name of packages)
    cpSync(join(APP, "node_modules", name), join(made, "node_modules", name), { recursive: true });
  return made;
}

/** The program as a user of the bundler has it: below the folder in which libdlock is installed. */
function program(kind) {
  const file = join(APP, `bundled.${kind === "esm" ? "mjs" : "cjs"}`);
  cpSync(PROGRAMS[kind], file);
  return file;
}

async function esbuild(kind, format, outfile, options = {}) {
  const { build } = tool("esbuild");
  const made = { entryPoints: [program(kind)], bundle: true, platform: "node", format, outfile, logLevel: "silent" };
  const { warnings } = await build({ ...made, ...options });
  assert.deepEqual(warnings, []);
}

async function rollup(kind, format, file) {
  const plugins = [
    tool("@rollup/plugin-node-resolve").default({ preferBuiltins: true }),
    tool("@rollup/plugin-commonjs")(),
  ];
  const bundle = await tool("rollup").rollup({
    input: program(kind),
    plugins,
    external: /^node:/,
    onwarn: ({ message }) => assert.fail(message),
  });
  await bundle.write({ file, format, inlineDynamicImports: true });
  await bundle.close();
}

const BUNDLES = [
  ["esbuild", esbuild, "esm", "esm", "mjs"],
  ["esbuild", esbuild, "esm", "cjs", "cjs"],
  ["esbuild", esbuild, "cjs", "cjs", "cjs"],
  ["rollup", rollup, "esm", "es", "mjs"],
  ["rollup", rollup, "esm", "cjs", "cjs"],
];

describe("a bundle", () => {
  for (const [name, bundle, kind, format, extension] of BUNDLES) {
    it(`of ${name}, ${kind} to ${format}, runs with the native library beside it`, async () => {
      const where = folder(PLATFORM);
      const file = join(where, `bundle.${extension}`);
      await bundle(kind, format, file);
      const { stdout } = await run(process.execPath, [file], { cwd: tmpdir() });
      assert.equal(stdout, "bigint 2 2 0 true read function\n");
    });
  }

  it("that is minified runs too", async () => {
    const file = join(folder(PLATFORM), "bundle.mjs");
    await esbuild("esm", "esm", file, { minify: true });
    assert.equal((await run(process.execPath, [file])).stdout, "bigint 2 2 0 true read function\n");
  });

  it("finds the native library of the program that loads it", async () => {
    const file = join(folder(), "bundle.mjs");
    await esbuild("esm", "esm", file);
    const main = join(folder(PLATFORM), "main.mjs");
    writeFileSync(main, `await import(${JSON.stringify(file)});`);
    assert.equal((await run(process.execPath, [main])).stdout, "bigint 2 2 0 true read function\n");
  });

  it("without the native library says which package it needs", async () => {
    const file = join(folder(), "bundle.mjs");
    await esbuild("esm", "esm", file);
    const { stderr } = await run(process.execPath, [file]).catch((error) => error);
    assert.match(stderr, new RegExp(`is in the package ${PLATFORM}, which is not installed`));
  });
});
