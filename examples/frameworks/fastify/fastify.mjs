// A Fastify application whose routes are limited, each in its own way. See docs/node/frameworks.md.

import Fastify from "fastify";
import { connect } from "libdlock";
import rateLimit from "libdlock/fastify";

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

const app = Fastify({ forceCloseConnections: "idle" });
await app.register(rateLimit);
app.addHook("onClose", () => client.close({ release: true }));

const ok = async () => "ok";
/** Without a key, all requests share the limiter's tokens. */
const together = () => undefined;
/** The options of a route with these limits. */
const limits = (...rateLimit) => ({ config: { rateLimit } });

app.get("/", ok);
app.get("/limited", limits({ limiter: limiter("demo") }), ok);
app.get("/together", limits({ limiter: limiter("together"), key: together }), ok);
app.get("/user", limits({ limiter: limiter("user"), key: (request) => request.headers["x-user"] }), ok);
app.get("/cost", limits({ limiter: limiter("cost"), key: together, cost: (request) => Number(request.query.n) }), ok);
app.get(
  "/faulty",
  limits({
    limiter: limiter("faulty"),
    key: () => {
      throw new Error("a key function that fails");
    },
  }),
  ok,
);
app.get(
  "/both",
  limits({ limiter: limiter("outer"), key: together }, { limiter: limiter("inner"), key: together }),
  ok,
);
app.get("/skip", limits({ limiter: limiter("skip"), skip: (request) => request.headers["x-skip"] === "yes" }), ok);

await app.listen({ port: Number(PORT), host: "127.0.0.1" });
console.log(`listening on ${PORT}`);

process.once("SIGTERM", () => app.close());
