#!/usr/bin/env bash
# Puts library, headers, pkg-config file and CMake package in place.
#   ffi-c/install.sh BUILT PREFIX      BUILT holds libdlock.so and libdlock.a, such as target/release
# DESTDIR is put before every path, for packagers; LIBDIR and INCLUDEDIR default to PREFIX/lib and PREFIX/include. Line
# tables are left out (libdlock.so is a sixth of its size without) unless KEEP_DEBUG=1.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 2 ] || { sed -n '2,5s/^# \{0,1\}//p' "$0" >&2; exit 2; }
built=$(cd "$1" && pwd)
case $2 in /*) prefix=$2 ;; *) prefix=$PWD/$2 ;; esac
libdir=${LIBDIR:-$prefix/lib}
includedir=${INCLUDEDIR:-$prefix/include}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$here/../Cargo.toml")
abi=$(sed -n 's/^#define DLOCK_ABI_VERSION //p' "$here/../include/dlock.h")
to_lib=${DESTDIR:-}$libdir
to_include=${DESTDIR:-}$includedir

install -d "$to_lib/pkgconfig" "$to_lib/cmake/dlock" "$to_include/dlock"
install -m 755 "$built/libdlock.so" "$to_lib/libdlock.so.$version"
ln -sf "libdlock.so.$version" "$to_lib/libdlock.so.$abi"
ln -sf "libdlock.so.$abi" "$to_lib/libdlock.so"
install -m 644 "$built/libdlock.a" "$to_lib/libdlock.a"
if [ -z "${KEEP_DEBUG:-}" ]; then
    strip --strip-debug "$to_lib/libdlock.so.$version" "$to_lib/libdlock.a"
fi
install -m 644 "$here/../include/dlock.h" "$here/../include/dlock.hpp" "$to_include/"
install -m 644 "$here/../include/dlock/"*.hpp "$to_include/dlock/"

fill() {
    sed -e "s|@PREFIX@|$prefix|g; s|@LIBDIR@|$libdir|g; s|@INCLUDEDIR@|$includedir|g" \
        -e "s|@VERSION@|$version|g; s|@ABI@|$abi|g" "$here/package/$1.in" >"$2/$1"
}
fill dlock.pc "$to_lib/pkgconfig"
fill dlock-config.cmake "$to_lib/cmake/dlock"
fill dlock-config-version.cmake "$to_lib/cmake/dlock"
