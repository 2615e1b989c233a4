#!/usr/bin/env bash
# test-wheel.sh WHEEL: installs it into a new virtual environment, and does there what a new user
# does: the command, a server from Python, files without a server. Needs the network.
set -euo pipefail
wheel=$(realpath "$1")
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
python3 -m venv "$stage/venv"
"$stage/venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"

# No compiler and no other akin is in reach.
cd "$stage"
new_user() { env -i HOME="$stage" PATH="$stage/venv/bin:/usr/bin:/bin" "$@"; }
new_user akin --version
new_user python - <<'PROGRAM'
import akin

with akin.Server() as server, server.client() as client:
    client.insert("a", "the night bus stops at the old fish market from monday on")
    added = client.insert("b", "the night bus stops at the old fish market from tuesday on")
    assert client.query(id="b", threshold=0.3)["matches"][0]["id"] == "a", added
PROGRAM
printf '%s\n' '{"id": "a", "text": "one two three four five six"}' \
    '{"id": "b", "text": "one two three four five six"}' > in.jsonl
new_user akin dedup in.jsonl -o out.jsonl --quiet
[ "$(cat out.jsonl)" = "$(head -1 in.jsonl)" ]
echo "$wheel runs with $(python3 --version)"
