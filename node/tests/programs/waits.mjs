// Waits for a lock and for nothing else: waits.mjs URL NAME

import { connect } from "libdlock";

const [url, name] = process.argv.slice(2);
const client = await connect(url);
console.log("waiting");
const held = await client.lock(name).acquire();
console.log("got it");
await held.release();
