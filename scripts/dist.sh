#!/usr/bin/env bash
# What would be published, in build/dist: the crates, the wheel, the npm packages, the jars, and the C library as an archive to unpack
# into a prefix.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/build/dist
rm -rf "$out"
mkdir -p "$out"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)

scripts/dist/crates.sh "$out"

scripts/packages.sh python node
cp build/wheels/libdlock-*.whl "$out/"
cp build/node-packages/*.tgz "$out/"
java/package.sh "$out" all

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
prefix=libdlock-$version-$(uname -m)
make --no-print-directory install PREFIX=/usr/local DESTDIR="$stage/$prefix"
cp LICENSE-MIT LICENSE-APACHE "$stage/$prefix/usr/local/"
tar -C "$stage/$prefix/usr" --transform "s,^local,$prefix," -czf "$out/$prefix.tar.gz" local
ls -l "$out"
