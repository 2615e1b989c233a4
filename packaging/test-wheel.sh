#!/usr/bin/env bash
# test-wheel.sh WHEEL [SUITE]: installs it into a new virtual environment, and does there what a new
# user does: the command, files without a server, a server from the shell and one from Python. With
# SUITE the environment is in a minimal root of that Debian (root, debootstrap). Needs the network.
set -euo pipefail
wheel=$(realpath "$1") suite=${2:-}
stage=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2> /dev/null || true
    rm -rf "$stage"
}
trap finish EXIT
quiet=(--quiet --disable-pip-version-check)
# No compiler and no other akin is in reach.
if [ -n "$suite" ]; then
    debootstrap --variant=minbase --include=python3-venv "$suite" "$stage/root" > "$stage/log" 2>&1 \
        || { tail "$stage/log"; exit 1; }
    python3 -m pip download "${quiet[@]}" --dest "$stage/root/wheels" "$wheel"
    chroot "$stage/root" python3 -m venv /venv
    chroot "$stage/root" /venv/bin/pip install "${quiet[@]}" --no-index --find-links /wheels akin-search
    new_user=(chroot "$stage/root" env -i HOME=/root PATH=/venv/bin:/usr/bin:/bin)
    cd "$stage/root"
else
    python3 -m venv "$stage/venv"
    "$stage/venv/bin/pip" install "${quiet[@]}" "$wheel"
    new_user=(env -i HOME="$stage" PATH="$stage/venv/bin:/usr/bin:/bin")
    cd "$stage"
fi

"${new_user[@]}" akin --version
# PyPI's `akin` is another library with a module `akin`: both can be installed side by side.
"${new_user[@]}" python -c 'import importlib.util as u; assert u.find_spec("akin_search") and not u.find_spec("akin")'
printf '%s\n' '{"id": "a", "text": "one two three four five six"}' \
    '{"id": "b", "text": "one two three four five six"}' > in.jsonl
"${new_user[@]}" akin dedup in.jsonl -o out.jsonl --quiet
[ "$(cat out.jsonl)" = "$(head -1 in.jsonl)" ]

"${new_user[@]}" akin serve --listen 127.0.0.1:0 --data-dir data 2> serve.log &
server=$!
address=
until [ -n "$address" ] && "${new_user[@]}" akin health --url "http://$address" 2> /dev/null; do
    kill -0 "$server" || { cat serve.log; exit 1; }
    sleep 0.1
    address=$(sed -n 's/.*"address":"\([^"]*\)".*/\1/p' serve.log)
done
"${new_user[@]}" akin import in.jsonl --url "http://$address" --quiet > import.log 2>&1
[ "$("${new_user[@]}" akin similar --id a --url "http://$address" 2> /dev/null)" = "1.0000  b" ]
kill "$server"
wait "$server"
server=

"${new_user[@]}" python - <<'PROGRAM'
import akin_search

with akin_search.Server() as server, server.client() as client:
    client.insert("a", "the night bus stops at the old fish market from monday on")
    added = client.insert("b", "the night bus stops at the old fish market from tuesday on")
    assert client.query(id="b", threshold=0.3)["matches"][0]["id"] == "a", added
PROGRAM
echo "$wheel runs with $("${new_user[@]}" python --version)${suite:+ of $suite}"
