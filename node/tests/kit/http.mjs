// The same application in every framework: routes with limits, each of which answers 200 and "ok".

import { once } from "node:events";

import { Module } from "@nestjs/common";
import * as nest from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { ExpressAdapter } from "@nestjs/platform-express";
import { FastifyAdapter } from "@nestjs/platform-fastify";
import express5 from "express";
import express4 from "express4";
import fastify from "fastify";
import Koa from "koa";
import "reflect-metadata";

import { connect } from "libdlock";
import * as forExpress from "libdlock/express";
import forFastify from "libdlock/fastify";
import * as forKoa from "libdlock/koa";
import { LibdlockModule, RateLimited } from "libdlock/nestjs";

import { freshName } from "./index.mjs";

/** Limits with functions of a header, which each framework's request has in its own place: `headers` gives them. */
const optionsOf = (limit, headers) => {
  const ask = (given) => (typeof given === "function" ? (request) => given(headers(request)) : given);
  const { key, cost, skip, ...rest } = limit;
  return { ...rest, ...(key && { key: ask(key) }), cost: ask(cost), ...(skip && { skip: ask(skip) }) };
};

const listening = async (server) => {
  if (!server.listening) await once(server, "listening");
  return server.address().port;
};
const closeOf = (server) => async () => {
  server.closeAllConnections();
  if (server.listening) await new Promise((resolve) => server.close(resolve));
};

const express = (make) => async (routes) => {
  const app = make();
  for (const { path, limits, run, sets = {} } of routes) {
    const guards = limits.map((limit) => forExpress.rateLimit(optionsOf(limit, ({ headers }) => headers)));
    app.all(path, ...guards, (_, response) => {
      run?.();
      response.set(sets).send("ok");
    });
  }
  app.set("env", "test"); // no stack traces on stderr
  const server = app.listen(0, "127.0.0.1");
  return { port: await listening(server), close: closeOf(server), app };
};

async function koa(routes) {
  const app = new Koa();
  app.silent = true;
  for (const { path, limits, run, sets = {} } of routes) {
    const here = (middleware) => (ctx, next) => (ctx.path === path ? middleware(ctx, next) : next());
    for (const limit of limits) app.use(here(forKoa.rateLimit(optionsOf(limit, ({ headers }) => headers))));
    app.use(
      here((ctx) => {
        run?.();
        ctx.set(sets);
        ctx.body = "ok";
      }),
    );
  }
  const server = app.listen(0, "127.0.0.1");
  return { port: await listening(server), close: closeOf(server), app };
}

async function withFastify(routes) {
  const app = fastify();
  await app.register(forFastify);
  for (const { path, limits, run, sets = {} } of routes) {
    const rateLimit = limits.map((limit) => optionsOf(limit, ({ headers }) => headers));
    app.all(path, { config: { rateLimit } }, (_, reply) => {
      run?.();
      reply.headers(sets).send("ok");
    });
  }
  await app.listen({ port: 0, host: "127.0.0.1" });
  return { port: app.server.address().port, close: () => app.close(), app };
}

const nestWith =
  (makeAdapter) =>
  async (routes, { client } = {}) => {
    class Controller {}
    nest.Controller()(Controller);
    routes.forEach(({ path, limits, run, sets = {} }, at) => {
      const method = `route${at}`;
      Controller.prototype[method] = (response) => {
        run?.();
        for (const [name, value] of Object.entries(sets)) response.header(name, value);
        return "ok";
      };
      const descriptor = Object.getOwnPropertyDescriptor(Controller.prototype, method);
      nest.Res({ passthrough: true })(Controller.prototype, method, 0);
      nest.All(path)(Controller.prototype, method, descriptor);
      for (const limit of limits.toReversed()) {
        RateLimited(optionsOf(limit, ({ headers }) => headers))(Controller.prototype, method, descriptor);
      }
    });
    class App {}
    const root = LibdlockModule.forRoot(client ? { client } : { url: "memory://" });
    Module({ imports: [root], controllers: [Controller] })(App);
    const app = await NestFactory.create(App, makeAdapter(), { logger: false });
    await app.listen(0, "127.0.0.1");
    return { port: app.getHttpServer().address().port, close: () => app.close(), app };
  };

/** By name: `serve(routes)` resolves with the port and with what stops it. */
export const FRAMEWORKS = {
  "Express 5": express(express5),
  "Express 4": express(express4),
  Fastify: withFastify,
  Koa: koa,
  "NestJS on Express": nestWith(() => new ExpressAdapter()),
  "NestJS on Fastify": nestWith(() => new FastifyAdapter()),
};

/** A token an hour. */
export const ONE = { tokens: 1, perMs: 3_600_000 };

/** Runs `use` with a client whose server is in memory. */
export const withClient = async (use) => {
  const client = await connect("memory://");
  try {
    await use(client, (rate = ONE) => client.rateLimiter(freshName(), rate));
  } finally {
    await client.close();
  }
};
/** What the paths answer, one after the other. */
export const statuses = async (port, ...paths) => {
  const seen = [];
  for (const path of paths) seen.push((await fetch(`http://127.0.0.1:${port}${path}`)).status);
  return seen;
};
