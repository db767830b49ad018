#!/usr/bin/env bash
# Builds the package of each language and installs it below build/, as a user would: for the demo, the benchmarks, the tests between
# languages and the README's programs.
#   scripts/packages.sh [c|python|node|java]...    these languages, or all
# c:      libdlock.so and the headers in build/c
# python: the wheel, in build/venv
# node:   both npm packages, in build/node-app; a program finds them when its file lies in that folder
# java:   the jar, at build/java/libdlock.jar
# One call of cargo compiles what all of them have in common. Says how long each step took; does nothing with DLOCK_PACKAGED=1 or
# DLOCK_BUILT=1, when it was just done. DLOCK_PROFILE and WITHOUT_COMMAND as for wheel.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -z "${DLOCK_BUILT:-}${DLOCK_PACKAGED:-}" ] || exit 0
[ $# -gt 0 ] || set -- c python node java

step() { # WHAT COMMAND...
    local what=$1 begun=$SECONDS
    shift
    "$@"
    printf '  %-44s %4d s\n' "$what" $((SECONDS - begun))
}

compile() {
    local crates=() language
    [ -n "${WITHOUT_COMMAND:-}" ] || crates+=(libdlock-cli)
    for language in "$@"; do
        case $language in
        c) crates+=(libdlock-ffi) ;;
        python) ;; # by maturin, in wheel.sh
        node) crates+=(libdlock-node) ;;
        java) crates+=(libdlock-jni) ;;
        *)
            echo "scripts/packages.sh knows c, python, node and java, not $language" >&2
            return 2
            ;;
        esac
    done
    [ ${#crates[@]} = 0 ] || built=$(scripts/build.sh "${crates[@]}")
}

c() {
    mkdir -p build/c/lib
    install -m 755 "$built/libdlock.so" build/c/lib/libdlock.so.0
    ln -sf libdlock.so.0 build/c/lib/libdlock.so
    ln -sfn ../../include build/c/include
}

python() {
    scripts/wheel.sh build/wheels
    build/venv/bin/pip install --quiet --disable-pip-version-check --no-index --force-reinstall build/wheels/libdlock-*.whl
}

node() (
    packages=$PWD/build/node-packages
    rm -rf "$packages"
    mkdir -p "$packages" build/node-app
    node/package.sh "$packages"
    cd build/node-app
    echo '{ "private": true, "type": "module" }' >package.json
    # npm takes a tarball of the same version for the same: what was installed goes first.
    rm -rf node_modules
    npm install --no-save --no-package-lock --no-audit --no-fund --loglevel=error "$packages"/*.tgz >/dev/null
)

java() {
    local packages=$PWD/build/java-packages version
    rm -rf "$packages"
    mkdir -p "$packages" build/java
    java/package.sh "$packages"
    version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
    install -m 644 "$packages/libdlock-$version.jar" build/java/libdlock.jar
}

step "the native libraries" compile "$@"
for language in "$@"; do step "the package for $language" "$language"; done
