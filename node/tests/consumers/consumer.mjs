import { DlockError, connect } from "libdlock";

// Without `await` at the top, which no bundle of CommonJS may have.
connect("memory://")
  .then((client) => client.withLock("k", (held) => typeof held.token))
  .then((type) => console.log(type, typeof DlockError));
