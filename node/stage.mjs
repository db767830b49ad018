// Writes the package.json of both packages into a folder: node/stage.mjs FOLDER
// The version is Cargo.toml's, one for the whole of libdlock. The platform packages are named here and not in
// node/package.json, because package-lock.json could not name what is not published yet.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const PLATFORMS = ["linux-x64-gnu", "linux-arm64-gnu"];

const [folder] = process.argv.slice(2);
const main = JSON.parse(readFileSync("package.json", "utf8"));
// For those who work on it, not for those who use it.
delete main["//"];
delete main.devDependencies;
const [, version] = /\[workspace\.package\]\nversion = "(.*)"/.exec(readFileSync("../Cargo.toml", "utf8"));
const optionalDependencies = Object.fromEntries(PLATFORMS.map((name) => [`libdlock-${name}`, version]));
write("libdlock", { ...main, version, optionalDependencies });

const here = `${process.platform}-${process.arch}-gnu`;
if (!PLATFORMS.includes(here)) throw new Error(`libdlock is not built for ${here}`);
write(`libdlock-${here}`, {
  name: `libdlock-${here}`,
  version,
  description: `The native library of libdlock, and the command dlock, for ${here}`,
  license: main.license,
  engines: main.engines,
  os: [process.platform],
  cpu: [process.arch],
  libc: ["glibc"],
  main: "dlock.node",
  files: ["dlock.node", "bin/dlock", "LICENSE-*"],
});

function write(name, content) {
  mkdirSync(join(folder, name), { recursive: true });
  writeFileSync(join(folder, name, "package.json"), `${JSON.stringify(content, undefined, 2)}\n`);
}
