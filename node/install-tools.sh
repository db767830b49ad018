#!/usr/bin/env bash
# Installs the tools that package-lock.json pins; nothing to do when they are there.
set -euo pipefail
cd "$(dirname "$0")"
# One at a time: the linters may want them while the tests do.
mkdir -p ../build
exec 9>../build/node-tools.lock
flock 9
mark=node_modules/.installed-for
if ! cmp -s package-lock.json "$mark"; then
    npm ci --no-fund --no-audit --loglevel=error >/dev/null
    cp package-lock.json "$mark"
fi
