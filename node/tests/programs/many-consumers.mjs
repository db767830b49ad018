// Consumers, COUNT of them, each with run(), until a signal.
// many-consumers.mjs URL NAME COUNT

import { connect } from "libdlock";

const [url, name, count] = process.argv.slice(2);
let warnings = 0;
process.on("warning", () => (warnings += 1));
const client = await connect(url);
const consumers = Array.from({ length: Number(count) }, (_, at) => client.queue(name + at).consume(() => undefined));
const running = consumers.map((consumer) => consumer.run());
// A warning comes a turn later.
setImmediate(() => console.log("running"));
const stopped = (await Promise.all(running)).filter(Boolean).length;
console.log(`stopped: ${stopped}, warnings: ${warnings}, listeners left: ${process.listenerCount("SIGTERM")}`);
await client.close();
