// Written by `python3 api/write.py` from api/platforms.json.

/** What a native library is built for: each has a package of its own, `libdlock-` and this. */
export const PLATFORMS: readonly string[] = [
  "linux-x64-gnu",
  "linux-arm64-gnu",
  "linux-x64-musl",
  "linux-arm64-musl",
  "darwin-arm64",
  "darwin-x64",
];
