#!/usr/bin/env bash
# wheel.sh [TARGET] or wheel.sh BINARY PLATFORM: a wheel akin_search-VERSION-py3-none-PLATFORM.whl in
# target/wheels: the Python client with the command akin. The binary of a target, by default that of
# x86_64, is made by archive.sh: it is linked statically and runs with any libc. Needs Python 3.9 or
# later with venv, and the network.
set -euo pipefail
cd "$(dirname "$0")/.."
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
if [ $# = 2 ]; then
    strip -o "$stage/akin" "$1"
    export AKIN_PLATFORM=$2
else
    target=${1:-x86_64-unknown-linux-musl}
    processor=${target%%-*}
    cp "${CARGO_TARGET_DIR:-target}/$target/release/akin" "$stage/akin"
    export AKIN_PLATFORM=manylinux_2_17_$processor.manylinux2014_$processor.musllinux_1_1_$processor
fi
python3 -m venv "$stage/venv"
AKIN_BINARY="$stage/akin" "$stage/venv/bin/pip" wheel --quiet --disable-pip-version-check --no-deps \
    --wheel-dir target/wheels clients/python
ls target/wheels/akin_search-*"$AKIN_PLATFORM".whl
