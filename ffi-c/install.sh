#!/usr/bin/env bash
# Puts library, headers, pkg-config file and CMake package in place, or takes them away again; also the command dlock with its
# completions, where it was built.
#   ffi-c/install.sh BUILT PREFIX         BUILT holds libdlock.so, libdlock.a and dlock, such as target/release
#   ffi-c/install.sh --uninstall PREFIX   removes what an install put there, and the folders of its own
# DESTDIR is put before every path, for packagers; LIBDIR and INCLUDEDIR default to PREFIX/lib and PREFIX/include. What is
# installed below PREFIX may be moved together. Line tables are left out (libdlock.so is a sixth of its size without) unless
# KEEP_DEBUG=1. For another platform than this one: STRIP and OBJCOPY name tools that know it, DLOCK a command that runs here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ $# -eq 2 ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
prefix=$(realpath -ms -- "$2")
libdir=$(realpath -ms -- "${LIBDIR:-$prefix/lib}")
includedir=$(realpath -ms -- "${INCLUDEDIR:-$prefix/include}")
to_lib=${DESTDIR:-}$libdir
to_include=${DESTDIR:-}$includedir
to_share=${DESTDIR:-}$prefix/share/dlock
to_command=${DESTDIR:-}$prefix/bin/dlock
# Where each shell looks for what it does not have.
to_bash=${DESTDIR:-}$prefix/share/bash-completion/completions/dlock
to_zsh=${DESTDIR:-}$prefix/share/zsh/site-functions/_dlock
to_fish=${DESTDIR:-}$prefix/share/fish/vendor_completions.d/dlock.fish

if [ "$1" = --uninstall ]; then
    rm -f -- "$to_lib"/libdlock.so "$to_lib"/libdlock.so.* "$to_lib"/libdlock{,.*}.dylib "$to_lib"/libdlock.a "$to_lib"/pkgconfig/dlock{,-static}.pc
    rm -f -- "$to_include/dlock.h" "$to_include/dlock.hpp"
    rm -rf -- "$to_lib/cmake/dlock" "$to_include/dlock" "$to_share"
    rm -f -- "$to_command" "$to_bash" "$to_zsh" "$to_fish"
    # Folders that others use too stay as long as they hold anything.
    rmdir --ignore-fail-on-non-empty -- "$to_lib/cmake" "$to_lib/pkgconfig" 2>/dev/null || true
    exit
fi

built=$(cd "$1" && pwd)
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$here/../Cargo.toml")
abi=$(sed -n 's/^#define DLOCK_ABI_VERSION //p' "$here/../include/dlock.h")

install -d "$to_lib/pkgconfig" "$to_lib/cmake/dlock" "$to_include/dlock" "$to_share"
strip=${STRIP:-strip}
if [ -e "$built/libdlock.dylib" ]; then # macOS
    shared=libdlock.$version.dylib
    names=("libdlock.$abi.dylib" libdlock.dylib)
    soname=@rpath/libdlock.$abi.dylib
    # What programs link beside libdlock.a.
    static="-framework Security -framework CoreFoundation -liconv"
    static_cmake="Threads::Threads;-framework Security;-framework CoreFoundation;iconv"
    bitcode=(--remove-section=__LLVM,__bitcode --remove-section=__LLVM,__cmdline)
    install -m 755 "$built/libdlock.dylib" "$to_lib/$shared"
else
    shared=libdlock.so.$version
    names=("libdlock.so.$abi" libdlock.so)
    soname=libdlock.so.$abi
    # Not the unwinder: the compiler links libgcc_s, or with -static libgcc_eh, which the other cannot stand for.
    static="-lpthread -ldl -lm -lrt"
    static_cmake="Threads::Threads;dl;m;rt"
    bitcode=(--remove-section=.llvmbc --remove-section=.llvmcmd)
    install -m 755 "$built/libdlock.so" "$to_lib/$shared"
fi
ln -sf "$shared" "$to_lib/${names[0]}"
ln -sf "${names[0]}" "$to_lib/${names[1]}"
install -m 644 "$built/libdlock.a" "$to_lib/libdlock.a"
# The LLVM bitcode in rustc's objects is of no use to a linker that is not rustc's, and tools that look at it fail.
"${OBJCOPY:-objcopy}" "${bitcode[@]}" "$to_lib/libdlock.a"
if [ -z "${KEEP_DEBUG:-}" ]; then
    "$strip" --strip-debug "$to_lib/$shared" "$to_lib/libdlock.a"
fi
install -m 644 "$here/../include/dlock.h" "$here/../include/dlock.hpp" "$to_include/"
install -m 644 "$here/../include/dlock/"*.hpp "$to_include/dlock/"
install -m 644 "$here/package/"*.supp "$to_share/"

# A path as it stands in a .pc file, whose flags are split at spaces, and within quotes of CMake.
quote_pc() { printf %s "$1" | sed -e 's/\$/$$/g' -e 's/[]["'\'' \\#&;()<>|*?!`]/\\&/g'; }
quote_cmake() { printf %s "$1" | sed 's/["\\$]/\\&/g'; }
# `place` as seen from a variable `from` that stands for `folder`; itself when it does not lie below the prefix.
seen_from() {
    local quote=$1 from=$2 folder=$3 place=$4
    case $place/ in "$prefix"/*) ;; *) "$quote" "$place"; return ;; esac
    case $folder/ in "$prefix"/*) printf '%s/' "$from"; "$quote" "$(realpath -ms --relative-to="$folder" -- "$place")" ;;
    *) "$quote" "$place" ;; esac
}
literally() { printf %s "$1" | sed 's/[\\&|]/\\&/g'; }
fill() {
    local quote=$3 from=$4 folder=$5
    sed -e "s|@PREFIX@|$(literally "$(seen_from "$quote" "$from" "$folder" "$prefix")")|g" \
        -e "s|@LIBDIR@|$(literally "$(seen_from "$quote" "$from" "$folder" "$libdir")")|g" \
        -e "s|@INCLUDEDIR@|$(literally "$(seen_from "$quote" "$from" "$folder" "$includedir")")|g" \
        -e "s|@CMAKEDIR@|$(literally "$(quote_cmake "$libdir/cmake/dlock")")|g" \
        -e "s|@SHARED@|$shared|g; s|@SONAME@|$soname|g; s|@STATIC@|$static|g; s|@STATIC_CMAKE@|$static_cmake|g" \
        -e "s|@VERSION@|$version|g" "$here/package/$1.in" >"$2/$1"
}
for package in dlock dlock-static; do
    # shellcheck disable=SC2016 # a variable of pkg-config
    fill $package.pc "$to_lib/pkgconfig" quote_pc '${pcfiledir}' "$libdir/pkgconfig"
done
# shellcheck disable=SC2016 # a variable of CMake
fill dlock-config.cmake "$to_lib/cmake/dlock" quote_cmake '${_dlock_here}' "$libdir/cmake/dlock"
fill dlock-config-version.cmake "$to_lib/cmake/dlock" quote_cmake '' ''

if [ -x "$built/dlock" ]; then
    install -D -m 755 "$built/dlock" "$to_command"
    [ -n "${KEEP_DEBUG:-}" ] || "$strip" "$to_command"
    for completion in "bash $to_bash" "zsh $to_zsh" "fish $to_fish"; do
        install -d "$(dirname -- "${completion#* }")"
        "${DLOCK:-$built/dlock}" completion "${completion%% *}" >"${completion#* }"
    done
fi
