// Holds two of three permits until its input ends, says when they are lost and what a release says then:
// permits.mjs URL NAME LEASE_MS

import { once } from "node:events";

import { connect } from "libdlock";

const [url, name, leaseMs] = process.argv.slice(2);
const client = await connect(url, { leaseMs: Number(leaseMs) });
const held = await client.semaphore(name, 3).acquire({ permits: 2 });
const { signal } = held;
console.log(held.permits.join(" "));
process.stdin.on("end", () => process.exit(0)).resume(); // its input keeps it alive
if (!signal.aborted) await once(signal, "abort");
console.log(`lost ${held.valid} ${signal.reason.lossReason}`);
await held.release().catch((error) => console.log(error.code));
await client.close();
process.stdin.destroy();
