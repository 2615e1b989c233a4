#!/usr/bin/env bash
# bench/postgres.sh [DOCUMENTS] [--large DOCUMENTS...]: akin over PostgreSQL, beside datasketch over Redis
# in the same run; writes the tables of docs/postgres.md and docs/benchmarks.md. It needs PostgreSQL,
# redis-server and Python with venv (Debian: postgresql redis-server python3-venv), and takes some
# minutes for the 100,000 documents. `--large` adds databases of which a sixth fits the buffers.
set -euo pipefail
cd "$(dirname "$0")/.."
export AKIN_BIN="${AKIN_BIN:-$PWD/target/release/akin}"
[ -x "$AKIN_BIN" ] || cargo build --release --locked --features full
venv=target/bench-postgres
[ -x "$venv/bin/python" ] || python3 -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check datasketch==2.0.0 redis
exec "$venv/bin/python" bench/peers/postgres.py "$@"
