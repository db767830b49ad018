#!/usr/bin/env bash
# Builds the command `dlock` and puts it, without symbols, where a package takes it from: command.sh FILE
# DLOCK_PROFILE as for build.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
file=$1
built=$(DLOCK_FAULT_INJECTION="" scripts/build.sh libdlock-cli)
mkdir -p "$(dirname "$file")"
# In one step: another build may be taking the file. KEEP_DEBUG keeps the symbols.
install -m 755 "$built/dlock" "$file.$$"
[ -n "${KEEP_DEBUG:-}" ] || strip "$file.$$"
mv "$file.$$" "$file"
