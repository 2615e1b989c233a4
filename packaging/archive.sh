#!/usr/bin/env bash
# archive.sh [TARGET]: target/archive/akin-VERSION-TARGET.tar.gz and SHA256SUMS. The default target is
# linked statically and runs on any Linux of the processor's kind; it needs musl-gcc (Debian:
# musl-tools) and `rustup target add x86_64-unknown-linux-musl`. For another processor, as with
# aarch64-unknown-linux-musl, it needs Zig's C compiler (`pip install cargo-zigbuild ziglang`), and
# Debian's qemu-user and binutils-aarch64-linux-gnu.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-x86_64-unknown-linux-musl}
processor=${target%%-*}
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name=akin-$version-$target
akin=${CARGO_TARGET_DIR:-target}/$target/release/akin
build=build strip=strip run=("$akin")
if [ "$processor" != "$(uname -m)" ]; then
    build=zigbuild strip=$processor-linux-gnu-strip run=("qemu-$processor" "$akin")
fi
cargo $build --release --locked --features full --config packaging/profile.toml --bin akin --target "$target"
$strip "$akin"

mkdir -p target/archive
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
bash packaging/documentation.sh "$stage/$name" "${run[@]}"
install -m 755 "$akin" "$stage/$name/akin"
cp README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT config/default.toml packaging/akin.service \
    "$stage/$name/"
# Equal contents make equal archives.
tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(git log -1 --format=%ct)" \
    -c "$name" | gzip -n9 > "target/archive/$name.tar.gz"
(cd target/archive && sha256sum ./*.tar.gz | sed 's| \./| |' > SHA256SUMS && cat SHA256SUMS)
