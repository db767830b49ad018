// Ids that grow with time, without a server. The pair of numbers has to belong to this process alone.
import { Snowflake } from "libdlock";

const ids = new Snowflake({ datacenter: 1, worker: 7 });
const many = ids.nextIds(1000);
if (many.every((id, at) => at === 0 || many[at - 1] < id))
  console.log(`${many.length} ids, each larger than the one before`);

const { worker, datacenter } = ids.decode(many[0]);
console.log(`made by worker ${worker} of datacenter ${datacenter}`);

if (Snowflake.parse(Snowflake.encode(many[0], 62), 62) === many[0])
  console.log("the text in base 62 stands for the same id");
