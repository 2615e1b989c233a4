#!/usr/bin/env bash
# wheel.sh [BINARY PLATFORM]: target/wheels/akin_search-VERSION-py3-none-PLATFORM.whl, the Python
# client with the command akin. The default binary is that of archive.sh, which is linked statically
# and runs with any libc. Needs Python 3.9 or later with venv, and the network.
set -euo pipefail
cd "$(dirname "$0")/.."
binary=${1:-${CARGO_TARGET_DIR:-target}/x86_64-unknown-linux-musl/release/akin}
export AKIN_PLATFORM=${2:-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64}

stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
strip -o "$stage/akin" "$binary"
python3 -m venv "$stage/venv"
AKIN_BINARY="$stage/akin" "$stage/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps \
    --wheel-dir target/wheels clients/python
ls target/wheels/akin_search-*"$AKIN_PLATFORM".whl
