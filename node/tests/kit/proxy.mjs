// A TCP proxy with the few faults that these tests need: silence, and replies that arrive late or never.

import { once } from "node:events";
import { connect, createServer } from "node:net";

export class Proxy {
  #listener;
  #sockets = new Set();
  #silent = false;
  #held;
  #resetAt;
  resets = 0;

  /** Forwards a loopback port to `target`. */
  static async start(target) {
    const proxy = new Proxy();
    proxy.#listener = createServer((client) => proxy.#accept(client, target)).listen(0, "127.0.0.1");
    await once(proxy.#listener, "listening");
    // A test that fails leaves it open: that shall not keep the test's process alive.
    proxy.#listener.unref();
    return proxy;
  }

  get url() {
    return `redis://127.0.0.1:${this.#listener.address().port}/0`;
  }

  /** From now on nothing passes, and nothing says so. */
  blackHole() {
    this.#silent = true;
  }

  /** Replies are kept back from now on. */
  holdReplies() {
    this.#held = [];
  }

  /** What was kept back goes on its way, and so does all that follows. */
  passReplies() {
    const held = this.#held;
    this.#held = undefined;
    for (const [client, data] of held) {
      if (!client.destroyed) client.write(data);
    }
  }

  /** Drops the next reply to a request that names `name`, which was carried out, and resets its connection. */
  resetAtReplyTo(name) {
    this.#resetAt = name;
  }

  async close() {
    this.#listener.close();
    for (const socket of this.#sockets) socket.destroy();
    await once(this.#listener, "close");
  }

  #accept(client, target) {
    const server = connect(target, "127.0.0.1");
    for (const [from, to] of [
      [client, server],
      [server, client],
    ]) {
      this.#sockets.add(from.unref());
      from.on("error", () => undefined); // what follows is "close"
      from.on("close", () => {
        this.#sockets.delete(from);
        to.destroy();
      });
    }
    let asked = false;
    client.on("data", (data) => {
      if (this.#silent) return;
      asked ||= this.#resetAt !== undefined && data.includes(this.#resetAt);
      server.write(data);
    });
    server.on("data", (data) => {
      if (this.#silent) return;
      if (asked) {
        this.#resetAt = undefined;
        this.resets += 1;
        client.resetAndDestroy();
      } else if (this.#held) this.#held.push([client, data]);
      else client.write(data);
    });
  }
}
