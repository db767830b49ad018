import { DlockError, connect } from "libdlock";

const client = await connect("memory://");
console.log(await client.withLock("k", (held) => typeof held.token), typeof DlockError);
