#!/usr/bin/env bash
# Runs the tests of an installed package on later versions of Node too: node/other-nodes.sh APP
# DLOCK_ROOT is the repository. With REPEATS=1, as CI has it, on the newest only. The Nodes come as packages of the registry. `await using`, which Node 20 cannot parse, is tried here.
set -euo pipefail
app=$1
nodes=$app/../other-nodes
machine=$(uname -m | sed 's/x86_64/x64/; s/aarch64/arm64/')

cat >"$app/using.mjs" <<'JS'
import { connect } from "libdlock";

let lock;
{
  await using client = await connect("memory://using");
  lock = client.lock("k");
  {
    await using held = await lock.acquire();
    if (!held.valid || !(await lock.locked())) throw new Error("not held");
  }
  if (await lock.locked()) throw new Error("not released");
  const semaphore = client.semaphore("permits", 3);
  {
    await using held = await semaphore.acquire({ permits: 2 });
    if (!held.valid || (await semaphore.inspect()).available !== 1) throw new Error("no permits held");
  }
  if ((await semaphore.inspect()).available !== 3) throw new Error("permits not released");
}
if (!lock.client.closed) throw new Error("not closed");
JS

versions=(24.9.0 26.10.0)
[ "${REPEATS:-20}" != 1 ] || versions=(26.10.0)
for version in "${versions[@]}"; do
    folder=$nodes/$version
    node=$folder/node_modules/node-linux-$machine/bin/node
    mkdir -p "$folder"
    [ -x "$node" ] || npm install --prefix "$folder" --no-save --no-package-lock --no-audit --no-fund --loglevel=error \
        "node-linux-$machine@$version" >/dev/null
    echo "--- Node $("$node" --version)"
    "$node" "$app/using.mjs"
    (cd "$app/tests" && PATH=$(dirname "$node"):$PATH "$DLOCK_ROOT/node/test.sh")
done
