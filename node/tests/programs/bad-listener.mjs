// A consumer whose onError throws.
// bad-listener.mjs URL NAME

import { connect } from "libdlock";

const [url, name] = process.argv.slice(2);
const client = await connect(url);
const queue = client.queue(name, { maxAttempts: 1 });
const thrown = new Promise((resolve) => process.once("uncaughtException", resolve));
const consumer = queue.consume(() => Promise.reject(new Error("no")), {
  onError: () => {
    throw new Error("oops");
  },
});
await queue.put("x");
console.log("came up:", (await thrown).message);
const stopped = await consumer.stop();
console.log(`dead: ${(await queue.counts()).dead}, stopped: ${stopped}`);
await client.close();
