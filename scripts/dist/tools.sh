#!/usr/bin/env bash
# Installs what builds for other platforms: cargo-zigbuild and Zig from PyPI into build/dist-tools, and Rust's standard library for
# each TRIPLE. Quick when all is there.
set -euo pipefail
cd "$(dirname "$0")/../.."
tools=$PWD/build/dist-tools
wanted="wheel==0.45.1 cargo-zigbuild==0.24.1 ziglang==0.17.1 maturin==$(sed -n 's/^maturin==//p' py/requirements-dev.txt)"
if [ "$(cat "$tools/wanted" 2>/dev/null || true)" != "$wanted" ]; then
    rm -rf "$tools"
    "${PYTHON:-python3}" -m venv "$tools"
    # shellcheck disable=SC2086 # words
    "$tools/bin/pip" install --quiet --disable-pip-version-check $wanted
    echo "$wanted" >"$tools/wanted"
fi
have() { [ -d "$(rustc --print target-libdir --target "$1")" ]; }
for triple in "$@"; do
    have "$triple" && continue
    if ! command -v rustup >/dev/null || ! rustup target add "$triple"; then
        echo "Rust's standard library for $triple is not here, and rustup cannot install it" >&2
        exit 1
    fi
done
