// Consumes a queue until SIGTERM or SIGINT, and says what it does.
// consumer.mjs URL NAME GRACE_MS [CONCURRENCY]

import { setTimeout as pause } from "node:timers/promises";

import { connect } from "libdlock";

const [url, name, graceMs, concurrency = 1] = process.argv.slice(2);
const client = await connect(url, { leaseMs: 1_000 });
const work = async ({ id }) => {
  console.log("begun", id);
  await pause(graceMs > 1_000 ? 300 : 60_000);
  console.log("done", id);
};
const options = { graceMs: Number(graceMs), concurrency: Number(concurrency) };
console.log("finished", await client.queue(name).consume(work, options).run());
await client.close();
process.exit();
