// Writes until its input ends, says when the hold is lost and what a release says then: writer.mjs URL NAME LEASE_MS

import { once } from "node:events";

import { connect } from "libdlock";

const [url, name, leaseMs] = process.argv.slice(2);
const client = await connect(url, { leaseMs: Number(leaseMs) });
const held = await client.rwLock(name).write.acquire();
const { signal } = held;
console.log(held.token.toString());
process.stdin.on("end", () => process.exit(0)).resume(); // its input keeps it alive
if (!signal.aborted) await once(signal, "abort");
console.log(`lost ${held.valid} ${signal.reason.lossReason}`);
await held.release().catch((error) => console.log(error.code));
await client.close();
process.stdin.destroy();
