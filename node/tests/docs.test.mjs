// The pages of docs/node and the package's README do what they say.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { ROOT, TESTS, oneOfFive, useServer, vectorFile, vectors } from "./kit/index.mjs";

const page = (name) => readFileSync(join(ROOT, "docs/node", name), "utf8");
const examplesOf = (text) => [...text.matchAll(/^```js\n([^]*?)^```$/gm)].map(([, example]) => example);
const GUIDE = page("README.md");
const FIRST = examplesOf(GUIDE)[0];
/** What the examples of each page say, among other things. */
const SAID = {
  "README.md": [
    /^BUSY: held by .+, at most \d+ ms$/m,
    /^1 acquired, 0 waited, 99 of 100 within [\d.]+ ms$/m,
    /^theirs: null$/m,
  ],
  "lock.md": [
    /^processes in the queue: 0$/m,
    /^gave up: AbortError$/m,
    /^stop everything: expired true$/m,
    /^handed over: true$/m,
  ],
  "semaphore.md": [
    /^one of at most ten at a time$/m,
    /^permits: 3$/m,
    /^two more: null$/m,
    /^gave up: TimeoutError$/m,
    /^7 of 8 available, 0 processes wait$/m,
    /^sizes: 1 2 3$/m,
  ],
  "rw-lock.md": [
    /^first reader, beside others$/m,
    /^alone, .*: true$/m,
    /^1 reads, writer: undefined$/m,
    /^a writer finds: null$/m,
    /^writing as write\ngoing on as read\nreleased at the end: true$/m,
    /^refused: DLOCK_DEADLOCK$/m,
    /^shared: shared$/m,
  ],
  "lock-all.md": [
    /^account\/42 token below 2\^53: true\naccount\/7 token below 2\^53: true$/m,
    /^one of them: null$/m,
    /^tokens: 2 all valid: true$/m,
    /^busy: account\/42$/m,
    /^free: true$/m,
    /^stop: account\/42 deleted$/m,
    /^told again: DLOCK_NOT_HELD$/m,
  ],
  "bloom-filter.md": [/^new: true true false\nknown: true false$/m, /^few false positives: true$/m],
  "latch.md": [
    /^left: 1\nleft: 0\nopen: true$/m,
    /^started: false\noff we go$/m,
    /^gave up: TimeoutError$/m,
    /^removed: true$/m,
  ],
  "queue.md": [
    /^sends to: ada\n1 waits until it is due$/m,
    /^sends to: edsger\nfinished: true$/m,
    /^dead: q3 no paper\nagain: true$/m,
  ],
  "id-generator.md": [/^in order: true blocks of 5000$/m, /^at least 7000000: true$/m],
  "counting-semaphore.md": [
    /^made: true$/m,
    /^two more: false$/m,
    /^gave up: TimeoutError$/m,
    /^true: 3 available, 0 processes wait$/m,
  ],
  "rate-limiter.md": [/^go, and 19 more at once$/m, /^paced: true 20$/m, /^true 0$/m, /^send it$/m],
  "frameworks.md": [
    /^express: 200 "api";r=1;t=30\nexpress: 429 retry after 30 s$/m,
    /^fastify: 200 200 429$/m,
    /^koa: 200 429$/m,
    /^dlock_client_acquired_total\{client="orders",kind="lock"\} 1$/m,
    /^alone, fencing token below 2\^53: true\nnot available: true$/m,
    /^held: exclusive\nstolen from: AbortError$/m,
  ],
  "worker.md": [/^as worker 0 : true$/m, /^all are taken: DLOCK_BUSY retry known: true$/m],
  "ids.md": [/^the same: true$/m, /^id of worker 7 made just now$/m],
};

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
    assert.ok(GUIDE.startsWith(`# libdlock for Node\n\n\`\`\`js\n${FIRST}`));
    assert.match(await run("first.mjs", FIRST), /^held, fencing token \d{16}n\nfree again: true\n$/);
  });

  it("has a check for each page", () => {
    assert.deepEqual(readdirSync(join(ROOT, "docs/node")).sort(), Object.keys(SAID).sort());
  });

  for (const [name, said] of Object.entries(SAID)) {
    it(`has examples that run in order: ${name}`, async () => {
      const examples = examplesOf(page(name)).filter((example) => example !== FIRST);
      const check = async () => {
        const out = await run(name.replace(".md", ".mjs"), [importOf(FIRST), ...examples].join("\n"));
        for (const line of said) assert.match(out, line);
      };
      // Its program is told some milliseconds before the end of its lease, and says whether any were left.
      await (name === "lock.md" ? oneOfFive(check) : check());
    });
  }

  it("names every error and every option", () => {
    for (const { node } of vectors("errors")) {
      if (node) assert.ok(GUIDE.includes(`\`${node}\``), node);
    }
    const source = readFileSync(join(ROOT, "node/ts/options.ts"), "utf8");
    const [, list, group] = /const CORE = \{([^}]*) lock: group\(\{([^}]*)\}\)/.exec(source);
    const names = (readers) => [...readers.matchAll(/(\w+):/g)].map(([, option]) => option);
    const camel = ({ name, type }) =>
      name.replace(/_./g, ([, c]) => c.toUpperCase()) + (type === "duration" ? "Ms" : "");
    const { options, password_sources: sources } = vectorFile("options");
    const facts = [...options, ...sources];
    const inGroup = facts.filter((option) => option.group).map(camel);
    const atTop = facts.filter((option) => !option.group).map(camel);
    for (const option of [...atTop, "signal", "onEvent"]) assert.ok(GUIDE.includes(`\`${option}\``), option);
    for (const option of inGroup) assert.ok(GUIDE.includes(`\`lock.${option}\``), option);
    const flat = facts.filter((option) => option.flat).map(camel);
    assert.deepEqual(names(list).sort(), [...atTop, ...flat].sort());
    assert.deepEqual(names(group).sort(), inGroup.sort());
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
