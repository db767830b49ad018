#!/usr/bin/env bash
# Packs both packages, installs them into a fresh folder, copies the tests there and runs them on what was installed.
#   node/run-tests.sh            the normal run
#   node/run-tests.sh long       what that leaves out: 200 exits, repeats, other versions of Node, a panic in every export
# DLOCK_NODE_PROFILE is the cargo profile of the library (release). Further arguments go to node's test runner, files of
# tests/ first: node/run-tests.sh '' lock.test.mjs
set -euo pipefail
cd "$(dirname "$0")"
root=$(dirname "$PWD")
long=${1:-}
[ $# -eq 0 ] || shift
app=$root/build/node/app

# Profile and features of the library; the rest goes to node's test runner.
run_tests() {
    local profile=$1 features=$2
    shift 2
    rm -rf "$app"
    mkdir -p "$app/packages"
    DLOCK_NODE_PROFILE=$profile DLOCK_NODE_FEATURES=$features ./package.sh "$app/packages"
    cp -r tests "$app/"
    echo '{ "private": true, "type": "module" }' >"$app/package.json"
    (cd "$app" && npm install --no-save --no-package-lock --no-audit --no-fund --loglevel=error ./packages/*.tgz >/dev/null)
    # The frameworks, as users would have installed them: one copy for the tests and for the package that integrates with it.
    for name in express express4 fastify koa prom-client reflect-metadata rxjs @koa @nestjs; do
        ln -s "$PWD/node_modules/$name" "$app/node_modules/$name"
    done
    mkdir "$app/node_modules/@types"
    ln -s "$PWD/node_modules/@types/"{express,koa} "$app/node_modules/@types/"
    # The reporter for people; scripts/totals.py reads its closing lines too.
    (cd "$app/tests" && DLOCK_ROOT=$root node --test --test-timeout=300000 --test-reporter=spec "$@")
}

profile=${DLOCK_NODE_PROFILE:-release}
if [ $# -gt 0 ]; then
    run_tests "$profile" "" "$@"
elif [ "$long" = long ]; then
    mapfile -t long_tests < <(cd tests && grep -l 'LONG' ./*.test.mjs)
    DLOCK_LONG=1 run_tests "$profile" "" "${long_tests[@]}"
    DLOCK_ROOT=$root ./other-nodes.sh "$app"
    RUST_BACKTRACE=0 DLOCK_FAULT_INJECTION=1 run_tests dev fault-injection native.test.mjs
else
    run_tests "$profile" ""
fi
