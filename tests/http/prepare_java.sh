#!/usr/bin/env bash
# Builds the application of Spring Boot with libdlock as it is here: tests/http/prepare_java.sh
# DLOCK_PROFILE as for scripts/build.sh.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$PWD/build/http-java
mkdir -p "$build"
exec 9>"$build/lock"
flock 9
sources=(java/src/main java/native java/pom.xml java/parent java/spring-boot-starter examples/frameworks/spring-boot)
sources+=(bridge core Cargo.lock)
if [ -e "$build/made" ] && [ -z "$(find "${sources[@]}" -type f -newer "$build/made" -print -quit)" ]; then exit; fi
rm -f "$build/made"
touch "$build/begun"
java/build-native.sh "$build/native"
mvn() { command mvn -B -ntp -q -Dstyle.color=never -Dmaven.test.skip=true "$@"; }
mvn -f java/parent/pom.xml -Dbuild.dir="$build" -pl ../spring-boot-starter -am install
# What is there already would be kept although libdlock has changed.
rm -rf "$build/spring-boot"
mvn -f examples/frameworks/spring-boot/pom.xml -Dtarget="$build/spring-boot" package
cp "$build/spring-boot/spring-boot-example.jar" "$build/"
mv "$build/begun" "$build/made"
