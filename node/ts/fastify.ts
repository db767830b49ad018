/**
 * Rate limits in Fastify.
 *
 * ```js
 * import rateLimit from "libdlock/fastify";
 *
 * await app.register(rateLimit, { limiter: client.rateLimiter("api", { tokens: 100, perMs: 60_000 }) });
 * app.get("/free", { config: { rateLimit: false } }, handler);
 * ```
 *
 * @packageDocumentation
 */

import type {
  FastifyInstance,
  FastifyPluginAsync,
  FastifyReply,
  FastifyRequest,
  preHandlerAsyncHookHandler,
} from "fastify";

import { boolean, callback } from "./arguments.js";
import { wrongType } from "./convert.js";
import { PROBLEM_TYPE } from "./http/fields.js";
import { type LimitOptions, Limiting, type Refusal, readLimit } from "./http/limiting.js";
import { addFieldsLast, isOver } from "./http/response.js";

export type { LimitOptions, Limiter, Refusal } from "./http/limiting.js";
export type { Problem } from "./http/fields.js";

/** How requests of a route are limited in Fastify. */
export interface RateLimitOptions extends LimitOptions<FastifyRequest> {
  /**
   * Answers a request that the handler does not get: what it returns is sent, unless it has sent something. The status is set already,
   * and the fields are added. Without this function the answer is a problem (RFC 9457).
   */
  onRefused?: ((refusal: Refusal, request: FastifyRequest, reply: FastifyReply) => unknown) | undefined;
}

/** How the plugin is registered: what holds for each route that has nothing else in its `config.rateLimit`. */
export interface RateLimitPluginOptions extends Partial<RateLimitOptions> {
  /**
   * Whether routes without a `config.rateLimit` are limited, those that are not found included. By default they are if the plugin has
   * a `limiter`.
   */
  global?: boolean | undefined;
  /** In which hook the limiter is asked: `"onRequest"` by default. A later one if the key needs what another plugin finds out. */
  hook?: "onRequest" | "preParsing" | "preValidation" | "preHandler" | undefined;
}

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * How this route is limited: by options that replace those of the plugin one by one, by several limiters one after the other, or
     * not at all.
     */
    rateLimit?: false | Partial<RateLimitOptions> | readonly Partial<RateLimitOptions>[] | undefined;
  }
}

type RouteConfig = Partial<RateLimitOptions>;

interface Guard {
  readonly limiting: Limiting<FastifyRequest>;
  readonly onRefused: NonNullable<RateLimitOptions["onRefused"]>;
}

const OWN = { onRefused: callback<RateLimitOptions["onRefused"]> };
const HOOKS = ["onRequest", "preParsing", "preValidation", "preHandler"] as const;

/** Contexts in which the plugin is registered, each with the options of the first time. */
const plugins = new WeakMap<object, RateLimitPluginOptions>();

/** The options with which a context, or the nearest one around it, has the plugin: a route's own replace those one by one. */
function nearest(context: FastifyInstance): RateLimitPluginOptions | undefined {
  // A context inherits from the one around it.
  for (let at: object | null = context; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const options = plugins.get(at);
    if (options) return options;
  }
  return undefined;
}

// Async, so that what it throws is what `register` rejects with.
// eslint-disable-next-line @typescript-eslint/require-await
const plugin: FastifyPluginAsync<RateLimitPluginOptions> = async (app, options) => {
  const { global, hook = "onRequest", ...common } = readPlugin(options);
  const forAll = (global ?? common.limiter !== undefined) ? guardOf(common, "register(rateLimit, options)") : undefined;
  const forRoutes = new WeakMap<object, Guard[]>();
  if (!plugins.has(app)) plugins.set(app, options);

  const guardsOf = (config: RouteConfig | readonly RouteConfig[]): Guard[] => {
    let guards = forRoutes.get(config);
    if (guards === undefined) {
      const all = Array.isArray(config) ? (config as readonly RouteConfig[]) : [config as RouteConfig];
      guards = all.map((own) => {
        // Spread, a number would be no options at all.
        if (typeof own !== "object" || (own as unknown) === null) {
          throw wrongType("config.rateLimit", "false, an object of options, or an array of these", own);
        }
        return guardOf({ ...common, ...own }, "config.rateLimit");
      });
      forRoutes.set(config, guards);
    }
    return guards;
  };

  const guardsFor = (request: FastifyRequest): readonly Guard[] => {
    const { rateLimit } = request.routeOptions.config;
    if (rateLimit === false) return [];
    if (rateLimit === undefined) return forAll ? [forAll] : [];
    return nearest(request.server) === options ? guardsOf(rateLimit) : [];
  };

  // What is wrong with a route's options is said when the route is defined.
  app.addHook("onRoute", function ({ config }) {
    const own = config?.rateLimit;
    if (own !== undefined && own !== false && nearest(this) === options) guardsOf(own);
  });

  const limit: preHandlerAsyncHookHandler = async (request, reply) => {
    for (const guard of guardsFor(request)) {
      // Fastify awaits a reply until it is sent.
      if (!(await isLetThrough(guard, request, reply))) return reply;
    }
    return undefined;
  };
  // All four have these arguments first, and await a promise.
  app.addHook(hook as "preHandler", limit);
};

async function isLetThrough(
  { limiting, onRefused }: Guard,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<boolean> {
  const verdict = await limiting.decide(request);
  if (reply.sent) return false;
  // Meanwhile the client went away, or somebody else answers: nobody is to work for it.
  if (isOver(reply.raw)) {
    reply.hijack();
    return false;
  }
  if (verdict === undefined) return true;
  addFieldsLast(reply.raw, verdict.fields);
  if (verdict.refusal === undefined) return true;
  reply.code(verdict.refusal.status);
  const payload: unknown = await onRefused(verdict.refusal, request, reply);
  if (payload !== undefined) reply.send(payload);
  return false;
}

function answer({ problem }: Refusal, _: FastifyRequest, reply: FastifyReply): string {
  reply.type(PROBLEM_TYPE);
  return JSON.stringify(problem);
}

function guardOf(options: RouteConfig, call: string): Guard {
  const { onRefused = answer, ...limit } = readLimit<FastifyRequest, typeof OWN>(options, OWN, call);
  return { limiting: new Limiting(limit, ({ ip }) => ip), onRefused };
}

/** Fastify's own options of `register` are among them. */
const REGISTER = ["prefix", "logLevel", "logSerializers"];

function readPlugin(options: RateLimitPluginOptions): RateLimitPluginOptions {
  const ours = Object.entries(options).filter(([name]) => !REGISTER.includes(name));
  const { global, hook, ...common } = Object.fromEntries(ours) as RateLimitPluginOptions;
  boolean(global, "global");
  if (hook !== undefined && !HOOKS.includes(hook)) {
    throw wrongType("hook", `one of ${HOOKS.map((name) => JSON.stringify(name)).join(", ")}`, hook);
  }
  // Without a limiter the others are for routes that have one: what is wrong with them is said now.
  readLimit({ ...common, limiter: common.limiter ?? unused }, OWN, "register(rateLimit, options)");
  return { global, hook, ...common };
}

function unused(): never {
  throw new Error("a route has a limiter of its own");
}

// For the context in which it is registered, and those within: not for one of its own.
Object.assign(plugin, {
  [Symbol.for("skip-override")]: true,
  [Symbol.for("plugin-meta")]: { name: "libdlock", fastify: "5.x" },
});

export { plugin as rateLimit };
export default plugin;
