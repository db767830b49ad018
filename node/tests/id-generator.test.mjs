// The id generator as a program of Node uses it, on a server and on memory://. What it is is checked by tests/scenarios.

import assert from "node:assert/strict";
import { it } from "node:test";

import { freshName, onBothBackends, rejects, throws } from "./kit/index.mjs";

onBothBackends((context) => {
  it("gives bigints, each once among all clients", async () => {
    const name = freshName();
    const ids = context.client.idGenerator(name, { block: 10 });
    const theirs = (await context.open()).idGenerator(name);
    assert.deepEqual([ids.name, ids.client, ids.blockSize, theirs.blockSize], [name, context.client, 10, 5000]);
    assert.equal(await ids.nextId(), 1n);
    assert.equal(await theirs.nextId(), 11n);
    assert.equal(theirs.blockSize, 10);
    const more = await ids.nextIds(4);
    assert.ok(more instanceof BigInt64Array);
    assert.deepEqual([...more], [2n, 3n, 4n, 5n]);
  });

  it("gives callers that wait together an id each", async () => {
    const ids = context.client.idGenerator(freshName(), { block: 7, start: -100 });
    const made = await Promise.all(Array.from({ length: 500 }, () => ids.nextId()));
    assert.deepEqual(
      made.sort((a, b) => Number(a - b)),
      Array.from({ length: 500 }, (_, at) => BigInt(at - 100)),
    );
  });

  it("refuses what no generator can be, and says what it can", async () => {
    const { client } = context;
    const name = freshName();
    for (const block of [0, -1]) {
      const { allowed } = throws(() => client.idGenerator(name, { block }), "INVALID_ARGUMENT");
      assert.equal(allowed, "1 to 9007199254740991");
    }
    assert.throws(() => client.idGenerator(name, { block: 5n }), { name: "TypeError" });
    assert.throws(() => client.idGenerator(name, { size: 5 }), { name: "TypeError" });
    assert.throws(() => client.idGenerator(name, 5), { name: "TypeError" });
    const ids = client.idGenerator(name);
    for (const count of [0, -1, 1_000_001]) {
      const { allowed } = await rejects(ids.nextIds(count), "INVALID_ARGUMENT");
      assert.equal(allowed, "1 to 1000000");
    }
    await assert.rejects(ids.nextIds(), { name: "TypeError" });
    assert.throws(() => ids.nextval(), /nextId/);
    assert.equal(await ids.nextId(), 1n);
  });

  it("tells another kind of key, and a client that is closed", async () => {
    const client = await context.open();
    const name = freshName();
    const held = await client.lock(name).acquire();
    await rejects(client.idGenerator(name).nextId(), "WRONG_TYPE");
    await held.release();
    const ids = client.idGenerator(name);
    assert.equal(await ids.nextId(), 1n);
    await client.close();
    await rejects(ids.nextId(), "CLOSED");
  });
});
