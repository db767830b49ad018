#!/usr/bin/env bash
# Error Prone and NullAway with warnings as errors, the formatter in check mode, javadoc with doclint: java/lint.sh [fix]
# `fix` formats in place. The core and all integrations.
set -euo pipefail
cd "$(dirname "$0")"
modules=(-f parent/pom.xml)
if [ "${1:-}" = fix ]; then
    exec mvn -B -ntp -q -Dstyle.color=never "${modules[@]}" -P lint spotless:apply
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Not -q, which hides the warnings that it fails for.
mvn -B -ntp -Dstyle.color=never "${modules[@]}" -P lint spotless:check test-compile javadoc:javadoc >"$log" 2>&1 || {
    grep -E '^(\[WARNING\]|\[ERROR\]|    )' "$log" >&2
    exit 1
}
