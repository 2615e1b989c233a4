#!/usr/bin/env bash
# The queries of docs/engines-for-tables.md in DuckDB, on what `akin sketch` writes: they find what akin finds.
# AKIN_SPARK=1 runs the page's program for Spark, too (pyspark, and a Java that it takes).
# `install` only installs what is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

export AKIN_BIN="${AKIN_BIN:-$root/target/debug/akin}"
venv="$root/target/join/python"
wanted=(duckdb==2.0.0)
[ -z "${AKIN_SPARK:-}" ] || wanted+=(pyspark==4.3.0)
if [ "$(cat "$venv/installed.txt" 2> /dev/null)" != "${wanted[*]}" ]; then
    python3 -m venv --clear "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "${wanted[@]}"
    echo "${wanted[*]}" > "$venv/installed.txt"
fi
[ "${1:-}" != install ] || exit 0
"$venv/bin/python" tests/join.py
