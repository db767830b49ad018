// Programs that leave this package outside of their bundle: tools that trace files, as Next.js does for its standalone output, take the
// native library along; and webpack finds the package by what docs/node/README.md says.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { promisify } from "node:util";

import { ROOT, TESTS } from "./kit/index.mjs";

const run = promisify(execFile);
const APP = dirname(TESTS);
const PACKAGES = ["libdlock", `libdlock-linux-${process.arch}-gnu`];
const PROGRAMS = ["consumer.mjs", "consumer.cjs"];
const WORKS = "bigint 2 2 0 true read function\n";
const tool = createRequire(join(ROOT, "node/package.json"));

const folders = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

function folder() {
  const made = mkdtempSync(join(realpathSync(tmpdir()), "libdlock-traced-"));
  folders.push(made);
  return made;
}

/** A project with the program and with what npm has installed for it. */
function project(name) {
  const made = folder();
  mkdirSync(join(made, "node_modules"));
  for (const each of PACKAGES)
    cpSync(join(APP, "node_modules", each), join(made, "node_modules", each), { recursive: true });
  cpSync(join(TESTS, "consumers", name), join(made, name));
  return made;
}

describe("the files that @vercel/nft traces", () => {
  for (const name of PROGRAMS) {
    it(`of ${name} run by themselves`, async () => {
      const from = project(name);
      const { fileList } = await tool("@vercel/nft").nodeFileTrace([join(from, name)], { base: from });
      const to = folder();
      for (const file of fileList) cpSync(join(from, file), join(to, file), { recursive: true });
      assert.equal((await run(process.execPath, [join(to, name)])).stdout, WORKS);
    });
  }
});

describe("a bundle of webpack", () => {
  const page = readFileSync(join(ROOT, "docs/node/README.md"), "utf8");
  const options = [...page.matchAll(/`(externals: \[.*?\], externalsType: ".*?")`/g)].map(([, shown]) => shown);

  it("has its options in the page", () => {
    assert.equal(options.length, 1);
  });

  for (const name of PROGRAMS) {
    it(`of ${name} finds the package that is installed beside it`, async () => {
      const from = project(name);
      const { externals, externalsType } = Function(`return { ${options[0]} }`)();
      const config = {
        mode: "production",
        target: "node",
        context: from,
        entry: `./${name}`,
        output: { path: from, filename: "bundle.cjs" },
        externals,
        externalsType,
      };
      const stats = await promisify(tool("webpack"))(config);
      assert.equal(stats.toString({ all: false, errors: true, warnings: true }), "");
      rmSync(join(from, name));
      assert.equal((await run(process.execPath, [join(from, "bundle.cjs")])).stdout, WORKS);
    });
  }
});
