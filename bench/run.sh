#!/usr/bin/env bash
# Builds the workers and measures them: `make bench`. Further arguments go to bench/run.py.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --quiet -p libdlock-floor -p libdlock-bench
scripts/python-venv.sh
scripts/c-library.sh
scripts/node-app.sh
scripts/java-jar.sh
mkdir -p build/bench
cp bench/worker.mjs build/node-app/bench-worker.mjs
"${JAVA_HOME:+$JAVA_HOME/bin/}javac" --release 17 -Xlint:all -Werror -cp build/java/libdlock.jar -d build/bench bench/Worker.java
"${CC:-cc}" -std=c11 -O2 -Wall -Wextra -o build/bench/worker bench/worker.c \
    -Ibuild/c/include -Lbuild/c/lib -ldlock -Wl,-rpath,"$PWD/build/c/lib" -pthread
exec python3 bench/run.py "$@"
