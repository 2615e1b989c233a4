#!/usr/bin/env bash
# Contents of documents in S3, against moto's server (from PyPI) on loopback.
# `install` only installs what is needed.
set -euo pipefail
cd "$(dirname "$0")/.."

venv="$PWD/target/s3/python"
wanted='moto[server]==5.2.5'
if [ "$(cat "$venv/installed.txt" 2> /dev/null)" != "$wanted" ]; then
    python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile "$wanted"
    echo "$wanted" > "$venv/installed.txt"
fi
[ "${1:-}" != install ] || exit 0
"$venv/bin/python" tests/s3.py cargo test --quiet --locked --all-features --lib backend::valkey::contents
