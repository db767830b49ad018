#!/usr/bin/env bash
# The formatter of java/, in check mode, over the Redisson peer; its compiler has every warning as an error already.
#   tests/redisson/lint.sh [fix]    `fix` formats in place
set -euo pipefail
goal=check
[ "${1:-}" != fix ] || goal=apply
exec mvn --quiet --batch-mode --file "$(dirname "$0")/peer/pom.xml" "spotless:$goal"
