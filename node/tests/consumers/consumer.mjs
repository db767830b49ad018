import { DlockError, connect } from "libdlock";

// Without `await` at the top, which no bundle of CommonJS may have.
connect("memory://")
  .then((client) =>
    Promise.all([
      client.withLock("k", (held) => typeof held.token),
      client.semaphore("permits", 5).withPermits({ permits: 2 }, (held) => held.permits.length),
      client.lockAll(["a", "b"]).withLock((held) => held.tokens.size),
      client.countingSemaphore("slots").available(),
      client.latch("latch").wait(),
      client.rwLock("rw").withWrite(async (held) => (await held.downgrade()).side),
    ]),
  )
  .then(([type, permits, locks, slots, open, side]) =>
    console.log(type, permits, locks, slots, open, side, typeof DlockError),
  );
