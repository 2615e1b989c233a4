#!/usr/bin/env bash
# akin beside its peers, one command: bench/run.sh [CORPUS.jsonl.gz] [--documents N] [--only text,http] …
# How akin grows with a crawl: bench/run.sh scale --words 500 --documents 100000,1000000
#
# Makes a virtual environment for the peers in Python, builds, measures one participant after the other and
# writes bench/report/. Without a corpus a million documents are made up. `--help` lists the rest.
# AKIN_PROFILE=quick builds in a fraction of the time, for trying things out.
set -euo pipefail
cd "$(dirname "$0")/.."

profile=${AKIN_PROFILE:-release}
venv=target/bench/venv
if ! cat bench/requirements*.txt | cmp -s - "$venv/requirements.txt"; then
    python3 -m venv "$venv"
    pip=("$venv/bin/pip" install --quiet --disable-pip-version-check)
    "${pip[@]}" --requirement bench/requirements.txt
    "${pip[@]}" --no-deps --requirement bench/requirements_alone.txt
    cat bench/requirements*.txt > "$venv/requirements.txt"
fi

cargo build --locked --profile "$profile" --config packaging/profile.toml --features full --bin akin
# The same directory for both, so that dependencies which they share are built once.
cargo build --profile "$profile" --manifest-path bench/Cargo.toml --target-dir target
task=run
if [ "${1-}" = scale ]; then
    task=scale
    shift
fi
exec "target/$profile/akin-bench" "$task" --akin "target/$profile/akin" --python "$venv/bin/python" "$@"
