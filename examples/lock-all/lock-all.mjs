// Two clients transfer between the same accounts.
import { connect } from "libdlock";

const url = process.env.REDIS_URL ?? "redis://127.0.0.1:6379";
const [seven, fortyTwo] = ["example-account/7", "example-account/42"];
const first = await connect(url);
const second = await connect(url);
const others = second.lockAll([fortyTwo, seven, seven]);

await first.lockAll([seven, fortyTwo]).withLock(async (held) => {
  if (held.tokenOf(seven) > 0n && held.tokenOf(fortyTwo) > 0n) {
    console.log("both accounts are held, each with a token of its own");
  }
  const none = (await others.tryAcquire()) === null;
  if (none) console.log("a second client finds them busy, and takes neither");
});

await others.withLock({ waitMs: 5_000 }, (held) => {
  console.log("it has both as soon as they are released");
  if (held.tokens.size === 2) console.log("a name that is given twice counts once");
});

await first.close();
await second.close();
