// An Express application whose routes are limited, each in its own way. See docs/node/frameworks.md.

import express from "express";
import { connect } from "libdlock";
import { rateLimit } from "libdlock/express";

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

const app = express();
const ok = (request, response) => response.send("ok");
/** Without a key, all requests share the limiter's tokens. */
const together = () => undefined;

app.get("/", ok);
app.get("/limited", rateLimit({ limiter: limiter("demo") }), ok);
app.get("/together", rateLimit({ limiter: limiter("together"), key: together }), ok);
app.get("/user", rateLimit({ limiter: limiter("user"), key: (request) => request.get("X-User") }), ok);
app.get(
  "/cost",
  rateLimit({ limiter: limiter("cost"), key: together, cost: (request) => Number(request.query.n) }),
  ok,
);
app.get(
  "/faulty",
  rateLimit({
    limiter: limiter("faulty"),
    key: () => {
      throw new Error("a key function that fails");
    },
  }),
  ok,
);
app.get(
  "/both",
  rateLimit({ limiter: limiter("outer"), key: together }),
  rateLimit({ limiter: limiter("inner"), key: together }),
  ok,
);
app.get("/skip", rateLimit({ limiter: limiter("skip"), skip: (request) => request.get("X-Skip") === "yes" }), ok);

const server = app.listen(Number(PORT), "127.0.0.1", () => console.log(`listening on ${PORT}`));

process.once("SIGTERM", () => {
  server.close(() => client.close({ release: true }));
  server.closeIdleConnections();
  setTimeout(() => server.closeAllConnections(), 2_000).unref();
});
