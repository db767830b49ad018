#!/usr/bin/env bash
# Builds what the demo needs and runs it. From the environment: N (turns of each worker), REDIS_URL (a server that is there),
# WITHOUT_LOCK=1 (take no lock, to see the verdict fail), BUILT=1 (build nothing: it was just done).
set -euo pipefail
cd "$(dirname "$0")/.."
worker=build/demo/worker

build() {
    echo "building (the first time takes some minutes)"
    scripts/c-library.sh
    scripts/python-venv.sh
    mkdir -p build/demo
    if [ ! "$worker" -nt demo/worker.cpp ] || [ -n "$(find include -newer "$worker" -name '*.h*' -print -quit)" ]; then
        "${CXX:-c++}" -std=c++17 -O2 -Wall -Wextra -Werror -o "$worker" demo/worker.cpp \
            -Ibuild/c/include -Lbuild/c/lib -ldlock -Wl,-rpath,"$PWD/build/c/lib"
    fi
}

[ -n "${BUILT:-}" ] || build
exec build/venv/bin/python demo/run.py --times "${N:-2000}" --url "${REDIS_URL:-}" ${WITHOUT_LOCK:+--without-lock} \
    --cpp-worker "$worker" --python build/venv/bin/python
