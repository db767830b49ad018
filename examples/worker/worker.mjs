// Two processes lease worker numbers of one pool and make ids under them. Nobody has to hand the numbers out.
import { connect } from "libdlock";

const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const one = await connect(url);
const two = await connect(url);

const first = await one.worker("example-worker");
const second = await two.worker("example-worker");
console.log(`leased ${first.number} and ${second.number}`);

const ids = first.snowflake();
const last = ids.nextIds(1000).at(-1);
await first.release();
try {
  ids.nextId();
} catch (error) {
  if (error.code === "DLOCK_NOT_HELD") console.log("no ids without a number");
}

const again = await one.worker("example-worker");
console.log(`leased ${again.number} again`);
if (again.snowflake().nextId() > last) console.log("its ids go on behind the last");
await again.release();
await second.release();

await one.close();
await two.close();
