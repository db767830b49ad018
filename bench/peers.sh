#!/usr/bin/env bash
# Installs the peers below build/bench, in the versions that bench/peers and bench/rslock pin, and builds their workers.
# Quick when everything is there; what it lacks is fetched by each language's own package manager.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$PWD/build/bench
mkdir -p "$build"

# Whether `made` is as new as what it was made of.
current() {
    local made=$1
    shift
    [ -e "$made" ] && [ -z "$(find "$@" -newer "$made")" ]
}

cargo build --release --quiet --locked --manifest-path bench/rslock/Cargo.toml --target-dir "$build/rslock"

# A folder of bench/peers with requirements.txt, as a virtual environment.
python_peer() {
    local from=bench/peers/$1/requirements.txt made=$build/$2
    current "$made/made" "$from" && return
    rm -rf "$made"
    "${PYTHON:-python3}" -m venv "$made"
    "$made/bin/pip" install --quiet --disable-pip-version-check -r "$from"
    touch "$made/made"
}
python_peer redis_py redis-py
python_peer pottery pottery
python_peer limits limits
python_peer throttled_py throttled-py
python_peer rq rq

# A folder of bench/peers with package.json and its lock, and the worker.
node_peer() {
    local from=bench/peers/$1 made=$build/$2
    if ! current "$made/made" "$from"; then
        rm -rf "$made"
        mkdir -p "$made"
        cp "$from"/package*.json "$made"
        (cd "$made" && npm ci --no-audit --no-fund --loglevel=error >/dev/null)
        touch "$made/made"
    fi
    cp bench/node/callers.mjs "bench/node/$2-worker.mjs" "$made"
}
node_peer redis_semaphore redis-semaphore
node_peer redlock redlock
node_peer rate_limiter_flexible rate-limiter-flexible
node_peer bullmq bullmq

redisson=$build/redisson
if ! current "$redisson/made" bench/peers/redisson/pom.xml; then
    rm -rf "$redisson"
    fetch() { mvn --quiet --batch-mode --file bench/peers/redisson/pom.xml "$@" process-resources; }
    # Offline it is quicker, and does not depend on anybody; what it lacks it says in the run that fetches it.
    fetch --offline >/dev/null 2>&1 || fetch
    touch "$redisson/made"
fi
mkdir -p "$redisson/classes"
"${JAVA_HOME:+$JAVA_HOME/bin/}javac" --release 17 -Xlint:all,-classfile -Werror -cp "$redisson/lib/*" -d "$redisson/classes" \
    bench/java/Callers.java bench/java/Window.java bench/java/RedissonWorker.java
