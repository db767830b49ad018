#!/usr/bin/env bash
# Builds our workers, installs the peers, and measures: `make bench`. Arguments go to bench/run.py: names of sections, --quick.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet -p libdlock-floor -p libdlock-bench
scripts/packages.sh
bench/peers.sh
mkdir -p build/bench/java
cp bench/node/callers.mjs bench/node/libdlock-worker.mjs build/node-app
"${JAVA_HOME:+$JAVA_HOME/bin/}javac" --release 17 -Xlint:all -Werror -cp build/java/libdlock.jar -d build/bench/java \
    bench/java/Callers.java bench/java/Window.java bench/java/Worker.java
"${CC:-cc}" -std=c11 -O2 -Wall -Wextra -o build/bench/c-worker bench/c/*.c \
    -Ibuild/c/include -Lbuild/c/lib -ldlock -Wl,-rpath,"$PWD/build/c/lib" -pthread -lm
# The charts are drawn of what the run has tables for.
status=0
python3 bench/run.py "$@" | tee build/bench/results.md || status=$?
python3 bench/charts.py build/bench/results.md build/bench/charts
exit "$status"
