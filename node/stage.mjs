// Writes the package.json of libdlock and of the package of a platform into a folder: node/stage.mjs FOLDER [PLATFORM]
// Without a name the platform is this machine's.
// The version is Cargo.toml's, one for the whole of libdlock. The platform packages are named here and not in
// node/package.json, because package-lock.json could not name what is not published yet.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const { platforms } = JSON.parse(readFileSync("../api/platforms.json", "utf8"));

const [folder, named] = process.argv.slice(2);
const main = JSON.parse(readFileSync("package.json", "utf8"));
// For those who work on it, not for those who use it.
delete main["//"];
delete main.devDependencies;
const [, version] = /\[workspace\.package\]\nversion = "(.*)"/.exec(readFileSync("../Cargo.toml", "utf8"));
const optionalDependencies = Object.fromEntries(platforms.map(({ name }) => [`libdlock-${name}`, version]));
write("libdlock", { ...main, version, optionalDependencies });

const here = named ?? hostName();
const platform = platforms.find(({ name }) => name === here);
if (!platform) throw new Error(`libdlock is not built for ${here}`);
write(`libdlock-${here}`, {
  name: `libdlock-${here}`,
  version,
  description: `The native library of libdlock, and the command dlock, for ${here}`,
  license: main.license,
  engines: main.engines,
  repository: main.repository,
  os: [platform.os],
  cpu: [platform.cpu],
  ...(platform.libc && { libc: [platform.libc] }),
  main: "dlock.node",
  files: ["dlock.node", "bin/dlock", "LICENSE-*"],
});

function hostName() {
  const isGnu = process.report.getReport().header.glibcVersionRuntime !== undefined;
  const libc = process.platform !== "linux" ? "" : isGnu ? "-gnu" : "-musl";
  return `${process.platform}-${process.arch}${libc}`;
}

function write(name, content) {
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, "package.json"), `${JSON.stringify(content, undefined, 2)}\n`);
}
