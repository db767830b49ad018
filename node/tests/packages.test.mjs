// What npm pack made, as its users meet it: by import, by require, in TypeScript, and without the native library.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";

import { ROOT, TESTS } from "./kit/index.mjs";
import { TOOLS, tsc } from "./kit/types.mjs";

const run = promisify(execFile);
const APP = dirname(TESTS);
const PACKAGES = join(APP, "packages");
const installed = (name) => join(APP, "node_modules", name);
const manifest = (name) => JSON.parse(readFileSync(join(installed(name), "package.json"), "utf8"));
const PLATFORM = `libdlock-linux-${process.arch}-gnu`;

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), "libdlock-consumer-"));
  folders.push(folder);
  return folder;
};

/** A fresh folder with the named packages installed, as a user would. */
async function install(...packages) {
  const folder = newFolder();
  writeFileSync(join(folder, "package.json"), '{ "private": true }');
  const tarballs = readdirSync(PACKAGES).filter((file) =>
    packages.some((name) => new RegExp(`^${name}-\\d`).test(file)),
  );
  assert.equal(tarballs.length, packages.length);
  const quiet = ["--offline", "--no-audit", "--no-fund", "--loglevel=error"];
  await run("npm", ["install", ...quiet, ...tarballs.map((file) => join(PACKAGES, file))], { cwd: folder });
  return folder;
}

const installs = new Map();
/** A copy of such a folder, for which npm has worked once. */
async function fresh(...packages) {
  const key = packages.join();
  if (!installs.has(key)) installs.set(key, install(...packages));
  const folder = newFolder();
  cpSync(await installs.get(key), folder, { recursive: true, verbatimSymlinks: true });
  return folder;
}

describe("the packages", () => {
  it("hold what is needed, and nothing else", () => {
    const files = (name) => readdirSync(installed(name)).sort();
    assert.deepEqual(files("libdlock"), [
      "CHANGELOG.md",
      "LICENSE-APACHE",
      "LICENSE-MIT",
      "README.md",
      "bin",
      "dist",
      "package.json",
    ]);
    assert.deepEqual(files(PLATFORM), ["LICENSE-APACHE", "LICENSE-MIT", "bin", "dlock.node", "package.json"]);
    assert.ok(!readdirSync(join(installed("libdlock"), "dist/esm")).some((file) => file.endsWith(".map")));
  });

  it("have one version, and name one another by it", () => {
    const [, version] = /\[workspace\.package\]\nversion = "(.*)"/.exec(readFileSync(join(ROOT, "Cargo.toml"), "utf8"));
    const main = manifest("libdlock");
    const platform = manifest(PLATFORM);
    assert.equal(JSON.parse(readFileSync(join(ROOT, "node/package.json"), "utf8")).version, version);
    assert.deepEqual(
      [main.version, platform.version, main.optionalDependencies[PLATFORM]],
      [version, version, version],
    );
    assert.deepEqual([platform.os, platform.cpu, platform.libc], [["linux"], [process.arch], ["glibc"]]);
    assert.equal(main.dependencies, undefined);
    assert.equal(main.devDependencies, undefined);
  });

  it("keep what publint asks of a package", async () => {
    const { publint } = await import(pathToFileURL(join(TOOLS, "publint/src/index-node.js")).href);
    for (const name of ["libdlock", PLATFORM]) {
      const { messages } = await publint({ pkgDir: installed(name), strict: true, pack: false });
      // The native library's package is CommonJS without saying so; the licence field is an SPDX expression.
      assert.deepEqual(
        messages.filter(({ type }) => type !== "suggestion").map(({ code }) => code),
        [],
      );
    }
  });
});

describe("a consumer", () => {
  for (const file of ["consumer.mjs", "consumer.cjs"]) {
    it(`${file} in a fresh folder`, async () => {
      const folder = await fresh("libdlock", PLATFORM);
      cpSync(join(TESTS, "consumers", file), join(folder, file));
      const { stdout } = await run(process.execPath, [file], { cwd: folder });
      assert.equal(stdout, "bigint 2 2 0 true read function\n");
    });
  }

  // The oldest compiler that the declarations are for, and the newest.
  for (const compiler of ["typescript-oldest", "typescript-newest"]) {
    const { version } = JSON.parse(readFileSync(join(TOOLS, compiler, "package.json"), "utf8"));
    for (const [module, resolution, lib, ...kinds] of [
      ["node16", "node16", "es2022", "mts", "cts"],
      ["nodenext", "nodenext", "es2022", "mts", "cts"],
      ["esnext", "bundler", "es2022,dom", "ts"],
    ]) {
      // The same to the oldest.
      if (module === "nodenext" && compiler === "typescript-oldest") continue;
      it(`in TypeScript ${version}: ${kinds.join(" and ")}, module ${module}, resolution ${resolution}`, async () => {
        const sources = kinds.map((kind) => join(APP, `consumer.${kind}`));
        for (const source of sources) cpSync(join(TESTS, "consumers/consumer.ts.txt"), source);
        // No skipLibCheck: our declarations themselves have to be right.
        const options = ["--strict", "--noEmit", "--exactOptionalPropertyTypes", "--target", "es2022", "--lib", lib];
        const types = ["--types", "node", "--typeRoots", join(TOOLS, "@types"), "--skipLibCheck", "false"];
        const modules = ["--module", module, "--moduleResolution", resolution];
        const command = [...tsc(compiler), ...options, ...types, ...modules, ...sources];
        await run(process.execPath, command, { cwd: APP }).catch(({ stdout }) => assert.fail(stdout));
      });
    }
  }
});

describe("without the native library", () => {
  const failure = async (folder, code, ...options) => {
    const error = await run(process.execPath, [...options, "-e", code], { cwd: folder }).catch((error) => error);
    assert.equal(error.code, 1, "it loaded");
    return error.stderr;
  };

  it("an error names the platform, the package, and what to do", async () => {
    const folder = await fresh("libdlock");
    for (const code of ['require("libdlock")', 'import("libdlock")']) {
      const text = await failure(folder, code);
      assert.match(text, new RegExp(`for linux ${process.arch} is in the package ${PLATFORM}, which is not installed`));
      assert.match(text, /--omit=optional/);
      assert.match(text, new RegExp(`install ${PLATFORM}`));
    }
  });

  it("an unsupported platform is named, with those that are supported", async () => {
    for (const [platform, arch] of [
      ["freebsd", "x64"],
      ["win32", "x64"],
      ["linux", "ia32"],
    ]) {
      const pretend = `Object.defineProperties(process, { platform: { value: "${platform}" }, arch: { value: "${arch}" } })`;
      const text = await failure(APP, `${pretend}; require("libdlock")`, "--input-type=commonjs");
      assert.match(text, new RegExp(`no native library for ${platform} ${arch}`));
      assert.match(text, /It is built for linux-x64-gnu, .*darwin-arm64/);
    }
  });

  it("the command names the package, and what to do", async () => {
    const folder = await fresh("libdlock");
    const error = await run(join(folder, "node_modules/.bin/dlock"), ["--version"]).catch((error) => error);
    assert.equal(error.code, 125);
    assert.match(error.stderr, new RegExp(`in the package ${PLATFORM}, which is not installed`));
    assert.match(error.stderr, /--omit=optional/);
  });

  it("the command finds the package in a folder above, as Node would", async () => {
    const folder = await fresh("libdlock", PLATFORM);
    const inner = join(folder, "packages/inner/node_modules");
    cpSync(join(folder, "node_modules/libdlock"), join(inner, "libdlock"), { recursive: true });
    const { stdout } = await run(join(inner, "libdlock/bin/dlock"), ["--version"]);
    assert.equal(stdout, `dlock ${manifest("libdlock").version}\n`);
  });

  it("one that is broken is told from one that is missing", async () => {
    const folder = await fresh("libdlock", PLATFORM);
    writeFileSync(join(folder, "node_modules", PLATFORM, "dlock.node"), "no library");
    const text = await failure(folder, 'require("libdlock")');
    assert.match(text, new RegExp(`\\(package ${PLATFORM}\\) does not load`));
  });
});
