// Has a client open, locks held and renewed, and a signal listened to: none of it keeps the process. by-itself.mjs URL NAME

import { connect } from "libdlock";

const [url, name] = process.argv.slice(2);
const client = await connect(url, { leaseMs: 300, onEvent: () => undefined });
globalThis.kept = [client];
for (let number = 0; number < 10; number++) {
  const held = await client.lock(`${name}-${number}`).acquire();
  held.signal.addEventListener("abort", () => process.exit(9));
  globalThis.kept.push(held);
}
console.log("last line");
