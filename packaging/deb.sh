#!/usr/bin/env bash
# The Debian package: target/debian/akin_VERSION_ARCHITECTURE.deb. Needs `cargo install --locked
# cargo-deb`.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo build --release --locked --features full --config packaging/profile.toml --bin akin
bash packaging/documentation.sh target/packaging target/release/akin
cargo deb --locked --no-build
