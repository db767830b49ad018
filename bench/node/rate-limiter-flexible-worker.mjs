// The peer of the Node worker for decisions: rate-limiter-flexible on ioredis. rate-limiter-flexible-worker.mjs decisions URL CALLERS SECONDS

import Redis from "ioredis";
import { RateLimiterRedis } from "rate-limiter-flexible";

import { loops } from "./callers.mjs";

const [, url, callers, seconds] = process.argv.slice(2);
const client = new Redis(url);
// As ours: so many points a second that nobody is refused.
const limiter = new RateLimiterRedis({ storeClient: client, points: 1_000_000, duration: 1 });

async function work(end) {
  let done = 0;
  while (performance.now() < end) {
    await limiter.consume("bench"); // rejects when it refuses
    done++;
  }
  return done;
}

await loops(Array(Number(callers)).fill(work), Number(seconds));
client.disconnect();
