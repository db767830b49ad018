// The rate limiter in Node: values of JavaScript, waits, policies, lost replies, foreign keys. tests/scenarios checks decisions.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";

import { connect } from "libdlock";

import { Proxy, freshName, onBothBackends, rejects, stopwatch, throws, useServer } from "./kit/index.mjs";

const HOUR = 3_600_000;
const ALGORITHMS = [
  "gcra",
  "fixed_window",
  "aligned_window",
  "sliding_log",
  "sliding_counter",
  "redisson",
  "redisson_per_client",
];

onBothBackends((context) => {
  it("refuses rates that are none, with the value and the range", () => {
    const beyond = throws(() => context.client.rateLimiter("k", { tokens: 1, perMs: 2 ** 53 - 1 }), "INVALID_ARGUMENT");
    assert.ok(beyond.message.includes("9007199254740991"), beyond.message);
    for (const rate of [
      { tokens: 1.5 },
      { perMs: 0.0005 },
      { perMs: 1.0001 },
      { perMs: 3_155_760_000_000.001 },
      { perMs: Infinity },
      { perMs: -1 },
      { perMs: NaN },
      { burst: 0.1 },
      { tokens: 2 ** 53 },
    ]) {
      throws(() => context.client.rateLimiter("k", { tokens: 1, perMs: 1_000, ...rate }), "INVALID_ARGUMENT");
    }
    for (const rate of [
      { tokens: "1" },
      { perMs: null },
      { burst: 1n },
      { tokens: undefined },
      { absent: 7 },
      { absent: null },
    ]) {
      assert.throws(() => context.client.rateLimiter("k", { tokens: 1, perMs: 1_000, ...rate }), TypeError);
    }
    throws(() => context.client.rateLimiter("a{", { tokens: 1, perMs: 1_000 }), "INVALID_NAME");
    throws(() => context.client.rateLimiter("\ud800", { tokens: 1, perMs: 1_000 }), "INVALID_NAME");
  });

  it("takes periods to the microsecond", async () => {
    for (const perMs of [0.001, 1.001, 33.333, 3_155_760_000_000]) {
      assert.equal((await context.client.rateLimiter(freshName(), { tokens: 1, perMs }).tryAcquire()).allowed, true);
    }
    const perMs = HOUR + 0.001;
    assert.equal(
      (await context.client.rateLimiter(freshName(), { tokens: 1, perMs }).tryAcquire()).resetAfterMs,
      perMs,
    );
  });

  it("refuses costs and waits that are none", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 5, perMs: 1_000 });
    for (const cost of [0.5, NaN, Infinity, 2 ** 53]) await rejects(limiter.tryAcquire(cost), "INVALID_ARGUMENT");
    for (const waitMs of [-1, 0.5, NaN]) await rejects(limiter.acquire(1, { waitMs }), "INVALID_ARGUMENT");
    for (const cost of ["1", null, 1n]) await assert.rejects(limiter.tryAcquire(cost), TypeError);
  });

  // A decision is an answer, also that it can never be: whoever passes the cost of a request hears no in one way.
  it("answers a cost above the burst with never", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 5, perMs: 1_000 });
    for (const ask of [
      () => limiter.tryAcquire(6),
      () => limiter.tryAcquire(2 ** 53 - 1),
      () => limiter.acquire(6),
      () => limiter.reserve(6),
    ]) {
      const { allowed, retryAfterMs, refusedBy } = await ask();
      assert.deepEqual({ allowed, retryAfterMs, refusedBy }, { allowed: false, retryAfterMs: undefined, refusedBy: 0 });
    }
    assert.equal((await limiter.peek()).remaining, 5);
  });

  for (const algorithm of ALGORITHMS) {
    it(`grants its tokens and no more by ${algorithm}`, async () => {
      const rate = { tokens: 5, perMs: HOUR, algorithm };
      const limiter = context.client.rateLimiter(freshName(), rate);
      assert.deepEqual(limiter.rates, [{ ...rate, burst: 5 }]);
      assert.equal((await limiter.tryAcquire(3)).remaining, 2);
      assert.equal((await limiter.tryAcquire(2)).allowed, true);
      const refused = await limiter.tryAcquire();
      assert.deepEqual([refused.allowed, refused.refusedBy], [false, 0]);
      assert.ok(refused.retryAfterMs > 0 && refused.retryAfterMs <= 2 * HOUR, `${refused.retryAfterMs}`);
      if (algorithm === "gcra") return;
      throws(() => context.client.rateLimiter("k", { ...rate, burst: 4 }), "INVALID_ARGUMENT");
    });
  }

  it("counts by Redisson's algorithm for each client, or for all", async () => {
    for (const algorithm of ["redisson", "redisson_per_client"]) {
      const name = freshName();
      const options = { tokens: 1, perMs: HOUR, algorithm };
      assert.equal((await context.client.rateLimiter(name, options).tryAcquire()).allowed, true);
      const again = context.client.rateLimiter(name, options);
      assert.equal((await again.tryAcquire()).allowed, false);
      const other = (await context.open()).rateLimiter(name, options);
      assert.equal((await other.tryAcquire()).allowed, algorithm === "redisson_per_client");
      await other.client.close();
      for (const call of [again.reserve(), again.penalty(1), again.reward(1), again.block(1)]) {
        const error = await rejects(call, "INVALID_ARGUMENT");
        assert.equal(error.allowed, "a limiter by any other algorithm");
      }
    }
  });

  it("charges several rates all or none", async () => {
    const name = freshName();
    const daily = { tokens: 3, perMs: 24 * HOUR, algorithm: "sliding_log" };
    const limiter = context.client.rateLimiter(name, { rates: [{ tokens: 2, perMs: HOUR }, daily], tokens: undefined });
    assert.deepEqual(limiter.rates, [
      { tokens: 2, perMs: HOUR, burst: 2, algorithm: "gcra" },
      { ...daily, burst: 3 },
    ]);
    assert.equal((await limiter.tryAcquire(2)).allowed, true);
    assert.equal((await limiter.tryAcquire()).refusedBy, 0);
    // The second was not charged for what the first refused: one is left of its three.
    const longer = context.client.rateLimiter(name, {
      rates: [daily, { tokens: 9, perMs: 48 * HOUR }],
      absent: "deny",
    });
    assert.equal((await longer.peek()).remaining, 1);
  });

  it("refuses rates that contradict each other, and what is no list of rates", () => {
    const open = (rates, more) => context.client.rateLimiter("k", { rates, ...more });
    const rate = { tokens: 10, perMs: 1_000 };
    const nine = Array.from({ length: 9 }, (_, n) => ({ tokens: 10 * (n + 1), perMs: 1_000 * (n + 1) }));
    for (const rates of [[], [rate, rate], [rate, { tokens: 5, perMs: 60_000 }], nine]) {
      throws(() => open(rates), "INVALID_ARGUMENT");
    }
    const nonsense = throws(() => open([{ ...rate, algorithm: "leaky" }]), "INVALID_ARGUMENT");
    assert.match(nonsense.allowed, /sliding_log/);
    for (const rates of [5, null, "gcra", rate, [5], [undefined], Array(1), [{ ...rate, algorithm: 5 }]]) {
      assert.throws(() => open(rates), TypeError);
    }
    assert.throws(() => open([rate], { burst: 5 }), /with rates has no option "burst"/);
    assert.throws(() => open([{ ...rate, absent: "deny" }]), /rates\[0\] has no option "absent"/);
  });

  it("reserves tokens, and says when they may be used", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 1, perMs: HOUR });
    assert.equal((await limiter.reserve(1, { waitMs: 0 })).usableAfterMs, 0);
    assert.equal((await limiter.reserve(1, { waitMs: 60_000 })).allowed, false);
    const later = await limiter.reserve();
    assert.equal(later.allowed, true);
    assert.ok(later.usableAfterMs > 0.9 * HOUR && later.usableAfterMs <= HOUR, `${later.usableAfterMs}`);
    assert.equal((await limiter.reserve(1, { waitMs: 0, key: "user" })).usableAfterMs, 0);
    await rejects(limiter.reserve(-1), "INVALID_ARGUMENT");
    await rejects(limiter.reserve(1, { waitMs: -1 }), "INVALID_ARGUMENT");
  });

  it("takes and gives back tokens outside of decisions", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 5, perMs: HOUR });
    for (const options of [undefined, { key: "user" }]) {
      const remaining = async () => (await limiter.peek(options)).remaining;
      await limiter.penalty(3, options);
      assert.equal(await remaining(), 2);
      await limiter.reward(2, options);
      assert.equal(await remaining(), 4);
      await limiter.reward(5, options);
      assert.equal(await remaining(), 5);
      for (const tokens of [0, -1, 6, 0.5, 2 ** 53]) {
        await rejects(limiter.penalty(tokens, options), "INVALID_ARGUMENT");
        await rejects(limiter.reward(tokens, options), "INVALID_ARGUMENT");
      }
    }
  });

  it("blocks everybody until it ends", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 5, perMs: HOUR });
    await limiter.block(HOUR);
    const refused = await limiter.tryAcquire();
    assert.deepEqual([refused.allowed, refused.refusedBy], [false, undefined]);
    assert.deepEqual([refused.remaining, refused.resetAfterMs], [0, refused.retryAfterMs]);
    assert.ok(refused.retryAfterMs > 0.9 * HOUR && refused.retryAfterMs <= HOUR, `${refused.retryAfterMs}`);
    assert.equal((await limiter.tryAcquire(1, { key: "user" })).allowed, true);
    await limiter.block(HOUR, { key: "user" });
    assert.equal((await limiter.tryAcquire(1, { key: "user" })).allowed, false);
    await limiter.block(50);
    assert.equal((await limiter.acquire(1, { waitMs: 10_000 })).allowed, true);
    await limiter.block(HOUR);
    await limiter.block(0);
    assert.equal((await limiter.tryAcquire()).allowed, true);
    for (const length of [-1, 0.5, NaN, 2 ** 53 - 1]) await rejects(limiter.block(length), "INVALID_ARGUMENT");
  });

  it("waits its turn, in the order of asking, and not longer than it is told to", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 50, perMs: 1_000, burst: 1 });
    assert.equal((await limiter.tryAcquire()).allowed, true);
    const order = [];
    const [began, took] = [performance.now(), stopwatch()];
    const all = [1, 2, 3].map(async (n) => {
      assert.equal((await limiter.acquire()).allowed, true);
      order.push(n);
    });
    await Promise.all(all);
    const [waited, ms] = [performance.now() - began, took()];
    assert.deepEqual(order, [1, 2, 3]);
    // Three tokens at one in 20 ms, the first of them on its way already.
    assert.ok(waited > 40 && ms < 2_000, `${waited} ms`);
    // Of an hourly token: however late a busy machine asks, the next one is not due.
    const slow = context.client.rateLimiter(freshName(), { tokens: 1, perMs: HOUR, burst: 1 });
    assert.equal((await slow.tryAcquire()).allowed, true);
    const refused = await slow.acquire(1, { waitMs: 5 });
    assert.equal(refused.allowed, false);
    assert.ok(refused.retryAfterMs > 5);
  });

  it("a wait that is given up leaves the line, and spends nothing", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 10, perMs: HOUR, burst: 1 });
    await limiter.tryAcquire();
    const controller = new AbortController();
    const waiting = limiter.acquire(1, { signal: controller.signal });
    const behind = await limiter.acquire(1, { waitMs: 20 });
    assert.deepEqual([behind.allowed, behind.limit], [false, 1]);
    assert.ok(behind.retryAfterMs > HOUR / 10, "it is behind the one that waits");
    controller.abort();
    await assert.rejects(waiting, { name: "AbortError" });
    await assert.rejects(limiter.acquire(1, { signal: AbortSignal.abort() }), { name: "AbortError" });
    // The tokens are given back in the background: a busy machine may be late with it.
    let resetAfterMs = Infinity;
    for (const began = performance.now(); resetAfterMs > HOUR / 10 && performance.now() - began < 5_000;) {
      ({ resetAfterMs } = await limiter.peek());
      await setTimeout(1);
    }
    assert.ok(resetAfterMs > 0 && resetAfterMs <= HOUR / 10, `${resetAfterMs}`);
  });

  it("tells keys apart in every call", async () => {
    const name = freshName();
    const limiter = context.client.rateLimiter(name, { tokens: 2, perMs: HOUR });
    const key = "user:1";
    assert.equal((await limiter.tryAcquire(2, { key })).allowed, true);
    assert.equal((await limiter.acquire(1, { key, waitMs: 5 })).allowed, false);
    assert.equal((await limiter.peek({ key: "user:2" })).remaining, 2);
    assert.equal((await limiter.peek()).remaining, 2);
    await limiter.reset({ key });
    assert.equal((await limiter.peek({ key })).remaining, 2);
    const longer = context.client.rateLimiter(`${name}:user:1`, { tokens: 2, perMs: HOUR });
    assert.equal((await longer.tryAcquire(2)).allowed, true);
    assert.equal((await limiter.tryAcquire(1, { key })).allowed, false);
  });

  it("refuses what can be no key, in words", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 2, perMs: HOUR });
    for (const [key, says] of [
      ["", "the key is empty"],
      ["k".repeat(10_000), "bytes long"],
      ["{", "hash tag"],
      ["{}", "hash tag"],
      ["a\0", "NUL"],
      ["\ud800", "surrogate"],
    ]) {
      for (const call of [
        () => limiter.tryAcquire(1, { key }),
        () => limiter.acquire(1, { key }),
        () => limiter.peek({ key }),
        () => limiter.reset({ key }),
      ]) {
        const error = await rejects(call(), "INVALID_NAME");
        assert.ok(error.message.includes(says) && error.message.length < 500, error.message);
      }
      const [answer] = await limiter.tryAcquireMany([[key, 1]]);
      assert.deepEqual([answer.allowed, answer.error.kind], [false, "INVALID_NAME"]);
    }
    for (const key of [1, null, ["user"], {}]) {
      await assert.rejects(limiter.tryAcquire(1, { key }), TypeError);
      await assert.rejects(limiter.tryAcquireMany([[key, 1]]), TypeError);
    }
    await assert.rejects(limiter.tryAcquire(1, { waitMs: 5 }), /waitMs/);
    for (const key of ["a\nb", "\u{1f511}"]) assert.equal((await limiter.tryAcquire(1, { key })).allowed, true);
  });

  it("answers each item of a batch by itself", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 3, perMs: HOUR });
    const items = [
      ["a", 2],
      ["b", 4],
      ["a", 2],
      ["", 1],
      ["c", -1],
      ["a", 1],
    ];
    const answers = await limiter.tryAcquireMany(items);
    assert.deepEqual(
      answers.map(({ allowed }) => allowed),
      [true, false, false, false, false, true],
    );
    assert.deepEqual(
      answers.map(({ error }) => error?.kind),
      [undefined, undefined, undefined, "INVALID_NAME", "INVALID_ARGUMENT", undefined],
    );
    assert.deepEqual([answers[1].retryAfterMs, answers[2].remaining], [undefined, 1]);
    for (const wrong of [[], Array(10_001).fill(["a", 1])]) {
      const error = await rejects(limiter.tryAcquireMany(wrong), "INVALID_ARGUMENT");
      assert.equal(error.allowed, "1 to 10000 items");
    }
    // A cost that could not be carried is its item's own, too; what is no number at all is not.
    const odd = [NaN, 1.5, 2 ** 53, Infinity].map((cost) => ["odd", cost]);
    const [first, ...rest] = await limiter.tryAcquireMany([["odd", 1], ...odd, ["odd", 2]]);
    assert.deepEqual([first.allowed, rest.pop().allowed], [true, true]);
    for (const { allowed, error } of rest) {
      assert.deepEqual([allowed, error.kind, error.allowed], [false, "INVALID_ARGUMENT", "whole numbers below 2^53"]);
    }
    await assert.rejects(limiter.tryAcquireMany([["odd", "1"]]), TypeError);
    const users = Array.from({ length: 10_000 }, (_, number) => [`user:${number}`, 1]);
    const all = await limiter.tryAcquireMany(new Map(users));
    assert.ok(all.length === 10_000 && all.every(({ allowed }) => allowed));
  });

  it("ends with its client", async () => {
    const client = await context.open();
    const limiter = client.rateLimiter(freshName(), { tokens: 1, perMs: HOUR });
    assert.equal(limiter.client, client);
    await limiter.tryAcquire();
    const refused = rejects(limiter.acquire(), "CLOSED");
    await client.close();
    await refused;
    await rejects(limiter.tryAcquire(), "CLOSED");
    await rejects(limiter.reset(), "CLOSED");
    throws(() => client.rateLimiter("k", { tokens: 1, perMs: 1 }), "CLOSED");
  });

  it("100 callers at once get exactly the burst", async () => {
    const limiter = context.client.rateLimiter(freshName(), { tokens: 30, perMs: HOUR });
    const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.tryAcquire()));
    assert.equal(decisions.filter(({ allowed }) => allowed).length, 30);
  });
});

describe("a limiter's server", () => {
  const shared = useServer();

  it("away: an error, or as the policy says", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url, { responseTimeoutMs: 500, operationTimeoutMs: 1_000 });
    const rate = { tokens: 10, perMs: HOUR };
    const limiter = (absent) =>
      client.rateLimiter(`${name}-${JSON.stringify(absent)}`.replace(/[{}]/g, ""), { ...rate, absent });
    const name = freshName();
    await limiter("fail").tryAcquire(); // the server has the script
    proxy.blackHole();
    const failed = await limiter("fail")
      .tryAcquire()
      .catch((error) => error);
    // Lost after it was sent (spent, for all that anybody knows), or never sent.
    assert.ok(["OUTCOME_UNKNOWN", "CONNECTION"].includes(failed.kind), failed.stack);
    for (const [absent, allowed] of [
      ["deny", false],
      ["allow", true],
      [{ localShare: 5 }, true],
    ]) {
      const decision = await limiter(absent).tryAcquire();
      assert.equal(decision.allowed, allowed, JSON.stringify(absent));
      assert.equal(decision.serverTimeUs, undefined);
      assert.equal(decision.limit, absent.localShare ? 2 : 10);
    }
    throws(() => limiter("nonsense"), "INVALID_ARGUMENT");
    throws(() => limiter({ localShare: 0 }), "INVALID_ARGUMENT");
    assert.throws(() => limiter({}), TypeError);
    await client.close();
    await proxy.close();
  });

  it("a reply that is lost counts as spent", async () => {
    const proxy = await Proxy.start(shared.server.port);
    const client = await connect(proxy.url);
    const limiter = client.rateLimiter(freshName(), { tokens: 5, perMs: HOUR });
    await limiter.tryAcquire();
    proxy.resetAtReplyTo(limiter.name);
    await rejects(limiter.tryAcquire(), "OUTCOME_UNKNOWN");
    assert.equal((await limiter.tryAcquire()).remaining, 2);
    await client.close();
    await proxy.close();
  });

  it("a key that holds something else: WRONG_TYPE, and no text of a script", async () => {
    const client = await connect(shared.server.url);
    const name = freshName();
    const limiter = client.rateLimiter(name, { tokens: 5, perMs: HOUR });
    await limiter.tryAcquire();
    const [key] = await shared.server.command("KEYS", `*${name}*`);
    await shared.server.command("DEL", key);
    await shared.server.command("RPUSH", key, "x");
    const error = await rejects(limiter.tryAcquire(), "WRONG_TYPE");
    assert.doesNotMatch(error.message, /lua|script|redis\.call/i);
    await client.close();
  });
});
