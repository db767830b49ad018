// A job for later, one that fails and comes again, and a dead one.
import { connect } from "libdlock";

const client = await connect(process.env.REDIS_URL ?? "redis://127.0.0.1:6379");

const mails = client.queue("example-queue", { maxAttempts: 2 });

await mails.put("to: ada", { id: "ada-1", delayMs: 100 });
const again = await mails.put("to: ada", { id: "ada-1" });
console.log(`put a second time: ${again.isNew}`);
console.log(`due at once: ${(await mails.tryTake()) !== null}`);

const first = await mails.take();
console.log(`${first.payload}, attempt ${first.attempt}`);
await first.nack({ delayMs: 50, reason: "no route" });

const second = await mails.take();
console.log(`${second.payload}, attempt ${second.attempt}`);
await second.nack({ reason: "still no route" });

const [dead] = await mails.dead.list();
console.log(`dead after ${dead.attempts} attempts: ${dead.reason}`);

await mails.dead.requeue("ada-1");
await (await mails.take()).ack();
console.log(`left: ${(await mails.counts()).ready}`);

await client.close();
