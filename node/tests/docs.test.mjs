// docs/node.md and the package's README do what they say.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { ROOT, TESTS, useServer, vectors } from "./kit/index.mjs";

const GUIDE = readFileSync(join(ROOT, "docs/node.md"), "utf8");
const examplesOf = (page) => [...page.matchAll(/^```js\n([^]*?)^```$/gm)].map(([, example]) => example);
const EXAMPLES = examplesOf(GUIDE);

describe("the documentation", () => {
  const shared = useServer();

  async function run(name, program) {
    const file = join(dirname(TESTS), name);
    writeFileSync(file, program);
    const env = { ...process.env, REDIS_URL: shared.server.url };
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [file], { env, timeout: 60_000 });
    assert.equal(stderr, "");
    return stdout;
  }

  it("begins with a program that runs as shown", async () => {
    assert.ok(GUIDE.startsWith(`# libdlock for Node\n\n\`\`\`js\n${EXAMPLES[0]}`));
    assert.match(await run("first.mjs", EXAMPLES[0]), /^held, fencing token \d{16}n\nfree again: true\n$/);
  });

  it("has examples that run one after the other", async () => {
    assert.ok(EXAMPLES.length > 6);
    const out = await run("all.mjs", [importOf(EXAMPLES[0]), ...EXAMPLES.slice(1)].join("\n"));
    assert.match(out, /^go, and 19 more at once$/m);
    assert.match(out, /^\d+ acquired, \d+ waited, 99 of 100 within [\d.]+ ms$/m);
    for (const line of [
      "processes in the queue: 0",
      "gave up: AbortError",
      "stop everything: expired true",
      "handed over: true",
      "theirs: null",
      "paced: true 20",
      "the same: true",
      "id of worker 7 made just now",
    ]) {
      assert.ok(out.includes(`${line}\n`), out);
    }
  });

  it("names every error and every option", () => {
    for (const { node } of vectors("errors")) {
      if (node) assert.ok(GUIDE.includes(`\`${node}\``), node);
    }
    const source = readFileSync(join(ROOT, "node/ts/options.ts"), "utf8");
    const [, list] = /const OPTIONS[^=]*= \[([^\]]*)\]/.exec(source);
    const options = [...list.matchAll(/"(\w+)"/g)].map(([, option]) => option);
    for (const option of [...options, "signal", "onEvent"]) assert.ok(GUIDE.includes(`\`${option}\``), option);
    const camel = ({ name, type }) =>
      name.replace(/_./g, ([, c]) => c.toUpperCase()) + (type === "duration" ? "Ms" : "");
    const known = [...vectors("options").map(camel), "passwordEnv", "passwordFile"];
    assert.deepEqual(options.sort(), known.sort());
  });

  it("of the package itself has a program that runs", async () => {
    const [example] = examplesOf(readFileSync(join(ROOT, "node/README.md"), "utf8"));
    const program = example.replace('"redis://127.0.0.1:6379"', "process.env.REDIS_URL");
    assert.notEqual(program, example);
    assert.match(await run("readme.mjs", program), /^held, fencing token \d{16}n\n$/);
  });
});

/** The import of the first program: the later ones go without. */
function importOf(example) {
  return /^import .*$/m.exec(example)[0];
}
