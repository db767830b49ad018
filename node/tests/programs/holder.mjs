// Holds a lock until its input ends, says when it is lost and what a release says then: holder.mjs URL NAME LEASE_MS

import { once } from "node:events";

import { connect } from "libdlock";

const [url, name, leaseMs] = process.argv.slice(2);
const client = await connect(url, { leaseMs: Number(leaseMs) });
const held = await client.lock(name).acquire();
const { signal } = held;
console.log(held.token.toString());
process.stdin.on("end", () => process.exit(0)).resume(); // its input keeps it alive
if (!signal.aborted) await once(signal, "abort");
console.log(`lost ${held.valid} ${signal.reason.lossReason}`);
await held.release().catch((error) => console.log(error.code));
await client.close();
process.stdin.destroy();
