#!/usr/bin/env bash
# Builds every library and the command for another platform, with Zig as the linker and the C compiler: build.sh TRIPLE ZIG-TARGET
# into $CARGO_TARGET_DIR/TRIPLE/release. Needs what tools.sh installs.
set -euo pipefail
cd "$(dirname "$0")/../.."
triple=$1
zig=$2
export PATH=$PWD/build/dist-tools/bin:$PATH
# Without line tables, which packages do not have.
export CARGO_PROFILE_RELEASE_DEBUG=0
# An extension module needs no Python where it is built: it is of the stable ABI.
export PYO3_NO_PYTHON=1
flags=()
case $triple in
*-musl) flags+=(-C target-feature=-crt-static) ;; # a shared library, and for programs that are linked with musl's
*-apple-darwin)
    # The interpreter has the symbols of an extension. What is used of the two frameworks stands in stubs here, as there is no SDK.
    flags+=(-C link-arg=-undefined -C link-arg=dynamic_lookup -C "link-arg=-F$PWD/scripts/dist/frameworks")
    ;;
esac
export CARGO_ENCODED_RUSTFLAGS
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${flags[*]}")
exec cargo zigbuild --quiet --release --locked --target "$zig" \
    --package libdlock-ffi --package libdlock-py --package libdlock-node --package libdlock-jni --package libdlock-cli
