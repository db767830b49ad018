// A start that waits until two workers are ready.
import { connect } from "libdlock";

const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const starter = await connect(url);
const worker = await connect(url);

const ready = starter.latch("example-latch");
await ready.trySetCount(2);

const left = await worker.latch("example-latch").countDown();
console.log(`the first worker is ready, ${left} is left`);
if (!(await ready.wait({ waitMs: 100 }))) console.log("not everybody is ready");

const second = worker.latch("example-latch").countDown();
await ready.wait();
console.log("everybody is ready");

await second;
await starter.close();
await worker.close();
