// What each framework's middleware refuses, and what is its own: answers of one's own, proxies, contexts of Fastify.

import assert from "node:assert/strict";
import { once } from "node:events";
import * as http2 from "node:http2";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import express from "express";
import fastify from "fastify";
import Koa from "koa";

import * as forExpress from "libdlock/express";
import forFastify from "libdlock/fastify";
import * as forKoa from "libdlock/koa";
import { RateLimited } from "libdlock/nestjs";

import { statuses, withClient } from "./kit/http.mjs";
import { freshName, throws, until } from "./kit/index.mjs";

const shared = () => undefined;
const listen = async (server) => {
  if (!server.listening) await new Promise((resolve) => server.once("listening", resolve));
  return server.address().port;
};

describe("a middleware", () => {
  const make = {
    Express: (options) => forExpress.rateLimit(options),
    Koa: (options) => forKoa.rateLimit(options),
    NestJS: (options) => RateLimited(options),
  };

  for (const [framework, rateLimit] of Object.entries(make)) {
    it(`refuses options that are none: ${framework}`, () =>
      withClient((client, limiter) => {
        const refused = (options, message) => assert.throws(() => rateLimit(options), { name: "TypeError", message });
        if (framework !== "NestJS") refused(undefined, /options must be an object with a limiter, not undefined/);
        for (const none of [
          {},
          { limiter: undefined },
          { limiter: null },
          { limiter: 7 },
          { limiter: client },
          { limiter: {} },
        ]) {
          refused(none, /limiter must be a rate limiter, such as client\.rateLimiter\(/);
        }
        refused({ limiter: limiter(), key: "ip" }, /key must be a function, not a string/);
        refused({ limiter: limiter(), cost: "2" }, /cost must be a number or a function/);
        for (const cost of [-1, 1.5, NaN, Infinity]) {
          throws(() => rateLimit({ limiter: limiter(), cost }), "INVALID_ARGUMENT");
        }
        refused({ limiter: limiter(), skip: true }, /skip must be a function/);
        refused({ limiter: limiter(), name: 7 }, /name must be a string/);
        refused({ limiter: limiter(), windowMs: 60_000 }, /has no option "windowMs"/);
      }));
  }

  it("of Fastify refuses the options of a plugin and of a route", () =>
    withClient(async (client, limiter) => {
      const register = (options) => fastify().register(forFastify, options).ready();
      await assert.rejects(register({ limiter: 7 }), /limiter must be a rate limiter/);
      await assert.rejects(register({ global: true }), /limiter must be a rate limiter/);
      await assert.rejects(register({ limiter: limiter(), hook: "onSend" }), /hook must be one of "onRequest"/);
      await assert.rejects(register({ max: 5 }), /has no option "max"|limiter must be/);
      const app = fastify();
      await app.register(forFastify);
      const define = (rateLimit) => app.get(`/${freshName()}`, { config: { rateLimit } }, () => "ok");
      assert.throws(() => define({}), /limiter must be a rate limiter/);
      assert.throws(() => define({ limiter: limiter(), max: 5 }), /config\.rateLimit has no option "max"/);
    }));

  it("leaves answers to a function of one's own", () =>
    withClient(async (client, limiter) => {
      const told = ({ status, decision, problem }) => `${status} ${decision.allowed} ${problem.title}`;
      const app = express();
      app.use(
        forExpress.rateLimit({
          limiter: limiter(),
          key: shared,
          onRefused: async (refusal, request, response) => response.send(`${told(refusal)} ${request.path}`),
        }),
      );
      app.get("/x", (_, response) => response.send("ok"));
      const koa = new Koa();
      koa.use(
        forKoa.rateLimit({
          limiter: limiter(),
          key: shared,
          onRefused: (refusal, ctx) => void (ctx.body = `${told(refusal)} ${ctx.path}`),
        }),
      );
      koa.use((ctx) => void (ctx.body = "ok"));
      const onRefused = (refusal, request) => `${told(refusal)} ${request.url}`;
      const fast = fastify();
      await fast.register(forFastify, { limiter: limiter(), key: shared, onRefused });
      fast.get("/x", () => "ok");
      const servers = [app.listen(0), koa.listen(0)];
      await fast.listen({ port: 0 });
      for (const port of [...(await Promise.all(servers.map(listen))), fast.server.address().port]) {
        assert.deepEqual(await statuses(port, "/x"), [200]);
        const answer = await fetch(`http://127.0.0.1:${port}/x`);
        assert.equal(await answer.text(), "429 false Too Many Requests /x");
        assert.equal(answer.status, 429);
        assert.ok(answer.headers.get("ratelimit-policy"));
        assert.equal(answer.headers.get("retry-after"), "3600");
      }
      for (const server of servers) server.close();
      await fast.close();
    }));

  it("believes the proxies that the framework believes", () =>
    withClient(async (client, limiter) => {
      const api = limiter();
      const app = express();
      app.set("trust proxy", true);
      app.use(forExpress.rateLimit({ limiter: api }), (_, response) => response.send("ok"));
      const server = app.listen(0, "127.0.0.1");
      const port = await listen(server);
      const from = async (address) =>
        (await fetch(`http://127.0.0.1:${port}/`, { headers: { "X-Forwarded-For": address } })).status;
      assert.deepEqual([await from("192.0.2.1"), await from("192.0.2.2"), await from("192.0.2.1")], [200, 200, 429]);
      // One network of 64 bits.
      assert.deepEqual([await from("2001:db8::1"), await from("2001:db8::2")], [200, 429]);
      assert.equal((await api.peek({ key: "2001:db8::" })).remaining, 0);
      server.close();
    }));

  it("does nothing where somebody has answered meanwhile", () =>
    withClient(async (client, limiter) => {
      let runs = 0;
      const app = express();
      app.use((_, response, next) => {
        setTimeout(() => response.status(504).send("too late"), 10);
        next();
      });
      const key = () => new Promise((resolve) => setTimeout(resolve, 50));
      app.use(forExpress.rateLimit({ limiter: limiter(), key }), () => void (runs += 1));
      const server = app.listen(0, "127.0.0.1");
      const port = await listen(server);
      assert.deepEqual(await statuses(port, "/", "/"), [504, 504]);
      await new Promise((resolve) => setTimeout(resolve, 100));
      assert.equal(runs, 0);
      server.close();
    }));

  it("adds to fields that the handler writes with the status", () =>
    withClient(async (client, limiter) => {
      const app = express();
      app.use(forExpress.rateLimit({ limiter: limiter({ tokens: 9, perMs: 1_000 }), key: shared, name: "api" }));
      const own = { "RateLimit-Policy": '"own";q=1;w=1', "X-Other": "kept" };
      app.get("/object", (_, response) => response.writeHead(202, own).end("ok"));
      app.get("/reason", (_, response) => response.writeHead(202, "Fine", own).end("ok"));
      app.get("/array", (_, response) => response.writeHead(202, Object.entries(own).flat()).end("ok"));
      app.get("/undefined", (_, response) => response.writeHead(202, undefined, own).end("ok"));
      app.get("/null", (_, response) => response.writeHead(202, null, own).end("ok"));
      const server = app.listen(0, "127.0.0.1");
      const port = await listen(server);
      for (const path of ["object", "reason", "array", "undefined", "null"]) {
        const { status, headers, statusText } = await fetch(`http://127.0.0.1:${port}/${path}`);
        assert.equal(status, 202);
        if (path === "reason") assert.equal(statusText, "Fine");
        assert.equal(headers.get("ratelimit-policy"), '"own";q=1;w=1, "api";q=9;w=1', path);
        assert.equal(headers.get("x-other"), "kept");
      }
      server.close();
    }));

  it("keeps each of several values that the handler writes", () =>
    withClient(async (client, limiter) => {
      const app = express();
      app.use(forExpress.rateLimit({ limiter: limiter({ tokens: 9, perMs: 1_000 }), key: shared, name: "api" }));
      const two = ['"a";q=1;w=1', '"b";q=1;w=1'];
      const twice = two.flatMap((policy) => ["RateLimit-Policy", policy]);
      app.get("/pairs", (_, response) => response.writeHead(200, twice).end("ok"));
      app.get("/array", (_, response) => response.writeHead(200, { "RateLimit-Policy": two }).end("ok"));
      app.get("/none", (_, response) => response.writeHead(200, null).end("ok"));
      const server = app.listen(0, "127.0.0.1");
      const port = await listen(server);
      const policies = [];
      for (const path of ["pairs", "array", "none"]) {
        policies.push((await fetch(`http://127.0.0.1:${port}/${path}`)).headers.get("ratelimit-policy"));
      }
      const all = `${two.join(", ")}, "api";q=9;w=1`;
      assert.deepEqual(policies, [all, all, '"api";q=9;w=1']);
      server.close();
    }));

  /** A key function that waits for `goOn()`, and how often it was asked. */
  const slowKey = () => {
    let goOn;
    const opened = new Promise((resolve) => (goOn = resolve));
    const slow = { asked: 0, goOn, key: () => ((slow.asked += 1), opened) };
    return slow;
  };

  it("heeds that the client of pipelined requests is gone", () =>
    withClient(async (client, limiter) => {
      let runs = 0;
      const slow = slowKey();
      const api = limiter({ tokens: 9, perMs: 3_600_000 });
      const app = express();
      app.use(forExpress.rateLimit({ limiter: api, key: slow.key }), (_, response) => {
        runs += 1;
        response.send("ok");
      });
      const server = app.listen(0, "127.0.0.1");
      const socket = connect(await listen(server), "127.0.0.1").on("error", () => undefined);
      socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3));
      await until(() => slow.asked === 3);
      socket.destroy();
      await pause(50);
      slow.goOn();
      await until(async () => (await api.peek()).remaining === 6);
      await pause(20);
      assert.equal(runs, 0);
      server.close();
    }));

  it("works with HTTP/2, and heeds that its client is gone", () =>
    withClient(async (client, limiter) => {
      let runs = 0;
      const slow = slowKey();
      const api = limiter({ tokens: 9, perMs: 3_600_000 });
      const koa = new Koa();
      koa.use(forKoa.rateLimit({ limiter: api, name: "api", key: slow.key }));
      koa.use((ctx) => {
        runs += 1;
        ctx.body = "ok";
      });
      const server = http2.createServer(koa.callback()).listen(0, "127.0.0.1");
      const session = http2.connect(`http://127.0.0.1:${await listen(server)}`).on("error", () => undefined);
      const gone = session.request({ ":path": "/" }).on("error", () => undefined);
      await until(() => slow.asked === 1);
      gone.close(http2.constants.NGHTTP2_CANCEL);
      await once(gone, "close");
      await pause(50);
      slow.goOn();
      await until(async () => (await api.peek()).remaining === 8);
      await pause(20);
      assert.equal(runs, 0);
      const [headers] = await once(session.request({ ":path": "/", ":method": "HEAD" }).resume(), "response");
      assert.deepEqual([headers[":status"], headers["ratelimit-policy"]], [200, '"api";q=9;w=3600']);
      session.destroy();
      server.close();
    }));
});

describe("the plugin of Fastify", () => {
  const app = async (define) => {
    const made = fastify();
    await define(made);
    const status = async (url) => (await made.inject(url)).statusCode;
    return { status, close: () => made.close(), app: made };
  };

  it("limits the routes of its context and those within", () =>
    withClient(async (client, limiter) => {
      const { status } = await app(async (root) => {
        root.get("/outside", () => "ok");
        await root.register(async (scope) => {
          await scope.register(forFastify, { limiter: limiter(), key: ({ url }) => url });
          scope.get("/inside", () => "ok");
          await scope.register(async (deeper) => void deeper.get("/deeper", () => "ok"));
          scope.get("/free", { config: { rateLimit: false } }, () => "ok");
        });
      });
      for (const url of ["/outside", "/free"])
        assert.deepEqual([await status(url), await status(url)], [200, 200], url);
      for (const url of ["/inside", "/deeper"])
        assert.deepEqual([await status(url), await status(url)], [200, 429], url);
    }));

  it("a route's own options replace those of the plugin, one by one", () =>
    withClient(async (client, limiter) => {
      const own = limiter();
      const { status } = await app(async (root) => {
        await root.register(forFastify, { limiter: limiter({ tokens: 2, perMs: 3_600_000 }), key: shared });
        root.get("/", () => "ok");
        root.get("/own", { config: { rateLimit: { limiter: own } } }, () => "ok");
      });
      assert.deepEqual([await status("/"), await status("/own"), await status("/own")], [200, 200, 429]);
      assert.equal((await own.peek()).remaining, 0); // by the plugin's key function
      assert.deepEqual([await status("/"), await status("/")], [200, 429]);
      // What is not found is limited, too.
      assert.equal(await status("/nowhere"), 429);
    }));

  it("limits of two contexts are both asked, a route's own once", () =>
    withClient(async (client, limiter) => {
      const [outer, inner, own] = [1, 2, 3].map(() => limiter({ tokens: 9, perMs: 3_600_000 }));
      const { status } = await app(async (root) => {
        await root.register(forFastify, { limiter: outer, key: shared });
        await root.register(async (scope) => {
          await scope.register(forFastify, { limiter: inner, key: shared });
          scope.get("/", () => "ok");
          scope.get("/own", { config: { rateLimit: { limiter: own } } }, () => "ok");
        });
      });
      assert.equal(await status("/"), 200);
      assert.equal(await status("/own"), 200);
      const left = await Promise.all([outer, inner, own].map(async (one) => (await one.peek()).remaining));
      assert.deepEqual(left, [8, 8, 8]);
    }));

  it("a route's own options replace those of the nearest plugin", () =>
    withClient(async (client, limiter) => {
      const rate = { tokens: 9, perMs: 3_600_000 };
      for (const outer of [{}, { limiter: limiter(rate), key: shared }]) {
        const [inner, early] = [limiter(rate), limiter(rate)];
        const { status } = await app(async (root) => {
          await root.register(forFastify, outer);
          await root.register(async (scope) => {
            await scope.register(forFastify, { limiter: inner, key: shared });
            scope.get("/", { config: { rateLimit: { cost: 2 } } }, () => "ok");
          });
          root.register(async (scope) => {
            // Registered, and loaded after the route is defined.
            scope.register(forFastify, { limiter: early, key: shared });
            scope.get("/early", { config: { rateLimit: { cost: 3, limiter: early } } }, () => "ok");
          });
        });
        assert.deepEqual([await status("/"), await status("/early")], [200, 200]);
        assert.equal((await inner.peek()).remaining, 7);
        assert.equal((await early.peek()).remaining, 6);
        if (outer.limiter) assert.equal((await outer.limiter.peek()).remaining, 9);
      }
    }));

  it("refuses a route's config that is no object", () =>
    withClient(async (client, limiter) => {
      for (const rateLimit of [true, null, 7, "x", [7], [null]]) {
        const define = app(async (root) => {
          await root.register(forFastify, { limiter: limiter() });
          root.get("/", { config: { rateLimit } }, () => "ok");
        });
        await assert.rejects(define, { name: "TypeError", message: /config\.rateLimit must be false, an object/ });
      }
    }));

  it("a handler that answers by itself has the fields", () =>
    withClient(async (client, limiter) => {
      const { app: made } = await app(async (root) => {
        await root.register(forFastify, { limiter: limiter(), key: shared, name: "api" });
        root.get("/", (_, reply) => {
          reply.hijack();
          reply.raw.writeHead(200).end("ok");
        });
      });
      assert.equal((await made.inject("/")).headers["ratelimit-policy"], '"api";q=1;w=3600');
    }));

  it("lets nobody answer beside a stream that has begun", () =>
    withClient(async (client, limiter) => {
      let runs = 0;
      const slow = async function* () {
        yield "a";
        await pause(200);
        yield "b";
      };
      const { app: made } = await app(async (root) => {
        root.addHook("onRequest", (_, reply, done) => {
          setTimeout(() => reply.send(Readable.from(slow())), 20);
          done();
        });
        await root.register(forFastify, { limiter: limiter(), key: () => pause(100) });
        root.get("/", () => (runs += 1));
      });
      assert.equal((await made.inject("/")).payload, "ab");
      assert.equal(runs, 0);
    }));

  for (const hook of ["onRequest", "preParsing", "preValidation", "preHandler"]) {
    it(`asks in the hook that is wanted: ${hook}`, () =>
      withClient(async (client, limiter) => {
        const { app: made } = await app(async (root) => {
          const key = ({ user, body }) => `${user}${body?.id ?? ""}`;
          await root.register(forFastify, { limiter: limiter(), key, hook });
          root.addHook("onRequest", async (request) => void (request.user = "ada"));
          root.post("/", ({ body }) => body);
        });
        const post = (id) => made.inject({ method: "POST", url: "/", payload: { id } });
        const first = await post(1);
        assert.deepEqual([first.statusCode, first.json()], [200, { id: 1 }]);
        assert.equal((await post(1)).statusCode, 429);
        // The body is there for the later hooks alone.
        const knowsBody = hook === "preValidation" || hook === "preHandler";
        assert.equal((await post(2)).statusCode, knowsBody ? 200 : 429);
      }));
  }
});
