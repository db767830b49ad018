#!/usr/bin/env bash
# Builds the command `dlock` and puts it, without symbols, where a package takes it from: command.sh FILE [PROFILE]
# PROFILE is cargo's (release).
set -euo pipefail
cd "$(dirname "$0")/.."
file=$1
profile=${2:-release}
target=${CARGO_TARGET_DIR:-target}
cargo build --quiet --locked --package libdlock-cli --profile "$profile"
built=$target/$([ "$profile" = dev ] && echo debug || echo "$profile")/dlock
mkdir -p "$(dirname "$file")"
# In one step: another build may be taking the file. KEEP_DEBUG keeps the symbols.
install -m 755 "$built" "$file.$$"
[ -n "${KEEP_DEBUG:-}" ] || strip "$file.$$"
mv "$file.$$" "$file"
