#!/usr/bin/env bash
# Builds what the demo needs and runs it. From the environment: N (turns of each worker), REDIS_URL (a server that is there),
# WITHOUT_LOCK=1 (take no lock, to see the verdict fail), DLOCK_BUILT=1 (build nothing: it was just done).
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/build/demo
python=$PWD/build/venv/bin/python
jar=$PWD/build/java/libdlock.jar
jdk=${JAVA_HOME:+$JAVA_HOME/bin/}

build() {
    echo "building (the first time takes some minutes)"
    mkdir -p "$out"
    scripts/c-library.sh
    if [ ! "$out/worker" -nt demo/worker.cpp ] || [ -n "$(find include -newer "$out/worker" -name '*.h*' -print -quit)" ]; then
        "${CXX:-c++}" -std=c++17 -O2 -Wall -Wextra -Werror -o "$out/worker" demo/worker.cpp \
            -Ibuild/c/include -Lbuild/c/lib -ldlock -Wl,-rpath,"$PWD/build/c/lib" -pthread
    fi
    scripts/python-venv.sh
    scripts/node-app.sh
    cp demo/worker.mjs build/node-app/demo-worker.mjs
    scripts/java-jar.sh
    "${jdk}javac" --release 17 -Xlint:all -Werror -cp "$jar" -d "$out" demo/Worker.java
}

[ -n "${DLOCK_BUILT:-}" ] || build
exec "$python" demo/run.py --times "${N:-2000}" --url "${REDIS_URL:-}" ${WITHOUT_LOCK:+--without-lock} \
    --worker "C++='$out/worker'" \
    --worker "Python='$python' demo/worker.py" \
    --worker "asyncio='$python' demo/worker_aio.py" \
    --worker "Node=node build/node-app/demo-worker.mjs" \
    --worker "Java='${jdk}java' -cp '$out:$jar' Worker"
