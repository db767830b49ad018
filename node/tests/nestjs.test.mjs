// The module of NestJS: its decorators, its guard and its client, with the real framework.

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import * as nest from "@nestjs/common";
import { APP_GUARD, ExternalContextCreator, NestFactory } from "@nestjs/core";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import "reflect-metadata";

import {
  InjectClient,
  Libdlock,
  LibdlockModule,
  Locked,
  RateLimitGuard,
  RateLimited,
  SkipRateLimit,
  getClientToken,
  getLibdlockToken,
} from "libdlock/nestjs";

import { ONE, statuses, withClient } from "./kit/http.mjs";
import { RedisServer } from "./kit/index.mjs";

describe("NestJS", () => {
  /** An application of one controller with these methods, each with its decorators. */
  const start = async ({ root, methods = {}, controllerWith = [], providers = [], options = {} }) => {
    class Controller {}
    nest.Controller()(Controller);
    for (const [name, [run, ...decorators]] of Object.entries(methods)) {
      Controller.prototype[name] = run;
      const descriptor = Object.getOwnPropertyDescriptor(Controller.prototype, name);
      for (const decorate of [nest.Get(name), ...decorators].reverse())
        decorate(Controller.prototype, name, descriptor);
      Object.defineProperty(Controller.prototype, name, descriptor);
    }
    for (const decorate of controllerWith) decorate(Controller);
    class App {}
    nest.Module({ imports: [root].flat(), controllers: [Controller], providers })(App);
    const app = await NestFactory.create(App, { logger: false, abortOnError: false, ...options });
    await app.listen(0, "127.0.0.1");
    return { app, port: app.getHttpServer().address().port };
  };
  const limiters = { demo: ONE, wide: { tokens: 3, perMs: 3_600_000 } };
  const root = LibdlockModule.forRoot({ url: "memory://", limiters });

  it("limiters of the module are named, of controllers and handlers", async () => {
    const { app, port } = await start({
      root,
      methods: { a: [() => "ok", RateLimited("demo")], b: [() => "ok"], c: [() => "ok", SkipRateLimit()] },
      controllerWith: [RateLimited({ limiter: "wide", key: () => undefined })],
    });
    assert.deepEqual(await statuses(port, "/a", "/a", "/b", "/b", "/c"), [200, 429, 200, 429, 200]);
    await app.close();
  });

  it("a guard of the application does not ask again", async () => {
    const { app, port } = await start({
      root,
      methods: { a: [() => "ok", RateLimited("wide")] },
      providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
    });
    assert.deepEqual(await statuses(port, "/a", "/a", "/a", "/a"), [200, 200, 200, 429]);
    await app.close();
  });

  it("the client is injected, and closed with the application", async () => {
    class Stock {
      constructor(client) {
        this.client = client;
      }
    }
    InjectClient()(Stock, undefined, 0);
    const { app } = await start({ root, providers: [Stock] });
    const { client } = app.get(Stock);
    assert.equal(client, app.get(getClientToken()));
    assert.equal((await app.get(getLibdlockToken()).limiter("demo").peek()).limit, 1);
    await client.lock("x").acquire();
    assert.equal(client.closed, false);
    await app.close();
    assert.equal(client.closed, true);
  });

  it("a client of one's own stays open", () =>
    withClient(async (client) => {
      const { app } = await start({ root: LibdlockModule.forRoot({ client }) });
      await app.close();
      assert.equal(client.closed, false);
    }));

  it("options may be made by other providers", async () => {
    const made = { url: "memory://", limiters };
    class Factory {
      createLibdlockOptions() {
        return made;
      }
    }
    class Config {}
    nest.Module({ providers: [{ provide: "made", useValue: made }], exports: ["made"] })(Config);
    for (const how of [
      { useFactory: async (options) => options, inject: ["made"], imports: [Config] },
      { useFactory: () => ({ ...made, url: new URL(made.url) }) },
      { useClass: Factory },
    ]) {
      const { app, port } = await start({
        root: LibdlockModule.forRootAsync(how),
        methods: { a: [() => "ok", RateLimited("demo")] },
        options: { httpAdapter: undefined },
      });
      assert.deepEqual(await statuses(port, "/a", "/a"), [200, 429]);
      await app.close();
    }
    assert.throws(() => LibdlockModule.forRootAsync({}), /useFactory, useClass or useExisting must be/);
    assert.throws(
      () => LibdlockModule.forRoot({}),
      /forRoot\(options\): url must be a string or a URL object, not undefined/,
    );
    await assert.rejects(
      start({ root: LibdlockModule.forRootAsync({ useFactory: () => ({}) }) }),
      /url must be a string/,
    );
  });

  it("two modules are told apart by their names", async () => {
    const other = LibdlockModule.forRoot({
      url: "memory://",
      name: "other",
      limiters: { demo: { ...ONE, tokens: 2 } },
    });
    const { app, port } = await start({
      root: [root, other],
      methods: {
        a: [() => "ok", RateLimited("demo")],
        b: [() => "ok", RateLimited({ limiter: "demo", client: "other" })],
      },
    });
    assert.deepEqual(await statuses(port, "/a", "/a", "/b", "/b", "/b"), [200, 429, 200, 200, 429]);
    assert.notEqual(app.get(getClientToken()), app.get(getClientToken("other")));
    await app.close();
  });

  it("what is not configured is told", async () => {
    const errors = [];
    const filter = {
      catch: (error, host) => (errors.push(error.message), host.switchToHttp().getResponse().status(500).end()),
    };
    nest.Catch()(filter.constructor);
    const methods = {
      a: [() => "ok", RateLimited("typo")],
      b: [() => "ok", RateLimited({ limiter: "demo", client: "none" })],
    };
    const { app, port } = await start({ root, methods });
    app.useGlobalFilters(filter);
    assert.deepEqual(await statuses(port, "/a", "/b"), [500, 500]);
    await app.close();
    await withClient((client) => {
      assert.throws(
        () => new Libdlock(client, limiters, false).limiter("typo"),
        /no limiter "typo".*there are: "demo", "wide"/,
      );
    });
  });

  it("a method of any provider runs under its lock", async () => {
    const log = [];
    class Report {
      async run(what) {
        log.push(`begin ${what}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
        log.push(`end ${what}`);
        return what;
      }
    }
    const decorate = (name, decorator) => {
      const descriptor = Object.getOwnPropertyDescriptor(Report.prototype, name);
      decorator(Report.prototype, name, descriptor);
      Object.defineProperty(Report.prototype, name, descriptor);
    };
    Report.prototype.busy = () => "never";
    nest.SetMetadata("kept", 7)(Report.prototype.run);
    decorate(
      "run",
      Locked((what) => `report:${what[0]}`),
    );
    decorate("busy", Locked("taken", { waitMs: 0, onBusy: (error, ...args) => `${error.kind} ${args}` }));
    assert.equal(Reflect.getMetadata("kept", Report.prototype.run), 7);
    assert.equal(Report.prototype.run.name, "run");
    const { app } = await start({ root, providers: [Report] });
    const report = app.get(Report);
    assert.deepEqual(await Promise.all([report.run("a1"), report.run("a2")]), ["a1", "a2"]);
    assert.deepEqual(log, ["begin a1", "end a1", "begin a2", "end a2"]);
    const held = await app.get(getClientToken()).lock("taken").acquire();
    assert.equal(await report.busy(1, 2), "BUSY 1,2");
    await held.release();
    assert.equal(await report.busy(), "never");
    await assert.rejects(new Report().run("a"), /works on what Nest makes/);
    await app.close();
  });

  it("a handler is locked in either order of decorators", async () => {
    let running = 0;
    const run = async () => {
      assert.equal((running += 1), 1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      running -= 1;
      return "done";
    };
    const { app, port } = await start({ root, methods: { a: [run, Locked("x")] } });
    assert.deepEqual(await Promise.all([statuses(port, "/a"), statuses(port, "/a")]), [[200], [200]]);
    await app.close();
    class Other {}
    nest.Controller()(Other);
    Other.prototype.a = run;
    const descriptor = Object.getOwnPropertyDescriptor(Other.prototype, "a");
    nest.Get("a")(Other.prototype, "a", descriptor);
    Locked("x")(Other.prototype, "a", descriptor);
    Object.defineProperty(Other.prototype, "a", descriptor);
    class App {}
    nest.Module({ imports: [root], controllers: [Other] })(App);
    const second = await NestFactory.create(App, new FastifyAdapter(), { logger: false });
    await second.listen(0, "127.0.0.1");
    assert.deepEqual(await statuses(second.getHttpServer().address().port, "/a"), [200]);
    await second.close();
  });

  it("locks refuse options that are none", () => {
    assert.throws(() => Locked("x", { wait: 5 }), /has no option "wait"/);
    assert.throws(() => Locked(7), /name must be a string/);
    assert.throws(() => Locked("x", { onBusy: 7 }), /onBusy must be a function/);
    assert.throws(() => Locked("x")(class {}.prototype, "a", {}), /@Locked is for methods/);
    // What runs later than the method would run without the lock.
    const generators = class {
      *a() {
        yield 1;
      }
      async *b() {
        yield 1;
      }
    };
    const { a, b } = generators.prototype;
    for (const value of [a, b]) {
      assert.throws(() => Locked("x")(class {}.prototype, "a", { value }), /a is a generator/);
    }
    assert.throws(() => Locked("x")(class {}, "a", { value: () => undefined }), /a is static/);
  });

  it("each call of a request counts where it makes several", async () => {
    class Resolver {
      login() {
        return "in";
      }
    }
    const descriptor = Object.getOwnPropertyDescriptor(Resolver.prototype, "login");
    RateLimited("two")(Resolver.prototype, "login", descriptor);
    class Guard extends RateLimitGuard {
      requestAndResponse(context) {
        return context.getArgByIndex(2);
      }
    }
    nest.UseGuards(Guard)(Resolver);
    Reflect.deleteMetadata("__guards__", Resolver.prototype.login);
    const answers = [];
    const options = { root: LibdlockModule.forRoot({ url: "memory://", limiters: { two: { ...ONE, tokens: 2 } } }) };
    let call;
    class Http {
      async query(request, response) {
        // As a GraphQL query that names a field four times.
        for (let n = 0; n < 4; n++) {
          answers.push(await call(null, {}, { request, response }, {}).catch((error) => error.getStatus()));
        }
        return "answered";
      }
    }
    nest.Controller()(Http);
    nest.Get("q")(Http.prototype, "query", Object.getOwnPropertyDescriptor(Http.prototype, "query"));
    nest.Req()(Http.prototype, "query", 0);
    nest.Res({ passthrough: true })(Http.prototype, "query", 1);
    class App {}
    nest.Module({ imports: [options.root], controllers: [Http], providers: [Resolver] })(App);
    const app = await NestFactory.create(App, { logger: false });
    const resolver = app.get(Resolver);
    const none = [undefined, undefined, undefined, undefined, undefined];
    call = app.get(ExternalContextCreator).create(resolver, resolver.login, "login", ...none, "graphql");
    await app.listen(0, "127.0.0.1");
    const { headers } = await fetch(`http://127.0.0.1:${app.getHttpServer().address().port}/q`);
    assert.deepEqual(answers, ["in", "in", 429, 429]);
    // The fields are there once, and say how things stand at the end.
    assert.equal(headers.get("ratelimit-policy"), '"two";q=2;w=3600');
    assert.match(headers.get("ratelimit"), /^"two";r=0;t=\d+$/);
    await app.close();
  });

  it("limiters that are refused leave no connection", async () => {
    const redis = await RedisServer.start();
    try {
      const app = await start({ root: LibdlockModule.forRoot({ url: redis.url, limiters }) });
      const connections = async () => (await redis.command("CLIENT", "LIST")).trim().split("\n").length;
      const before = await connections();
      const wrong = LibdlockModule.forRoot({ url: redis.url, limiters: { bad: { tokens: -1, perMs: 5 } } });
      await assert.rejects(start({ root: wrong }), /"bad".*rate -1/);
      // Well before the collector finds it.
      for (let n = 0; n < 20 && (await connections()) > before; n++) await pause(50);
      assert.equal(await connections(), before);
      await app.app.close();
    } finally {
      await redis.stop();
    }
  });
});
