#!/usr/bin/env bash
# Builds the jar and tests it; ends with surefire's closing lines.
#   java/run-tests.sh         the tests, those of the integrations, those of a project that depends on what was installed, and a program
#                             that shades it
#   java/run-tests.sh long    only what that leaves out: the long ones, the others on the newest JDK here, a panic in every export
# The whole run is under -Xcheck:jni, and a warning of it is a failure. DLOCK_PROFILE is the cargo profile of the library (quick).
set -euo pipefail
cd "$(dirname "$0")"
build=$PWD/../build/java
export DLOCK_PROFILE=${DLOCK_PROFILE:-quick}

# Maven's own JVM lives shortly, too.
export MAVEN_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC ${MAVEN_OPTS:-}"

# Maven's words in a file, what matters of them on the terminal: its closing line for each module's tests, too.
run_maven() {
    local log=$build/maven.log status=0
    mvn -B -ntp -Dstyle.color=never "$@" >"$log" 2>&1 || status=$?
    if [ "$status" != 0 ]; then
        grep -vE '^\[INFO\]( |$)|^\[ERROR\] Tests run: ' "$log" || true
    fi
    grep -E 'Tests run: .*, Time elapsed: ' "$log" || true
    grep -E '^\[(INFO|WARNING|ERROR)\] Tests run: [0-9]+, Failures: [0-9]+, Errors: [0-9]+, Skipped: [0-9]+.{0,4}$' "$log" || true
    if grep -nE 'in native method|^Warning: SIG' "$log"; then
        echo "java: -Xcheck:jni has found something, see above" >&2
        status=1
    fi
    return "$status"
}

./build-native.sh "$build/native"
if [ "${1:-}" != long ]; then
    run_maven -T 3 -f parent/pom.xml install -DskipTests
    echo "--- built"
    # The integrations wait for the core's tests, and run beside one another.
    run_maven -T 3 -f parent/pom.xml surefire:test
    run_maven -T 2 -f consumers/pom.xml package
    java -Xcheck:jni -cp "$build/consumer-shaded/shaded-1.jar:$(ls "$build"/maven/libdlock-*[0-9].jar)" example.Shaded both >"$build/shaded.log" 2>&1 &&
        ! grep -nE 'in native method|^Warning: SIG' "$build/shaded.log" || {
        cat "$build/shaded.log" >&2
        exit 1
    }
else
    run_maven test-compile
    echo "--- built"
    run_maven surefire:test -Donly.groups=long -Dexcluded.groups=panic
    newest=${NEWEST_JDK:-$(ls -d /usr/lib/jvm/*/ | while read -r jdk; do
        version=$(sed -n 's/^JAVA_VERSION="\([0-9]*\).*/\1/p' "$jdk/release" 2>/dev/null || true)
        [ -z "$version" ] || echo "$version ${jdk%/}"
    done | sort -n | tail -n 1 | cut -d ' ' -f 2-)}
    echo "java: once more on $newest"
    # With all compilers, whose code outlives objects in another way.
    run_maven surefire:test -Djvm="$newest/bin/java" -Dcompilers=-XX:+TieredCompilation -Dmore.jvm.arguments=--enable-native-access=ALL-UNNAMED
    DLOCK_FAULT_INJECTION=1 ./build-native.sh "$build/native-fault-injection"
    run_maven test -Dnative.dir="$build/native-fault-injection" -Dbuild.dir="$build/fault-injection" -Donly.groups=panic -Dexcluded.groups=
fi
