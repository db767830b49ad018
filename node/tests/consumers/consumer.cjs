const { DlockError, connect } = require("libdlock");

connect("memory://")
  .then((client) => client.withLock("k", (held) => typeof held.token))
  .then((type) => console.log(type, typeof DlockError));
