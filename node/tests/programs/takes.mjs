// Waits for a permit and for nothing else, and keeps it: takes.mjs URL NAME

import { connect } from "libdlock";

const [url, name] = process.argv.slice(2);
const client = await connect(url);
console.log("waiting");
await client.countingSemaphore(name).acquire();
console.log("got it");
