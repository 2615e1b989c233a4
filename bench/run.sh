#!/usr/bin/env bash
# akin beside its peers, one command: bench/run.sh [CORPUS.jsonl.gz] [--documents N] [--only text,http] …
#
# Makes a virtual environment for the peers in Python, builds, measures one participant after the other and
# writes bench/report/. Without a corpus a million documents are made up. `--help` lists the rest.
# AKIN_PROFILE=quick builds in a fraction of the time, for trying things out.
set -euo pipefail
cd "$(dirname "$0")/.."

profile=${AKIN_PROFILE:-release}
venv=target/bench/venv
if ! cmp -s bench/requirements.txt "$venv/requirements.txt"; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check --requirement bench/requirements.txt
    cp bench/requirements.txt "$venv/requirements.txt"
fi

# Both at once, so that what they share is built once.
cargo build --locked --profile "$profile" --package akin --package akin-bench
exec "target/$profile/akin-bench" run --akin "target/$profile/akin" --python "$venv/bin/python" "$@"
