// Rate limits over HTTP in each framework, with real servers, real requests and a real Redis. docs/http.md says what is answered.

import assert from "node:assert/strict";
import { request as httpRequest } from "node:http";
import { after, before, describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { connect } from "libdlock";

import { FRAMEWORKS } from "./kit/http.mjs";
import { Proxy, freshName, until, useServer } from "./kit/index.mjs";

const HOUR = { tokens: 2, perMs: 3_600_000 };
const shared = () => undefined;
const FIELDS = ["ratelimit-policy", "ratelimit", "retry-after"];
const fieldsOf = ({ headers }) => FIELDS.map((name) => headers.get(name));
const problemOf = async (answer) => {
  assert.match(answer.headers.get("content-type"), /^application\/problem\+json/);
  const problem = await answer.json();
  assert.equal(problem.status, answer.status);
  assert.equal(problem.type, "about:blank");
  return problem;
};

for (const [framework, serve] of Object.entries(FRAMEWORKS)) {
  describe(framework, () => {
    const server = useServer();
    const running = [];
    let client;
    before(async () => {
      client = await connect(server.server.url);
    });
    after(async () => {
      for (const { close } of running) await close();
      await client.close();
    });

    const limiter = (options) => client.rateLimiter(freshName(), { ...HOUR, ...options });
    /** One route at `/`, and what fetches it. */
    const route = async (limits, more = {}) => {
      const app = await serve([{ path: "/", limits: [limits].flat(), ...more }]);
      running.push(app);
      const ask = (headers = {}, init = {}) => fetch(`http://127.0.0.1:${app.port}/`, { headers, ...init });
      return Object.assign(ask, { port: app.port });
    };

    it("the handler answers until the limit is reached", async () => {
      const api = limiter();
      let runs = 0;
      const ask = await route({ limiter: api, name: "api" }, { run: () => (runs += 1) });
      for (const left of [1, 0]) {
        const answer = await ask();
        assert.equal(answer.status, 200);
        assert.equal(await answer.text(), "ok");
        const [policy, limit, retryAfter] = fieldsOf(answer);
        assert.deepEqual([policy, retryAfter], ['"api";q=2;w=3600', null]);
        assert.match(limit, new RegExp(`^"api";r=${left};t=\\d+$`));
      }
      const refused = await ask();
      assert.equal(refused.status, 429);
      const [policy, limit, retryAfter] = fieldsOf(refused);
      assert.equal(policy, '"api";q=2;w=3600');
      assert.match(limit, /^"api";r=0;t=\d+$/);
      assert.ok(retryAfter > 1700 && retryAfter <= 1800, retryAfter);
      const { title, detail } = await problemOf(refused);
      assert.deepEqual([title, detail], ["Too Many Requests", `rate limit reached; try again in ${retryAfter} s`]);
      assert.equal(runs, 2);
      // By the client's address.
      assert.equal((await api.peek({ key: "127.0.0.1" })).remaining, 0);
    });

    it("requests without a key share the limiter's own tokens", async () => {
      const user = limiter();
      const ask = await route({ limiter: user, key: (headers) => Promise.resolve(headers["x-user"]) });
      const statuses = [];
      for (const headers of [{}, { "x-user": "ada" }, { "x-user": "" }, {}, { "x-user": "ada" }, { "x-user": "ada" }]) {
        statuses.push((await ask(headers)).status);
      }
      assert.deepEqual(statuses, [200, 200, 200, 429, 200, 429]);
      assert.equal((await user.peek()).remaining, 0);
    });

    it("a request may cost more, and be exempt", async () => {
      const cost = (headers) => Number(headers["x-cost"] ?? 2);
      const skip = (headers) => headers["x-skip"] === "yes";
      const ask = await route({ limiter: limiter(), key: shared, cost, skip });
      const never = await ask({ "x-cost": "3" });
      assert.equal(never.status, 429);
      assert.equal(never.headers.get("retry-after"), null);
      assert.equal((await problemOf(never)).detail, "rate limit reached; this request can never be granted");
      assert.equal((await ask()).status, 200);
      assert.equal((await ask()).status, 429);
      const free = await ask({ "x-skip": "yes" });
      assert.equal(free.status, 200);
      assert.deepEqual(fieldsOf(free), [null, null, null]);
    });

    it("what is wrong with a function is the handler's error", async () => {
      const failing = [
        () => {
          throw new Error("out of keys");
        },
        () => Promise.reject(new Error("out of keys")),
        () => 7,
        () => ({ id: 7 }),
      ];
      for (const key of failing) assert.equal((await (await route({ limiter: limiter(), key }))()).status, 500);
      for (const cost of [() => -1, () => "two", () => NaN]) {
        assert.equal((await (await route({ limiter: limiter(), cost }))()).status, 500);
      }
    });

    it("an error of this library in a function is the handler's", async () => {
      const other = await connect(server.server.url);
      await other.close();
      const closed = async () => void (await other.withLock("x", () => undefined));
      const badName = () => void client.lock("a{");
      for (const wrong of [{ key: closed }, { key: badName }, { cost: badName }, { skip: closed }]) {
        assert.equal((await (await route({ limiter: limiter(), ...wrong }))()).status, 500);
      }
      // The name of the limiter is not the request's either.
      assert.equal((await (await route({ limiter: () => client.rateLimiter("", HOUR) }))()).status, 500);
    });

    it("a key that no name may be is a bad request", async () => {
      const ask = await route({ limiter: limiter(), key: (headers) => headers["x-user"] });
      // Node takes 16 kB of headers.
      for (const user of ["x".repeat(10_000), "a{", "dlock_seen:{a}"]) {
        const answer = await ask({ "x-user": user });
        if (user === "dlock_seen:{a}" && answer.status === 200) continue; // behind the limiter's name it is a name
        assert.equal(answer.status, 400, user);
        assert.deepEqual(fieldsOf(answer), [null, null, null]);
        const { title, detail } = await problemOf(answer);
        assert.equal(title, "Bad Request");
        assert.ok(!detail.includes("xxx"), detail);
      }
      assert.equal((await ask({ "x-user": "ada" })).status, 200);
    });

    it("no name can add a header", async () => {
      const ask = await route({ limiter: limiter(), name: 'a"\r\nX-Injected: yes\r\n' });
      const answer = await ask();
      assert.equal(answer.status, 200);
      assert.equal(answer.headers.get("x-injected"), null);
      assert.equal(answer.headers.get("ratelimit-policy"), '"a\\"%0D%0AX-Injected: yes%0D%0A";q=2;w=3600');
    });

    it("two limits are both told, and the handler's own fields kept", async () => {
      const [outer, inner] = [limiter({ tokens: 5 }), limiter({ tokens: 1 })];
      const limits = [
        { limiter: outer, key: shared, name: "outer" },
        { limiter: inner, key: shared, name: "inner" },
      ];
      const sets = { "RateLimit-Policy": '"own";q=1;w=1', "Retry-After": "77" };
      const ask = await route(limits, { sets });
      const first = await ask();
      assert.deepEqual(first.headers.get("ratelimit-policy").split(", "), [
        '"own";q=1;w=1',
        '"inner";q=1;w=3600',
        '"outer";q=5;w=3600',
      ]);
      assert.match(first.headers.get("ratelimit"), /^"inner";r=0;t=3600, "outer";r=4;t=720$/);
      assert.equal(first.headers.get("retry-after"), "77");
      const second = await ask();
      assert.equal(second.status, 429);
      assert.match(second.headers.get("ratelimit"), /^"inner";r=0;t=\d+, "outer";r=3;t=\d+$/);
      assert.equal((await outer.peek()).remaining, 3);
    });

    it("an error of the handler has the fields, too", async () => {
      const run = () => {
        throw new Error("broken");
      };
      const answer = await (await route({ limiter: limiter(), name: "api" }, { run }))();
      assert.equal(answer.status, 500);
      assert.equal(answer.headers.get("ratelimit-policy"), '"api";q=2;w=3600');
    });

    it("a limiter may come late, and is asked for again when it failed", async () => {
      let calls = 0;
      const api = limiter();
      const late = async () => {
        calls += 1;
        await pause(20);
        if (calls === 1) throw new Error("not yet");
        return api;
      };
      const ask = await route({ limiter: late, key: shared });
      const statuses = (await Promise.all([ask(), ask()])).map(({ status }) => status);
      assert.deepEqual([statuses, calls], [[500, 500], 1]);
      assert.equal((await ask()).status, 200);
      assert.equal((await ask()).status, 200);
      assert.equal(calls, 2);
      assert.equal((await (await route({ limiter: () => undefined }))()).status, 500);
    });

    it("the policy for an absent server decides", async () => {
      const proxy = await Proxy.start(server.server.port);
      const away = await connect(proxy.url, { operationTimeoutMs: 300, connectTimeoutMs: 2_000 });
      await proxy.close();
      for (const [absent, status, retryAfter] of [
        [undefined, 503, "1"],
        ["deny", 429, "1800"], // the time of one token
        ["allow", 200, null],
        [{ localShare: 2 }, 200, null],
      ]) {
        const api = away.rateLimiter(freshName(), { ...HOUR, absent });
        const answer = await (await route({ limiter: api, name: "api", key: shared }))();
        assert.equal(answer.status, status);
        assert.deepEqual(fieldsOf(answer), ['"api";q=2;w=3600', null, retryAfter]);
        if (status === 503) {
          assert.equal((await problemOf(answer)).detail, "the rate limit cannot be decided now; try again in 1 s");
        }
      }
      const ask = await route({ limiter: away.rateLimiter(freshName(), HOUR), key: shared });
      await away.close();
      assert.equal((await ask()).status, 503);
    });

    it("a program starts while the server is away", async () => {
      const proxy = await Proxy.start(server.server.port);
      const { port } = new URL(proxy.url);
      await proxy.close();
      const lazy = await connect(`redis://127.0.0.1:${port}`, { lazyConnect: true, operationTimeoutMs: 300 });
      const ask = await route({ limiter: lazy.rateLimiter(freshName(), HOUR), key: shared });
      assert.equal((await ask()).status, 503);
      await lazy.close();
    });

    it("HEAD and OPTIONS count, and have no body", async () => {
      const ask = await route({ limiter: limiter(), key: shared });
      assert.equal((await ask({}, { method: "OPTIONS" })).status, 200);
      assert.equal((await ask({}, { method: "HEAD" })).status, 200);
      const refused = await ask({}, { method: "HEAD" });
      assert.equal(refused.status, 429);
      assert.ok(refused.headers.get("retry-after"));
      assert.equal(await refused.text(), "");
    });

    it("nobody works for a client that is gone", async () => {
      let runs = 0;
      const api = limiter();
      let goOn;
      const opened = new Promise((resolve) => (goOn = resolve));
      let begun = false;
      const key = async () => {
        begun = true;
        await opened;
      };
      const ask = await route({ limiter: api, key }, { run: () => (runs += 1) });
      const request = httpRequest({ port: ask.port, host: "127.0.0.1", agent: false });
      const closed = new Promise((resolve) => request.on("error", () => undefined).on("close", resolve));
      request.end();
      await until(() => begun);
      request.destroy();
      await closed;
      await pause(50);
      goOn();
      await until(async () => (await api.peek()).remaining === 1);
      await pause(20);
      assert.equal(runs, 0);
      assert.equal((await ask()).status, 200);
      assert.equal(runs, 1);
    });

    it("exactly the allowed number passes of many at a time", async () => {
      // One token in an hour: none comes back meanwhile.
      const api = limiter({ tokens: 100, perMs: 100 * HOUR.perMs });
      const ask = await route({ limiter: api });
      const answers = await Promise.all(Array.from({ length: 300 }, () => ask()));
      const passed = answers.filter(({ status }) => status === 200).length;
      const refused = answers.filter(({ status }) => status === 429).length;
      assert.deepEqual([passed, refused], [100, 200]);
    });
  });
}
