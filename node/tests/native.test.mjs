// The native module itself: that the package knows all of it, that nothing given to it can crash, and (with a library built
// with the feature `fault-injection`, see run-tests.sh) that a panic in any export is an INTERNAL error.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { ROOT, TESTS } from "./kit/index.mjs";

const native = createRequire(join(dirname(TESTS), "x.js"))(`libdlock-linux-${process.arch}-gnu`);
const { Environment } = native;
const methods = Object.getOwnPropertyNames(Environment.prototype).filter((name) => name !== "constructor");
const source = (folder) =>
  readdirSync(join(ROOT, "node", folder))
    .map((file) => readFileSync(join(ROOT, "node", folder, file), "utf8"))
    .join("\n");

// What a method takes: an id, a handle (here that of nothing), the rest as plausible as need be.
const [declaration] = /export interface Environment \{[^]*?^\}/m.exec(
  readFileSync(join(ROOT, "node/ts/native.ts"), "utf8"),
);
const rate = { tokens: 1, perUs: 1000, algorithm: "gcra" };
const rows = new Float64Array(5); // room for one
const plausible = {
  Id: 1,
  Handle: 0,
  string: "k",
  number: 0,
  boolean: true,
  "string[]": ["k"],
  "number[]": [0],
  "[string, string][]": [],
  "Handle[]": [0],
  "Rate[]": [rate],
  "Item[]": ["k"],
  NativeNewJob: { payload: "x", priority: 0 },
  "NativeNewJob[]": [{ payload: new Uint8Array(1), id: "k", delayMs: 0, atMs: 0, priority: 0 }],
  Float64Array: rows,
};
const parameters = Object.fromEntries(
  [...declaration.matchAll(/^ {2}(\w+)\(([^)]*)\)/gm)].map(([, name, list]) => [
    name,
    [...list.matchAll(/\w+\??: ([^,[]+(?:\[\])?|\[[^\]]*\]\[\])(?:,\s*|\s*$)/g)].map(([, type]) => type.trim()),
  ]),
);
/** What is no method of an environment: ids need none. */
const ids = {
  snowflakeOpen: () => native.snowflakeOpen(0, 0, "default", 0),
  workerSnowflake: () => native.workerSnowflake(0, "default"),
  nextId: (generator) => generator.nextId(),
  nextIds: (generator) => generator.nextIds(1),
  idDecode: () => native.idDecode(1n, "default"),
  idEncode: () => native.idEncode(1n, 62),
  idParse: () => native.idParse("1", 62),
};
const call = (environment, name, args) => environment[name](...args);
const plausibleArguments = (name) => parameters[name].map((type) => plausible[type]);

describe("the native module", () => {
  it("has the methods that the package declares, each with a guard of its own name", () => {
    assert.deepEqual(Object.keys(parameters).sort(), [...methods].sort());
    const guarded = [...source("src").matchAll(/(?:answer|submit)\(\s*"(\w+)"/g)].map(([, name]) => name);
    const known = [...methods.filter((name) => name !== "keepAlive"), ...Object.keys(ids)];
    assert.deepEqual([...new Set(guarded)].sort(), known.sort());
    const others = [...Object.keys(native), ...Object.getOwnPropertyNames(native.Generator.prototype)];
    const classes = ["Environment", "Generator", "constructor"];
    assert.deepEqual(others.filter((name) => !classes.includes(name)).sort(), Object.keys(ids).sort());
    assert.equal(guarded.length, new Set(guarded).size);
    for (const list of Object.values(parameters)) {
      for (const type of list) assert.ok(type in plausible, type);
    }
  });

  it("refuses handles of nothing, of something else, and numbers that are not handles", () => {
    const environment = new Environment(() => undefined);
    const bits = [0x1000_0000_0000_0001n, 0x3000_0000_0000_0001n, 0x7fff_ffff_ffffn];
    const likeHandles = new Float64Array(BigUint64Array.from(bits).buffer);
    for (const wild of [0, 1, -1, 0.5, 2 ** 63, NaN, Infinity, -Infinity, Number.MIN_VALUE, ...likeHandles]) {
      for (const name of methods.filter((name) => parameters[name][0] === "Handle")) {
        const [, ...rest] = plausibleArguments(name);
        const answer = call(environment, name, [wild, ...rest]);
        if (name !== "free") assert.ok(answer === false || answer.errno < 0, `${name}(${wild})`);
      }
    }
  });

  it("answers values of a wrong type with a JavaScript error", () => {
    const environment = new Environment(() => undefined);
    for (const name of methods.filter((name) => parameters[name].length > 0)) {
      for (const wrong of [undefined, null, {}, Symbol("x"), () => undefined]) {
        const args = plausibleArguments(name).map(() => wrong);
        assert.throws(() => call(environment, name, args), Error, `${name}(${String(wrong)})`);
      }
    }
    assert.throws(() => new Environment(7));
  });
});

const skip = process.env.DLOCK_FAULT_INJECTION === "1" ? false : "needs the library with fault injection";

describe("a panic", { skip }, () => {
  for (const name of methods.filter((name) => name !== "keepAlive")) {
    it(`in ${name} is an INTERNAL error, and the process lives`, () => {
      const environment = new Environment(() => undefined);
      process.env.DLOCK_PANIC = name;
      const answer = call(environment, name, plausibleArguments(name));
      delete process.env.DLOCK_PANIC;
      assert.equal(answer.kind, "INTERNAL");
      assert.ok(answer.message.includes(name), answer.message);
      rows.fill(7);
      assert.equal(environment.drain(rows), null);
      assert.equal(rows[0], 0, "nothing was begun");
    });
  }

  for (const [name, use] of Object.entries(ids)) {
    it(`in ${name} is an INTERNAL error, and the process lives`, () => {
      const generator = ids.snowflakeOpen();
      process.env.DLOCK_PANIC = name;
      const answer = use(generator);
      delete process.env.DLOCK_PANIC;
      assert.equal(answer.kind, "INTERNAL");
      assert.notEqual(use(generator).kind, "INTERNAL");
    });
  }

  it("while an environment is made is an error", () => {
    process.env.DLOCK_PANIC = "environment";
    assert.throws(() => new Environment(() => undefined), /environment/);
    delete process.env.DLOCK_PANIC;
  });
});
