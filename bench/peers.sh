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

if ! current "$build/redis-py/made" bench/peers/redis_py/requirements.txt; then
    rm -rf "$build/redis-py"
    "${PYTHON:-python3}" -m venv "$build/redis-py"
    "$build/redis-py/bin/pip" install --quiet --disable-pip-version-check -r bench/peers/redis_py/requirements.txt
    touch "$build/redis-py/made"
fi

semaphore=$build/redis-semaphore
if ! current "$semaphore/made" bench/peers/redis_semaphore; then
    rm -rf "$semaphore"
    mkdir -p "$semaphore"
    cp bench/peers/redis_semaphore/package*.json "$semaphore"
    (cd "$semaphore" && npm ci --no-audit --no-fund --loglevel=error >/dev/null)
    touch "$semaphore/made"
fi
cp bench/node/callers.mjs bench/node/redis-semaphore-worker.mjs "$semaphore"

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
