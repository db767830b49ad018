// The verbs of ids in Node.

import { Snowflake } from "libdlock";

export const verbs = (things) => ({
  generator([generator], { datacenter, worker, layout = "default", begins_in_ms }) {
    const bits = { timeBits: 41, datacenterBits: 5, workerBits: 5, sequenceBits: 12 };
    const later = begins_in_ms !== undefined && { epochMs: Date.now() + Number(begins_in_ms), ...bits };
    const wanted = { datacenter: Number(datacenter), worker: Number(worker), layout: later || layout };
    things.set(generator, new Snowflake(wanted));
  },
  ids([generator], { count }) {
    const ids = things.get(generator).nextIds(Number(count));
    return {
      first: ids[0],
      last: ids[ids.length - 1],
      increasing: ids.every((id, at) => at === 0 || ids[at - 1] < id),
    };
  },
  decode([generator], { id }) {
    const { datacenter, worker, sequence } = things.get(generator).decode(BigInt(id));
    return { datacenter, worker, sequence };
  },
  encode(_, { id, base }) {
    return { text: Snowflake.encode(BigInt(id), Number(base)) };
  },
  parse(_, { text, base }) {
    return { id: Snowflake.parse(text, Number(base)) };
  },
});
