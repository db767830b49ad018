// Asks for decisions in a turn of the loop that ends with an exception: turn.mjs URL

import { connect } from "libdlock";

const client = await connect(process.argv[2]);
const limiter = client.rateLimiter("thrown", { tokens: 5, perMs: 3_600_000 });
process.once("uncaughtException", ({ message }) => console.log(`caught: ${message}`));
setImmediate(async () => {
  const asked = [limiter.tryAcquire(), limiter.tryAcquire(), limiter.tryAcquire()];
  process.nextTick(() => {
    throw new Error("of somebody else");
  });
  const decisions = await Promise.all(asked);
  console.log(`allowed: ${decisions.map(({ allowed }) => allowed)}`);
  await client.close();
});
