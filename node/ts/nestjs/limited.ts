import type { ServerResponse } from "node:http";

import {
  type CanActivate,
  type ExecutionContext,
  HttpException,
  Inject,
  Injectable,
  SetMetadata,
  UseGuards,
  applyDecorators,
} from "@nestjs/common";
import { ModuleRef, Reflector } from "@nestjs/core";

import { words } from "../arguments.js";
import { type Fields, PROBLEM_TYPE } from "../http/fields.js";
import { type LimitOptions, type Limiter, Limiting, type Refusal, readLimit } from "../http/limiting.js";
import { addFieldsLast, isOver } from "../http/response.js";
import { libdlockOf } from "./libdlock.js";

type Awaitable<T> = T | PromiseLike<T>;

/** How requests are limited in Nest. The functions are given the request of the adapter, Express's or Fastify's, and Nest's context. */
export interface RateLimitedOptions<Request> {
  /** A name of the module's `limiters`, or a limiter, or a function that returns one. */
  limiter: string | LimitOptions<never>["limiter"];
  /** As for `LimitOptions.key`. */
  key?: ((request: Request, context: ExecutionContext) => Awaitable<string | null | undefined>) | undefined;
  /** As for `LimitOptions.cost`. */
  cost?: number | ((request: Request, context: ExecutionContext) => Awaitable<number>) | undefined;
  /** As for `LimitOptions.skip`. */
  skip?: ((request: Request, context: ExecutionContext) => Awaitable<boolean>) | undefined;
  /** As for `LimitOptions.name`. */
  name?: string | undefined;
  /** The name of the LibdlockModule, if it has one. */
  client?: string | undefined;
}

const LIMITS = "libdlock:limits";
const SKIPPED = "libdlock:skip";
type Limit = RateLimitedOptions<never>;

/** Any request: the adapter decides which it is. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type AnyRequest = any;

/**
 * Limits the requests to a handler, or to each handler of a controller, by a limiter of the module. Several apply one after the other,
 * those of the controller first.
 */
export function RateLimited<Request = AnyRequest>(
  limiter: string | RateLimitedOptions<Request>,
): ClassDecorator & MethodDecorator {
  const options = typeof limiter === "string" ? { limiter } : limiter;
  const { limiter: source, client, ...rest } = options;
  // What is wrong with the options is said when the application starts.
  readLimit({ ...rest, limiter: typeof source === "string" ? unused : source }, {}, "@RateLimited(options)");
  words(client, "client", { op: "rateLimit" });
  const add: ClassDecorator & MethodDecorator = (target: object, ...method: unknown[]) => {
    const [, descriptor] = method as [string?, { value?: unknown }?];
    const where = (descriptor?.value ?? target) as () => unknown;
    // Decorators apply from the last to the first.
    const there = new Reflector().get<Limit[] | undefined>(LIMITS, where) ?? [];
    SetMetadata(LIMITS, [options, ...there])(where);
  };
  return applyDecorators(add, UseGuards(RateLimitGuard));
}

function unused(): never {
  throw new Error("only the name of this limiter is known yet");
}

/** Exempts a handler, or each handler of a controller, from limits of its controller and of a global guard. */
export function SkipRateLimit(skip = true): ClassDecorator & MethodDecorator {
  return applyDecorators(SetMetadata(SKIPPED, skip));
}

/** What is thrown in place of calling the handler; Nest answers it with its problem, unless a filter of yours does. */
export class RateLimitException extends HttpException {
  /** @internal */
  constructor(readonly refusal: Refusal) {
    super({ ...refusal.problem }, refusal.status, { cause: refusal.error });
  }
}

/**
 * What has been decided of a call, so that a guard of the application and one of the handler do not both ask. Nest makes one context
 * for all guards of a call. One request may make many calls, such as a GraphQL query that names a field several times.
 */
const decided = new WeakMap<ExecutionContext, Set<Limit>>();

/** What the answer to a request says about each limit: what its last call met. */
const told = new WeakMap<ServerResponse, Map<Limit, Fields>>();

function tell(response: ServerResponse, limit: Limit, fields: Fields): void {
  const limits = told.get(response) ?? new Map<Limit, Fields>();
  told.set(response, limits);
  const there = limits.get(limit);
  if (there) {
    Object.assign(there, { limit: undefined, retryAfter: undefined, ...fields });
    return;
  }
  const added = { ...fields };
  limits.set(limit, added);
  addFieldsLast(response, added);
}

/** The guard that `@RateLimited` uses. Derive from it for requests that are not HTTP's own, such as those of GraphQL. */
export class RateLimitGuard implements CanActivate {
  readonly #limitings = new WeakMap<Limit, Limiting<ExecutionContext>>();

  constructor(private readonly modules: ModuleRef) {}

  /** Whether the handler gets the request. */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const reflector = new Reflector();
    const targets = [context.getHandler(), context.getClass()];
    if (reflector.getAllAndOverride<boolean | undefined>(SKIPPED, targets)) return true;
    const limits = targets.reverse().flatMap((target) => reflector.get<Limit[] | undefined>(LIMITS, target) ?? []);
    if (limits.length === 0) return true;
    const { response } = this.requestAndResponse(context);
    const raw = response.raw ?? response;
    const seen = decided.get(context) ?? new Set();
    decided.set(context, seen);
    for (const limit of limits) {
      if (seen.has(limit)) continue;
      seen.add(limit);
      const verdict = await this.#limitingOf(limit).decide(context);
      if (isOver(raw)) return false;
      if (!verdict) continue;
      tell(raw, limit, verdict.fields);
      if (!verdict.refusal) continue;
      response.header("Content-Type", PROBLEM_TYPE);
      throw new RateLimitException(verdict.refusal);
    }
    return true;
  }

  /** The request and the response of Express or Fastify. */
  protected requestAndResponse(context: ExecutionContext): { request: NestRequest; response: NestResponse } {
    const kind = context.getType<string>();
    if (kind !== "http") {
      throw new TypeError(
        `@RateLimited limits requests over HTTP, and this is one of ${kind}: derive from RateLimitGuard and say in requestAndResponse where its request is`,
      );
    }
    const http = context.switchToHttp();
    return { request: http.getRequest<NestRequest>(), response: http.getResponse<NestResponse>() };
  }

  #limitingOf(limit: Limit): Limiting<ExecutionContext> {
    let limiting = this.#limitings.get(limit);
    if (!limiting) {
      limiting = new Limiting(this.#optionsOf(limit), (context) => this.requestAndResponse(context).request.ip);
      this.#limitings.set(limit, limiting);
    }
    return limiting;
  }

  /** The functions are given the request, and the context behind it. */
  #optionsOf({ limiter, key, cost, skip, name, client }: Limit): LimitOptions<ExecutionContext> {
    type Asks<T> = (request: NestRequest, context: ExecutionContext) => T;
    const of = <T>(ask: Asks<T> | undefined): ((context: ExecutionContext) => T) | undefined =>
      ask && ((context) => ask(this.requestAndResponse(context).request, context));
    const named = (): Limiter => libdlockOf(this.modules, client).limiter(limiter as string);
    return {
      limiter: typeof limiter === "string" ? named : limiter,
      key: of(key as Asks<string> | undefined),
      cost: typeof cost === "function" ? of(cost as Asks<number>) : cost,
      skip: of(skip as Asks<boolean> | undefined),
      name,
    };
  }
}

Injectable()(RateLimitGuard);
Inject(ModuleRef)(RateLimitGuard, undefined, 0);

interface NestRequest {
  ip?: string;
}

/** Express's response, or Fastify's reply, which has Node's as `raw`. */
interface NestResponse extends ServerResponse {
  raw?: ServerResponse;
  header(name: string, value: string): unknown;
}
