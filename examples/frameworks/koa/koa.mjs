// A Koa application whose routes are limited, each in its own way. See docs/node/frameworks.md.

import Router from "@koa/router";
import Koa from "koa";
import { connect } from "libdlock";
import { rateLimit } from "libdlock/koa";

const { REDIS_URL = "redis://127.0.0.1:6379/0", PORT = "3000", ...env } = process.env;

// The application starts also while the server is away.
const client = await connect(REDIS_URL, { lazyConnect: true });

const absent = env.LIMIT_ABSENT ?? "fail";
const limiter = (name) =>
  client.rateLimiter(name, {
    tokens: Number(env.LIMIT_TOKENS ?? 100),
    perMs: Number(env.LIMIT_PERIOD_MS ?? 60_000),
    burst: env.LIMIT_BURST && Number(env.LIMIT_BURST),
    algorithm: env.LIMIT_ALGORITHM ?? "gcra",
    absent: absent === "local_share" ? { localShare: 2 } : absent,
  });

const router = new Router();
const ok = (ctx) => {
  ctx.body = "ok";
};
/** Without a key, all requests share the limiter's tokens. */
const together = () => undefined;

router.get("/", ok);
router.get("/limited", rateLimit({ limiter: limiter("demo") }), ok);
router.get("/together", rateLimit({ limiter: limiter("together"), key: together }), ok);
router.get("/user", rateLimit({ limiter: limiter("user"), key: (ctx) => ctx.get("X-User") }), ok);
router.get("/cost", rateLimit({ limiter: limiter("cost"), key: together, cost: (ctx) => Number(ctx.query.n) }), ok);
router.get(
  "/faulty",
  rateLimit({
    limiter: limiter("faulty"),
    key: () => {
      throw new Error("a key function that fails");
    },
  }),
  ok,
);
router.get(
  "/both",
  rateLimit({ limiter: limiter("outer"), key: together }),
  rateLimit({ limiter: limiter("inner"), key: together }),
  ok,
);
router.get("/skip", rateLimit({ limiter: limiter("skip"), skip: (ctx) => ctx.get("X-Skip") === "yes" }), ok);

const app = new Koa();
app.use(router.routes());
const server = app.listen(Number(PORT), "127.0.0.1", () => console.log(`listening on ${PORT}`));

process.once("SIGTERM", () => {
  server.close(() => client.close({ release: true }));
  server.closeIdleConnections();
  setTimeout(() => server.closeAllConnections(), 2_000).unref();
});
