#!/usr/bin/env bash
# Puts what would be published into a folder: package.sh FOLDER [all]
# `all` adds the jars with sources and javadoc, which a repository wants beside the first, and the integrations with the same.
# LIBDLOCK_NATIVES is a folder with the libraries of all platforms, for a jar that runs on each; without it the jar has this machine's.
set -euo pipefail
cd "$(dirname "$0")"
out=$1
# A folder of its own: the tests may be running at the same time.
build=$PWD/../build/java/package
rm -rf "$build/native"
if [ -n "${LIBDLOCK_NATIVES:-}" ]; then
    mkdir -p "$build"
    cp -r "$LIBDLOCK_NATIVES" "$build/native"
else
    ./build-native.sh "$build/native"
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Maven has a word of terminal codes even for nobody.
modules=()
[ "${2:-}" != all ] || modules=(-f parent/pom.xml -P dist)
rm -f "$build"/maven/libdlock-*.jar "$build"/libdlock-*/*.jar
mvn -B -ntp -q -Dstyle.color=never -Dbuild.dir="$build" "${modules[@]}" -Dmaven.test.skip=true package >"$log" 2>&1 || {
    cat "$log" >&2
    exit 1
}
install -m 644 "$build"/maven/libdlock-*.jar "$out/"
[ "${2:-}" != all ] || install -m 644 "$build"/libdlock-*/libdlock-*.jar "$out/"
