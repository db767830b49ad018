// A redis-server of one's own: on a free loopback port, keeping nothing, gone with the test.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";

import { vectorFile } from "./vectors.mjs";

/** The server that is started: scripts/servers.sh names another. */
const PROGRAM = process.env.DLOCK_TEST_SERVER ?? "redis-server";

/** The user of the tests' own commands, who may do everything. */
const ADMIN = "test-admin";

/** The default user, which libdlock's connections are, gets the documented minimal rights. */
function users() {
  const table = vectorFile("access");
  const commands = [...table.connection, ...table.scripts].map((command) => `+${command}`);
  const standard = ["--user", "default", "reset", "on", "nopass", "~*", "&*", "-@all", ...commands];
  return [...standard, "--user", ADMIN, "on", "nopass", "~*", "&*", "+@all"];
}

export class RedisServer {
  #folder = mkdtempSync(join(tmpdir(), "libdlock-node-redis-"));
  #process;
  port = 0;

  static async start() {
    const server = new RedisServer();
    process.once("exit", () => server.#process?.kill("SIGKILL"));
    // Between finding a port free and taking it somebody else may: hence several tries.
    for (let attempt = 0; attempt < 10; attempt++) {
      server.port = await freePort();
      if (await server.run()) return server;
    }
    throw new Error(`${PROGRAM} does not start: ${readFileSync(join(server.#folder, "log"), "utf8").slice(-500)}`);
  }

  get url() {
    return `redis://127.0.0.1:${this.port}/0`;
  }

  /** Starts it, also again after `kill`, on the same port and empty; says whether it runs. */
  async run() {
    const options = ["--port", this.port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"];
    const files = ["--dir", this.#folder, "--logfile", join(this.#folder, "log")];
    // Neither its output nor itself shall keep the test's process alive.
    this.#process = spawn(PROGRAM, [...options, ...files, ...users()].map(String), { stdio: "ignore" });
    this.#process.unref();
    const deadline = Date.now() + 10_000;
    while (Date.now() < deadline && this.#process.exitCode === null) {
      try {
        if ((await this.command("PING")) === "PONG") return true;
      } catch {
        await pause(10); // the only way to learn that a server listens is to try
      }
    }
    return false;
  }

  async kill() {
    this.#process.ref();
    this.#process.kill("SIGKILL");
    await once(this.#process, "exit");
  }

  async stop() {
    await this.kill();
    rmSync(this.#folder, { recursive: true });
  }

  /** Sends one command on a connection of its own. Simple and bulk replies are strings, nil is null. */
  async command(...words) {
    const socket = connect(this.port, "127.0.0.1");
    let received = "";
    socket.setEncoding("utf8").on("data", (data) => (received += data));
    socket.end(encode(["AUTH", ADMIN, "any password"]) + encode(words));
    await once(socket, "close");
    const [, rest] = parse(received);
    const [reply] = parse(rest);
    if (reply instanceof Error) throw reply;
    return reply;
  }
}

/** A command as it is sent. */
function encode(words) {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(`${word}`)}\r\n${word}\r\n`).join("")}`;
}

/** The first reply in `text`, and what follows it. */
function parse(text) {
  const end = text.indexOf("\r\n");
  const [kind, head, rest] = [text[0], text.slice(1, end), text.slice(end + 2)];
  if (kind === "+") return [head, rest];
  if (kind === "-") return [new Error(head), rest];
  if (kind === ":") return [Number(head), rest];
  if (kind === "$") return head === "-1" ? [null, rest] : bulk(rest, Number(head));
  if (kind !== "*") throw new Error(`no reply: ${JSON.stringify(text.slice(0, 100))}`);
  const items = [];
  let left = rest;
  for (let n = Number(head); n > 0; n--) {
    const [item, after] = parse(left);
    items.push(item);
    left = after;
  }
  return [items, left];
}

function bulk(text, bytes) {
  const buffer = Buffer.from(text);
  return [buffer.subarray(0, bytes).toString(), buffer.subarray(bytes + 2).toString()];
}

/** Below the ports that systems give to connections: one of these could take it between `kill` and `run`. */
async function freePort() {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 10_000);
    const probe = createServer().listen(port, "127.0.0.1");
    try {
      await once(probe, "listening");
    } catch {
      continue; // somebody listens there
    }
    probe.close();
    await once(probe, "close");
    return port;
  }
}
