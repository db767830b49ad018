import { Inject } from "@nestjs/common";
import type { ModuleRef } from "@nestjs/core";

import type { Client } from "../client.js";
import type { RateLimiter, RateLimiterOptions } from "../rate-limiter.js";

/** The token under which the client of a module is injected; `name` is the module's, if it has one. */
export function getClientToken(name?: string): string {
  return named("client", name);
}

/** The token of a module's `Libdlock`. */
export function getLibdlockToken(name?: string): string {
  return named("limiters", name);
}

function named(what: string, name: string | undefined): string {
  return name === undefined ? `libdlock:${what}` : `libdlock:${what}:${name}`;
}

/** Injects the client of the module, or of the module of that name. */
export function InjectClient(name?: string): ParameterDecorator & PropertyDecorator {
  return Inject(getClientToken(name));
}

/** What a module made: its client, and the rate limiters that its options name. */
export class Libdlock {
  readonly #limiters = new Map<string, RateLimiter>();
  readonly #isOurs: boolean;

  /** @internal */
  constructor(
    readonly client: Client,
    limiters: Readonly<Record<string, RateLimiterOptions>>,
    isOurs: boolean,
  ) {
    this.#isOurs = isOurs;
    for (const [name, options] of Object.entries(limiters)) this.#limiters.set(name, client.rateLimiter(name, options));
  }

  /** The rate limiter of that name. Throws an error that names those that there are. */
  limiter(name: string): RateLimiter {
    const limiter = this.#limiters.get(name);
    if (limiter) return limiter;
    const there = [...this.#limiters.keys()].map((other) => JSON.stringify(other)).join(", ") || "none";
    throw new Error(
      `the LibdlockModule has no limiter ${JSON.stringify(name)}: add it to the limiters of forRoot; there are: ${there}`,
    );
  }

  /** Nest calls it when the application ends: what the client still holds is released. */
  async onApplicationShutdown(): Promise<void> {
    if (this.#isOurs && !this.client.closed) await this.client.close({ release: true });
  }
}

/** That of the module of this name. @internal */
export function libdlockOf(modules: ModuleRef, name: string | undefined): Libdlock {
  try {
    return modules.get<Libdlock>(getLibdlockToken(name), { strict: false });
  } catch {
    const options = name === undefined ? "{ url }" : `{ url, name: ${JSON.stringify(name)} }`;
    throw new Error(
      `there is no LibdlockModule here: import LibdlockModule.forRoot(${options}) in the application's module`,
    );
  }
}
