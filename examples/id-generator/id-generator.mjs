// Ids of orders and their lines, from two clients that take a block each.
import { connect } from "libdlock";

const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const shop = await connect(url);
const other = await connect(url);

const ids = shop.idGenerator("example-orders", { block: 100 });
console.log(`order ${await ids.nextId()}`);
const [first, second, third] = await ids.nextIds(3);
console.log(`lines ${first}, ${second} and ${third}`);

const others = other.idGenerator("example-orders");
console.log(`another process has ${await others.nextId()}`);
console.log(`blocks of ${others.blockSize}`);

await shop.close();
await other.close();
