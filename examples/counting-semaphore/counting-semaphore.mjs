// Two clients, of which one takes permits and the other brings them back.
import { connect } from "libdlock";

const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const first = await connect(url);
const second = await connect(url);

const slots = first.countingSemaphore("example-counting-semaphore");
await slots.drain();
await slots.addPermits(2);
await slots.acquire({ permits: 2 });
console.log("the first client has taken both permits");

const same = second.countingSemaphore("example-counting-semaphore");
if (!(await same.tryAcquire())) console.log("the second client finds none available");

// By whomever: a permit has no owner.
await same.release(2);
console.log(`the second client has brought ${await slots.available()} back`);

await first.close();
await second.close();
