// Has a client open, locks, permits and sides held and renewed, and signals listened to: none of it keeps the process.
// by-itself.mjs URL NAME

import { connect } from "libdlock";

const [url, name] = process.argv.slice(2);
const client = await connect(url, { leaseMs: 2_000, onEvent: () => undefined });
globalThis.kept = [client];
for (let number = 0; number < 10; number++) {
  const held = await client.lock(`${name}-${number}`).acquire();
  held.signal.addEventListener("abort", () => process.exit(9));
  const permits = await client.semaphore(`${name}-${number}-permits`, 3).acquire({ permits: 2 });
  permits.signal.addEventListener("abort", () => process.exit(9));
  const rw = client.rwLock(`${name}-${number}-rw`);
  const side = await (number % 2 === 0 ? rw.read : rw.write).acquire();
  side.signal.addEventListener("abort", () => process.exit(9));
  globalThis.kept.push(held, permits, side);
}
console.log("last line");
