// Two clients share a read-write lock.
import { connect } from "libdlock";

const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const [one, two] = [await connect(url), await connect(url)];
const first = one.rwLock("example-rw-lock");
const second = two.rwLock("example-rw-lock");

await first.withRead(async () => {
  await second.withRead({ waitMs: 5_000 }, () => console.log("both clients read at the same time"));
  const none = (await second.write.tryAcquire()) === null;
  if (none) console.log("the second client cannot write while the first reads");
});

await second.withWrite(async (held) => {
  console.log("the second client writes alone");
  // From now on others may read too, and nobody has written in between.
  await held.downgrade();
  await first.withRead({ waitMs: 5_000 }, () => {
    console.log("it goes on as a reader, and the first client reads again");
  });
});

await one.close();
await two.close();
