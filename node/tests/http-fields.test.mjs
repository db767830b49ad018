// Fields and problems of limits over HTTP, by the vectors that all languages share.

import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import { TESTS, vectorFile } from "./kit/index.mjs";

const inside = (file) => import(pathToFileURL(join(dirname(TESTS), "node_modules/libdlock/dist/esm/http", file)).href);
const { addressKey } = await inside("address.js");
const { decisionFields, policyField, refusedProblem } = await inside("fields.js");
const { vectors, addresses } = vectorFile("http");

const ms = (us) => (us === null ? undefined : us / 1000);
const rateOf = ({ tokens, per_us, burst, algorithm }) => ({
  tokens,
  perMs: ms(per_us),
  burst: burst ?? undefined,
  algorithm,
});
const decisionOf = ({ allowed, remaining, retry_after_us, reset_after_us, limit, refused_by, server_time_us }) => ({
  allowed,
  remaining,
  retryAfterMs: ms(retry_after_us),
  resetAfterMs: ms(reset_after_us),
  limit,
  refusedBy: refused_by ?? undefined,
  serverTimeUs: server_time_us === null ? undefined : BigInt(server_time_us),
});

describe("fields of an answer", () => {
  for (const { case: what, name, rates, decision, status, policy, limit, retry_after } of vectors) {
    it(what, () => {
      const given = rates.map(rateOf);
      const fields = decisionFields(name, given, policyField(name, given), decisionOf(decision));
      assert.deepEqual(fields, { policy, limit: limit ?? undefined, retryAfter: retry_after ?? undefined });
      if (status !== null) assert.equal(refusedProblem(fields).status, status);
    });
  }

  it("are right to the microsecond over centuries", () => {
    const rates = [{ tokens: 1, perMs: 3_155_760_000_000 }];
    assert.equal(policyField("a", rates), '"a";q=1;w=3155760000');
    const perMs = 3_155_759_999_000.001;
    assert.equal(policyField("a", [{ tokens: 1, perMs }]), '"a";q=1;w=3155760000');
  });

  it("a problem says when to try again", () => {
    const problem = { type: "about:blank", title: "Too Many Requests", status: 429 };
    assert.deepEqual(refusedProblem({ retryAfter: "3" }), {
      ...problem,
      detail: "rate limit reached; try again in 3 s",
    });
    const never = "rate limit reached; this request can never be granted";
    assert.deepEqual(refusedProblem({}), { ...problem, detail: never });
  });
});

describe("the key of an address", () => {
  for (const { address, key } of addresses) {
    it(`of ${JSON.stringify(address)} is ${JSON.stringify(key)}`, () => {
      assert.equal(addressKey(address), key ?? undefined);
    });
  }

  it("is one for all ways to write an address", () => {
    for (const [address, key] of [
      ["2001:db8:0:0:1::1", "2001:db8::"],
      ["0:0:0:5::", "0:0:0:5::"],
      ["0:0:1::7", "0:0:1::"],
      ["::ffff:c000:207", "192.0.2.7"],
      ["64:ff9b::192.0.2.7", "192.0.2.7"],
      [undefined, undefined],
    ]) {
      assert.equal(addressKey(address), key);
    }
  });
});
