#!/usr/bin/env bash
# Packs both packages, installs them into a fresh folder, copies the tests there and runs them on what was installed.
#   node/run-tests.sh            the normal run
#   node/run-tests.sh long       what that leaves out: 200 exits, repeats, other versions of Node, a panic in every export
# DLOCK_PROFILE is the cargo profile of the library (quick). Further arguments go to node's test runner, files of tests/ first:
# node/run-tests.sh '' lock.test.mjs
set -euo pipefail
cd "$(dirname "$0")"
root=$(dirname "$PWD")
long=${1:-}
[ $# -eq 0 ] || shift
app=$root/build/node/app
export DLOCK_PROFILE=${DLOCK_PROFILE:-quick}

# Its arguments go to node's test runner.
run_tests() {
    rm -rf "$app"
    mkdir -p "$app/packages"
    if [ -n "${DLOCK_PACKAGED:-}" ] && [ -z "${DLOCK_FAULT_INJECTION:-}" ]; then
        cp ../build/node-packages/*.tgz "$app/packages"
    else
        ./package.sh "$app/packages"
    fi
    cp -r tests "$app/"
    echo '{ "private": true, "type": "module" }' >"$app/package.json"
    (cd "$app" && npm install --no-save --no-package-lock --no-audit --no-fund --loglevel=error ./packages/*.tgz >/dev/null)
    # The frameworks, as users would have installed them: one copy for the tests and for the package that integrates with it.
    for name in express express4 fastify koa prom-client reflect-metadata rxjs @koa @nestjs; do
        ln -s "$PWD/node_modules/$name" "$app/node_modules/$name"
    done
    mkdir "$app/node_modules/@types"
    ln -s "$PWD/node_modules/@types/"{express,koa} "$app/node_modules/@types/"
    echo "--- built"
    (cd "$app/tests" && DLOCK_ROOT=$root "$root/node/test.sh" "$@")
}

if [ $# -gt 0 ]; then
    run_tests "$@"
elif [ "$long" = long ]; then
    mapfile -t long_tests < <(cd tests && grep -l 'LONG' ./*.test.mjs)
    DLOCK_LONG=1 run_tests "${long_tests[@]}"
    DLOCK_ROOT=$root ./other-nodes.sh "$app"
    RUST_BACKTRACE=0 DLOCK_FAULT_INJECTION=1 run_tests native.test.mjs
else
    run_tests
fi
