// Three requests a minute for everybody: the fourth is told when to come back.
import { connect } from "libdlock";

const client = await connect(process.env.REDIS_URL ?? "redis://127.0.0.1:6379");
const api = client.rateLimiter("example-api", { tokens: 3, perMs: 60_000 });
await api.reset(); // earlier runs have spent tokens

for (let request = 1; request <= 4; request++) {
  const decision = await api.tryAcquire();
  if (decision.allowed) {
    console.log(`request ${request} is allowed, ${decision.remaining} left`);
  } else if (decision.retryAfterMs !== undefined && decision.retryAfterMs <= 20_000) {
    console.log(`request ${request} is refused, and may come back within 20 s`);
  }
}
await client.close();
