#!/usr/bin/env bash
# Puts what would be published into a folder: package.sh FOLDER [all]
# `all` adds the jars with sources and javadoc, which a repository wants beside the first.
set -euo pipefail
cd "$(dirname "$0")"
out=$1
./build-native.sh "$PWD/../build/java/native"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Maven has a word of terminal codes even for nobody.
profile=()
[ "${2:-}" != all ] || profile=(-P dist)
rm -f ../build/java/maven/libdlock-*.jar
mvn -B -ntp -q -Dstyle.color=never "${profile[@]}" -Dmaven.test.skip=true package >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
install -m 644 ../build/java/maven/libdlock-*.jar "$out/"
