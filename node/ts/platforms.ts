// Written by `python3 api/write.py` from api/platforms.json.

import { createRequire } from "node:module";

/** The platforms with a native library: the package of each is `libdlock-` and this. */
export const PLATFORMS: readonly string[] = [
  "linux-x64-gnu",
  "linux-arm64-gnu",
  "linux-x64-musl",
  "linux-arm64-musl",
  "darwin-arm64",
  "darwin-x64",
];

/**
 * Loads the package for `target` as the file `from` would; undefined for what there is none for. Each name stands in a separate
 * call of what `module.createRequire` has made: so tools that trace files find the packages, and bundlers do not look into them.
 */
export function requireNative(from: string, target: string): unknown {
  const module = { createRequire };
  const find = module.createRequire(from);
  switch (target) {
    case "linux-x64-gnu":
      return find("libdlock-linux-x64-gnu");
    case "linux-arm64-gnu":
      return find("libdlock-linux-arm64-gnu");
    case "linux-x64-musl":
      return find("libdlock-linux-x64-musl");
    case "linux-arm64-musl":
      return find("libdlock-linux-arm64-musl");
    case "darwin-arm64":
      return find("libdlock-darwin-arm64");
    case "darwin-x64":
      return find("libdlock-darwin-x64");
    default:
      return undefined;
  }
}
