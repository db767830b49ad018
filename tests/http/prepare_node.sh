#!/usr/bin/env bash
# Puts an application of examples/frameworks where the packages that it needs are installed: tests/http/prepare_node.sh NAME
# libdlock is packed and installed as a user would; the frameworks are those of node/package-lock.json.
set -euo pipefail
cd "$(dirname "$0")/../.."
name=$1
app=$PWD/build/http-node
mkdir -p "$app"
exec 9>"$app/lock"
flock 9
sources=(node/ts node/src node/package.json node/package-lock.json bridge core Cargo.lock)
if [ ! -e "$app/made" ] || [ -n "$(find "${sources[@]}" -type f -newer "$app/made" -print -quit)" ]; then
    rm -rf "$app/made" "$app/packages" "$app/node_modules"
    mkdir -p "$app/packages"
    touch "$app/begun"
    if [ -n "${DLOCK_PACKAGED:-}" ]; then cp build/node-packages/*.tgz "$app/packages"; else node/package.sh "$app/packages"; fi
    echo '{ "private": true, "type": "module" }' >"$app/package.json"
    (cd "$app" && npm install --no-save --no-package-lock --no-audit --no-fund --loglevel=error ./packages/*.tgz >/dev/null)
    for package in express fastify koa reflect-metadata rxjs @koa @nestjs @types; do
        ln -s "$PWD/node/node_modules/$package" "$app/node_modules/$package"
    done
    mv "$app/begun" "$app/made"
fi
rm -rf "${app:?}/$name"
cp -r "examples/frameworks/$name" "$app/"
[ ! -e "$app/$name/tsconfig.json" ] || node node/node_modules/typescript/bin/tsc -p "$app/$name"
