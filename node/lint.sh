#!/usr/bin/env bash
# tsc --strict, eslint and prettier, warnings as errors; builds nothing.
#   node/lint.sh                 what is in node/
#   node/lint.sh fix             formats it in place
#   node/lint.sh FOLDER...       JavaScript elsewhere in the repository, with the same rules
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
"$here/install-tools.sh"
tools=$here/node_modules/.bin

if [ "${1:-}" = fix ]; then
    cd "$here"
    exec "$tools/prettier" --log-level warn --write .
fi
if [ $# -gt 0 ]; then
    # eslint looks for files below its own folder only.
    cd "$here/.."
    mapfile -t files < <(find "$@" -name node_modules -prune -o \( -name '*.mjs' -o -name '*.cjs' \) -print)
    [ ${#files[@]} -gt 0 ] || exit 0
    "$tools/eslint" --no-config-lookup --config "$here/eslint.config.mjs" --max-warnings 0 "${files[@]}"
    exec "$tools/prettier" --log-level warn --config "$here/.prettierrc.json" --check "${files[@]}"
fi
cd "$here"
node node_modules/typescript/bin/tsc -p tsconfig.json --noEmit
node node_modules/typescript/bin/tsc -p tsconfig.cjs.json --noEmit
"$tools/eslint" --max-warnings 0 ts tests ./*.mjs
"$tools/prettier" --log-level warn --check .
