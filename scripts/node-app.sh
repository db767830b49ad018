#!/usr/bin/env bash
# Builds the Node packages and installs them into build/node-app: what the demo, the benchmarks, the tests between languages and the
# README's programs use. A program finds them when its file lies in that folder.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=$PWD/build/node-packages
rm -rf "$packages"
mkdir -p "$packages" build/node-app
node/package.sh "$packages"
cd build/node-app
echo '{ "private": true, "type": "module" }' >package.json
# npm takes a tarball of the same version for the same: what was installed goes first.
rm -rf node_modules
npm install --no-save --no-package-lock --no-audit --no-fund --loglevel=error "$packages"/*.tgz >/dev/null
