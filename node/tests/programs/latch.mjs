// Waits for a latch and for nothing else: latch.mjs URL NAME

import { connect } from "libdlock";

const [url, name] = process.argv.slice(2);
const client = await connect(url);
console.log("waiting");
await client.latch(name).wait();
console.log("open");
