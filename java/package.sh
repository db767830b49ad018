#!/usr/bin/env bash
# Puts what would be published into a folder: package.sh FOLDER
set -euo pipefail
cd "$(dirname "$0")"
out=$1
./build-native.sh "$PWD/../build/java/native"
mvn -B -ntp -q -Dstyle.color=never -DskipTests -Dmaven.test.skip=true package
install -m 644 ../build/java/maven/libdlock-*.jar "$out/"
