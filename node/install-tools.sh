#!/usr/bin/env bash
# Installs the tools that package-lock.json pins; nothing to do when they are there.
set -euo pipefail
cd "$(dirname "$0")"
mark=node_modules/.installed-for
if ! cmp -s package-lock.json "$mark"; then
    npm ci --no-fund --no-audit --loglevel=error >/dev/null
    cp package-lock.json "$mark"
fi
