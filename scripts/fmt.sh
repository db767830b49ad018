#!/usr/bin/env bash
# Formats everything that scripts/lint.sh checks.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all
git ls-files -co --exclude-standard -- '*.c' '*.h' '*.cpp' '*.hpp' ':!include/dlock.h' ':!ffi-c/header' | xargs --no-run-if-empty clang-format -i
py/tools.sh
(cd py && ../build/py-venv/bin/ruff format --quiet python tests)
build/py-venv/bin/ruff format --quiet --config ruff.toml api scripts bench demo examples tests/interop tests/scenarios tests/http tests/redisson ffi-c/tests
node/lint.sh fix
node/node_modules/.bin/prettier --log-level warn --config node/.prettierrc.json --write {demo,bench,tests/interop,tests/scenarios}/*.mjs examples/*/*.mjs
java/lint.sh fix
