/**
 * Locks and rate limits in NestJS, with the Express or the Fastify adapter.
 *
 * ```ts
 * @Module({
 *   imports: [
 *     LibdlockModule.forRoot({ url: "redis://127.0.0.1:6379", limiters: { api: { tokens: 100, perMs: 60_000 } } }),
 *   ],
 *   controllers: [ReportController],
 * })
 * class AppModule {}
 *
 * @Controller()
 * class ReportController {
 *   @Get("report")
 *   @RateLimited("api")
 *   @Locked("report", { waitMs: 2_000 })
 *   report() {}
 * }
 * ```
 *
 * @packageDocumentation
 */

export { type LimitOptions, type Limiter, type Refusal } from "./http/limiting.js";
export { type Problem } from "./http/fields.js";
export { InjectClient, Libdlock, getClientToken, getLibdlockToken } from "./nestjs/libdlock.js";
export {
  type AsyncModuleOptions,
  LibdlockModule,
  type ModuleOptions,
  type OptionsFactory,
  type RootOptions,
} from "./nestjs/module.js";
export { Locked, type LockedOptions } from "./nestjs/locked.js";
export {
  RateLimitException,
  RateLimitGuard,
  RateLimited,
  type RateLimitedOptions,
  SkipRateLimit,
} from "./nestjs/limited.js";
