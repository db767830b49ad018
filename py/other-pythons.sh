#!/usr/bin/env bash
# One abi3 wheel serves every Python from 3.10 on: installs it into a fresh environment of each that is found, takes a lock.
#   py/other-pythons.sh WHEEL
set -euo pipefail
wheel=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

program='
import asyncio, sys, libdlock
from libdlock import aio
with libdlock.connect("memory://") as client:
    with client.lock("k", lease=5, wait=1) as held:
        assert held.valid and held.token
    try:
        client.lock("k").release()
        raise SystemExit("released what was not held")
    except libdlock.NotHeld:
        pass
    assert client.rate_limiter("k", rate=1, per=60).try_acquire()
assert libdlock.Snowflake(1, 1).next_id()

async def tasks():
    async with aio.connect("memory://") as client, client.lock("k", wait=1) as held:
        assert held.valid and not await asyncio.create_task(client.lock("k").acquire(blocking=False))
asyncio.run(tasks())
print("ok", sys.version.split()[0])
'
for version in 3.10 3.11 3.12 3.13 3.14; do
    python=$(command -v "python$version" || true)
    # A shim of pyenv is there for every version, and says no when asked for one that is not selected.
    if [ -z "$python" ] || ! "$python" -c 'import venv' 2>/dev/null; then
        python=$(ls -d "$HOME/.pyenv/versions/$version".*/bin/python 2>/dev/null | tail -1 || true)
    fi
    if [ -z "$python" ]; then
        echo "not here: $version"
        continue
    fi
    "$python" -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet --disable-pip-version-check --no-index "$wheel"
    "$folder/$version/bin/python" -X dev -c "$program"
done
