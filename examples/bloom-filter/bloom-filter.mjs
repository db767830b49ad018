// Names that are taken: only for those that the filter may contain, a data base would be asked.
import { connect } from "libdlock";

const client = await connect(process.env.REDIS_URL ?? "redis://127.0.0.1:6379");

const taken = client.bloomFilter("example-names", { expected: 1_000, falsePositiveRate: 0.01 });
await taken.clear();
console.log(`${taken.size} bits, ${taken.hashes} of them for each name`);
console.log("new:", ...(await taken.add(["ada", "grace", "ada"])).map(String));
console.log("taken:", ...(await taken.contains(["grace", "linus"])).map(String));
console.log(`about ${await taken.count()} names`);

const other = client.bloomFilter("example-names", { expected: 2_000, falsePositiveRate: 0.01 });
try {
  await other.contains(["ada"]);
} catch (error) {
  if (error.code !== "DLOCK_WRONG_TYPE") throw error;
  console.log("another size is refused");
}

await client.close();
