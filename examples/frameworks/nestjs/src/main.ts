// A NestJS application whose handlers are limited, each in its own way. See docs/node/frameworks.md.

import "reflect-metadata";

import { Controller, Get, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import type { Request } from "express";
import type { RateLimiterOptions } from "libdlock";
import { LibdlockModule, RateLimited } from "libdlock/nestjs";

const env = process.env;
const absent = (env.LIMIT_ABSENT ?? "fail") as "fail" | "deny" | "allow" | "local_share";
const rate: RateLimiterOptions = {
  tokens: Number(env.LIMIT_TOKENS ?? 100),
  perMs: Number(env.LIMIT_PERIOD_MS ?? 60_000),
  burst: env.LIMIT_BURST ? Number(env.LIMIT_BURST) : undefined,
  algorithm: (env.LIMIT_ALGORITHM ?? "gcra") as "gcra" | "fixed_window",
  absent: absent === "local_share" ? { localShare: 2 } : absent,
};
const names = ["demo", "together", "user", "cost", "faulty", "outer", "inner", "skip"];

/** Without a key, all requests share the limiter's tokens. */
const together = (): undefined => undefined;

@Controller()
class DemoController {
  @Get()
  index(): string {
    return "ok";
  }

  @Get("limited")
  @RateLimited("demo")
  limited(): string {
    return "ok";
  }

  @Get("together")
  @RateLimited({ limiter: "together", key: together })
  together(): string {
    return "ok";
  }

  @Get("user")
  @RateLimited({ limiter: "user", key: (request: Request) => request.get("X-User") })
  user(): string {
    return "ok";
  }

  @Get("cost")
  @RateLimited({ limiter: "cost", key: together, cost: (request: Request) => Number(request.query.n) })
  cost(): string {
    return "ok";
  }

  @Get("faulty")
  @RateLimited({
    limiter: "faulty",
    key: () => {
      throw new Error("a key function that fails");
    },
  })
  faulty(): string {
    return "ok";
  }

  @Get("both")
  @RateLimited({ limiter: "outer", key: together })
  @RateLimited({ limiter: "inner", key: together })
  both(): string {
    return "ok";
  }

  @Get("skip")
  @RateLimited({ limiter: "skip", skip: (request: Request) => request.get("X-Skip") === "yes" })
  skip(): string {
    return "ok";
  }
}

@Module({
  imports: [
    LibdlockModule.forRoot({
      url: env.REDIS_URL ?? "redis://127.0.0.1:6379/0",
      // The application starts also while the server is away.
      connect: { lazyConnect: true },
      limiters: Object.fromEntries(names.map((name) => [name, rate])),
    }),
  ],
  controllers: [DemoController],
})
class AppModule {}

const port = Number(env.PORT ?? 3000);
const app = await NestFactory.create(AppModule, { logger: ["error", "warn"], forceCloseConnections: true });
// Closes the client of the module, too.
app.enableShutdownHooks();
await app.listen(port, "127.0.0.1");
console.log(`listening on ${port}`);
