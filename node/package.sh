#!/usr/bin/env bash
# Builds what would be published and packs it: libdlock and the native library's package for this machine.
#   node/package.sh OUT        OUT is an absolute folder that exists
# DLOCK_PROFILE and DLOCK_FAULT_INJECTION as for scripts/build.sh. WITHOUT_COMMAND=1 leaves the command `dlock` out.
set -euo pipefail
cd "$(dirname "$0")"
out=${1:?a folder for the tarballs}
# A folder of its own: the demo may be packing at the same time.
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
stage=$build/stage

./install-tools.sh
node node_modules/typescript/bin/tsc -p tsconfig.json --outDir "$build/dist/esm"
node node_modules/typescript/bin/tsc -p tsconfig.cjs.json --outDir "$build/dist/cjs"
# Each build has one of the two files that say where it is.
rm "$build"/dist/esm/here.require.*
for kind in js d.ts; do mv "$build/dist/cjs/here.require.$kind" "$build/dist/cjs/here.$kind"; done
echo '{ "type": "commonjs" }' >"$build/dist/cjs/package.json"

built=$(../scripts/build.sh libdlock-node)

node stage.mjs "$stage"
platform=$(echo "$stage"/libdlock-*)
cp -r "$build/dist" "$stage/libdlock/"
cp -r README.md bin ../CHANGELOG.md "$stage/libdlock/"
cp "$built/libdlock_node.so" "$platform/dlock.node"
[ -n "${WITHOUT_COMMAND:-}" ] || ../scripts/command.sh "$platform/bin/dlock"
# A sixth of the size without line tables.
[ -n "${KEEP_DEBUG:-}" ] || strip --strip-debug "$platform/dlock.node"
for package in "$stage/libdlock" "$platform"; do
    cp ../LICENSE-MIT ../LICENSE-APACHE "$package/"
    (cd "$package" && npm pack --silent --pack-destination "$out" >/dev/null)
done
