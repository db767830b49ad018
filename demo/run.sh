#!/usr/bin/env bash
# Builds what the demo needs and runs it. From the environment: N (turns of each worker), REDIS_URL (a server that is there),
# WITHOUT_LOCK=1 (take no lock, to see the verdict fail), DLOCK_BUILT=1 (build nothing: it was just done).
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/build/demo
python=$PWD/build/venv/bin/python
jar=$PWD/build/java/libdlock.jar
jdk=${JAVA_HOME:+$JAVA_HOME/bin/}

compile() { # PROGRAM SOURCE
    [ "$1" -nt "$2" ] && [ -z "$(find include -newer "$1" -name '*.h*' -print -quit)" ] ||
        "${CXX:-c++}" -std=c++17 -O2 -Wall -Wextra -Werror -o "$1" "$2" \
            -Ibuild/c/include -Lbuild/c/lib -ldlock -Wl,-rpath,"$PWD/build/c/lib" -pthread
}

build() {
    local begun=$SECONDS
    echo "building: about five minutes the first time on two cores, half a minute afterwards"
    mkdir -p "$out"
    DLOCK_PROFILE=${DLOCK_PROFILE:-quick} WITHOUT_COMMAND=1 scripts/packages.sh
    compile "$out/worker" demo/worker.cpp
    compile "$out/jobs-worker" demo/jobs/worker.cpp
    cp demo/worker.mjs build/node-app/demo-worker.mjs
    cp demo/jobs/worker.mjs build/node-app/demo-jobs-worker.mjs
    "${jdk}javac" --release 17 -Xlint:all -Werror -cp "$jar" -d "$out" demo/Worker.java demo/jobs/JobsWorker.java
    echo "built in $((SECONDS - begun)) s"
}

[ -n "${DLOCK_BUILT:-}" ] || build
exec "$python" demo/run.py --times "${N:-2000}" --url "${REDIS_URL:-}" ${WITHOUT_LOCK:+--without-lock} \
    --worker "C++='$out/worker'" \
    --worker "Python='$python' demo/worker.py" \
    --worker "asyncio='$python' demo/worker_aio.py" \
    --worker "Node=node build/node-app/demo-worker.mjs" \
    --worker "Java='${jdk}java' -cp '$out:$jar' Worker" \
    --jobs-worker "C++='$out/jobs-worker'" \
    --jobs-worker "Python=env PYTHONPATH=demo '$python' -m jobs.worker" \
    --jobs-worker "asyncio=env PYTHONPATH=demo '$python' -m jobs.worker_aio" \
    --jobs-worker "Node=node build/node-app/demo-jobs-worker.mjs" \
    --jobs-worker "Java='${jdk}java' -cp '$out:$jar' JobsWorker"
