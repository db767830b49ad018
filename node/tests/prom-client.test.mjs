// Statistics for Prometheus, by the real prom-client.

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Registry, register as defaultRegister } from "prom-client";

import { collectStats } from "libdlock/prom-client";

import { freshName, onBothBackends } from "./kit/index.mjs";

/** Samples by their name with labels. */
const samplesOf = async (register) => {
  const lines = (await register.metrics()).split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
};

onBothBackends((context) => {
  it("exports counters, gauges and histograms of what is used", async () => {
    const client = await context.open();
    const register = new Registry();
    const stop = collectStats(client, { name: "orders", register });
    assert.deepEqual([...(await samplesOf(register))], [['dlock_client_retries_total{client="orders"}', 0]]);
    for (let n = 0; n < 3; n++) await client.withLock(freshName(), () => undefined);
    const held = await client.rwLock(freshName()).read.acquire();
    const limiter = client.rateLimiter(freshName(), { tokens: 3, perMs: 60_000 });
    await limiter.tryAcquire(2);
    await limiter.tryAcquire(2);

    const samples = await samplesOf(register);
    const of = (name, kind, more = "") => samples.get(`dlock_client_${name}{client="orders",kind="${kind}"${more}}`);
    assert.deepEqual([of("acquired_total", "lock"), of("released_total", "lock"), of("held", "lock")], [3, 3, 0]);
    assert.deepEqual([of("acquired_total", "rw-lock"), of("held", "rw-lock"), of("waiting", "rw-lock")], [1, 1, 0]);
    assert.deepEqual([of("granted_total", "rate-limiter"), of("refused_total", "rate-limiter")], [1, 1]);
    assert.equal(of("tokens_total", "rate-limiter"), 2);
    assert.equal(of("acquired_total", "queue"), undefined);

    const { waitTime } = client.stats().lock;
    const buckets = [...samples].filter(([name]) =>
      name.startsWith('dlock_client_wait_seconds_bucket{client="orders",kind="lock"'),
    );
    assert.equal(buckets.length, waitTime.buckets.length);
    const counts = buckets.map(([, count]) => count);
    assert.deepEqual(
      counts,
      [...counts].sort((a, b) => a - b),
    );
    // As Python and Go write them: the texts of one series are the same in every language.
    assert.match(buckets[0][0], /le="1e-06"/);
    assert.match(buckets[4][0], /le="1.6e-05"/);
    assert.match(buckets[7][0], /le="0.000128"/);
    assert.match(buckets[10][0], /le="0.001024"/);
    assert.deepEqual(buckets.at(-1), ['dlock_client_wait_seconds_bucket{client="orders",kind="lock",le="+Inf"}', 3]);
    assert.equal(of("wait_seconds_count", "lock"), 3);
    assert.ok(Math.abs(of("wait_seconds_sum", "lock") - waitTime.sumMs / 1000) < 1e-9);
    await held.release();
    stop();
    assert.equal((await samplesOf(register)).size, 0);
    await client.close();
  });
});

describe("a registry", () => {
  const stats = { retries: 1, lock: { acquired: 2, waiting: 0 } };
  const client = { stats: () => stats };

  it("has several clients, each under a name of its own", async () => {
    const register = new Registry();
    const stop = collectStats(client, { register });
    const other = collectStats({ stats: () => ({ retries: 7 }) }, { register, name: "other" });
    const samples = await samplesOf(register);
    assert.equal(samples.get('dlock_client_retries_total{client="libdlock"}'), 1);
    assert.equal(samples.get('dlock_client_retries_total{client="other"}'), 7);
    assert.equal(samples.get('dlock_client_acquired_total{client="libdlock",kind="lock"}'), 2);
    assert.throws(() => collectStats(client, { register }), /has a client "libdlock" already/);
    stop();
    collectStats(client, { register });
    other();
    register.clear();
    collectStats(client, { register, name: "again" });
    assert.equal((await samplesOf(register)).get('dlock_client_retries_total{client="again"}'), 1);
  });

  it("may be reset, which the counters of a client outlive", async () => {
    const register = new Registry();
    collectStats(client, { register });
    register.resetMetrics();
    assert.equal((await samplesOf(register)).get('dlock_client_retries_total{client="libdlock"}'), 1);
  });

  it("that was cleared has no clients, and takes each again", async () => {
    const register = new Registry();
    collectStats(client, { register });
    collectStats(client, { register, name: "gone" });
    register.clear();
    const stop = collectStats(client, { register });
    const names = async () => [...(await samplesOf(register)).keys()].filter((name) => name.includes("retries"));
    assert.deepEqual(await names(), ['dlock_client_retries_total{client="libdlock"}']);
    stop();
    assert.deepEqual(await names(), []);
  });

  it("may speak OpenMetrics, and have labels of its own", async () => {
    const register = new Registry(Registry.OPENMETRICS_CONTENT_TYPE);
    register.setDefaultLabels({ app: "shop" });
    collectStats(client, { register });
    for (let scrape = 0; scrape < 2; scrape++) {
      const text = await register.metrics();
      assert.match(text, /^# TYPE dlock_client_retries counter$/m);
      assert.match(text, /^dlock_client_retries_total\{client="libdlock",app="shop"\} 1$/m);
      assert.match(text, /# EOF/);
    }
  });

  it("all metrics of a scrape show one instant", async () => {
    let asked = 0;
    const register = new Registry();
    collectStats({ stats: () => ({ ...stats, retries: (asked += 1) }) }, { register });
    await register.metrics();
    await register.metrics();
    assert.equal(asked, 2);
  });

  it("is prom-client's own by default", async () => {
    const stop = collectStats(client, {});
    assert.match(await defaultRegister.metrics(), /dlock_client_retries_total\{client="libdlock"\} 1/);
    stop();
    defaultRegister.clear();
  });

  it("refuses what is no client and no registry", () => {
    for (const nothing of [undefined, null, {}, 5]) {
      assert.throws(() => collectStats(nothing), { name: "TypeError", message: /^client must be a client/ });
    }
    assert.throws(() => collectStats(client, { register: {} }), { name: "TypeError", message: /^register must be/ });
    assert.throws(() => collectStats(client, { prefix: "x" }), /has no option "prefix"/);
    assert.throws(() => collectStats(client, { name: 5 }), TypeError);
  });
});
