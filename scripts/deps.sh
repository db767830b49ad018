#!/usr/bin/env bash
# Checks what has to be here, installs what can be. Quick and silent when everything is there.
#   scripts/deps.sh [demo|test|bench|dist]     what for (test); a demo needs fewer tools
set -euo pipefail
purpose=${1:-test}

have() { command -v "$1" >/dev/null 2>&1; }
at_least() { [ "$(printf '%s\n%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]; }

# Prerequisites: a toolchain is the user's choice, so it is named and never installed.
missing=()
rust=$(rustc --version 2>/dev/null | cut -d ' ' -f 2 || true)
if [ -z "$rust" ] || ! have cargo; then
    missing+=("Rust 1.88 or later with cargo")
elif ! at_least 1.88 "$rust"; then
    missing+=("Rust 1.88 or later (here: $rust)")
elif [ "$purpose" = test ]; then
    cargo fmt --version >/dev/null 2>&1 || missing+=("rustfmt")
    cargo clippy --version >/dev/null 2>&1 || missing+=("clippy")
fi
python=${PYTHON:-python3}
if ! have "$python"; then
    missing+=("Python 3.10 or later")
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    missing+=("Python 3.10 or later (here: $("$python" --version 2>&1 || true))")
elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    missing+=("Python's venv and ensurepip modules")
fi
node=$(node --version 2>/dev/null | tr -d v || true)
if [ -z "$node" ] || ! have npm; then
    missing+=("Node 20 or later with npm")
elif ! at_least 20 "$node"; then
    missing+=("Node 20 or later (here: $node)")
fi
# The JDK that Maven takes.
jdk=$("${JAVA_HOME:+$JAVA_HOME/bin/}javac" -version 2>/dev/null | cut -d ' ' -f 2 || true)
if [ -z "$jdk" ]; then
    missing+=("a JDK, 17 or later")
elif ! at_least 17 "$jdk"; then
    missing+=("a JDK, 17 or later (here: $jdk)")
fi
have mvn || missing+=("Maven (mvn)")
have "${CC:-cc}" || missing+=("a C compiler")
have "${CXX:-c++}" || missing+=("a C++ compiler")
have make || missing+=("make")
if [ ${#missing[@]} -gt 0 ]; then
    printf 'libdlock needs, and this machine lacks: %s\n' "$(printf '%s; ' "${missing[@]}" | sed 's/; $//')" >&2
    exit 1
fi

# The rest: command and the Debian package that brings it.
packages=()
tools="redis-server:redis-server"
case $purpose in
test) tools+=" openssl:openssl redis-cli:redis-tools valgrind:valgrind cmake:cmake pkg-config:pkg-config clang-format:clang-format nm:binutils luacheck:lua-check tmux:tmux chromium:chromium"
    # Headers for the examples with event loops; no command shows that they are there.
    [ -e /usr/include/uv.h ] || packages+=(libuv1-dev)
    [ -e /usr/include/asio.hpp ] || packages+=(libasio-dev)
    ;;
dist)
    tools+=" llvm-strip:llvm qemu-aarch64:qemu-user x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64-posix"
    [ -e /usr/lib/wine/wine64 ] || packages+=(wine64)
    [ -e /lib/ld-musl-x86_64.so.1 ] || packages+=(musl)
    ;;
esac
# A server that is there needs no other.
[ "$purpose" = demo ] && [ -n "${REDIS_URL:-}" ] && tools=""
for tool in $tools; do
    have "${tool%%:*}" || packages+=("${tool##*:}")
done
[ ${#packages[@]} -gt 0 ] || exit 0

if ! have apt-get || [ "$(id -u)" != 0 ]; then
    echo "please install: ${packages[*]} (Debian's names; as root: apt-get install ${packages[*]})" >&2
    exit 1
fi
echo "installing: ${packages[*]}"
# The package starts its service on the default port. We use servers of our own, so what did not run before shall not run
# after: policy-rc.d is how Debian lets an administrator say so. One that is there is left to its owner.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    trap 'rm -f "$policy"' EXIT
fi
export DEBIAN_FRONTEND=noninteractive
install() { apt-get install -y -qq --no-install-recommends "${packages[@]}" >/dev/null; }
# A fresh machine has no package lists, or old ones.
install 2>/dev/null || { apt-get update -qq && install; }
