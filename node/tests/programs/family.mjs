// Holds a lock and starts a child in one of Node's ways; the child looks at the lock and ends: family.mjs URL NAME WAY

import { fork, spawn } from "node:child_process";
import cluster from "node:cluster";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

import { connect } from "libdlock";

const [url, name, way] = process.argv.slice(2);
const client = await connect(url, { leaseMs: 1_000 });
const lock = client.lock(name);

if (cluster.isWorker || way === "child") {
  const { ours, holder } = await lock.inspect();
  const held = await lock.tryAcquire();
  console.log(`child ${holder !== undefined} ${ours} ${held}`);
  process.exit(0);
}

const held = await lock.acquire();
held.signal.addEventListener("abort", () => console.log("lost"));
const child = start();
const [code] = await once(child, "exit");
// Longer than the lease: whatever the child did, renewals go on here.
await new Promise((resolve) => setTimeout(resolve, 1_200));
console.log(`parent ${code} ${held.valid} ${(await lock.inspect()).holder === held.owner}`);
await held.release();
await client.close();

function start() {
  const self = fileURLToPath(import.meta.url);
  if (way === "fork") return fork(self, [url, name, "child"]);
  if (way === "spawn") return spawn(process.execPath, [self, url, name, "child"], { stdio: "inherit" });
  cluster.setupPrimary({ exec: self, args: [url, name, "cluster"] });
  return cluster.fork().process;
}
