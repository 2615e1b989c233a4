#!/usr/bin/env bash
# akin over Valkey with 3 masters and 3 replicas, beside datasketch with its Redis storage on a server of
# the same program, on this machine and in one run: bench/valkey.sh [--documents N] [--more N] …
#
# Needs Debian's redis-tools or valkey-tools (or the servers). AKIN_PROFILE=quick builds quicker.
set -euo pipefail
cd "$(dirname "$0")/.."

profile=${AKIN_PROFILE:-release}
venv=target/bench/valkey
wanted="datasketch==2.0.0 redis==8.1.0 numpy==2.4.6"
if [ "$(cat "$venv/installed.txt" 2> /dev/null)" != "$wanted" ]; then
    python3 -m venv --clear "$venv"
    # shellcheck disable=SC2086
    "$venv/bin/pip" install --quiet --disable-pip-version-check $wanted
    echo "$wanted" > "$venv/installed.txt"
fi
if [ -z "${AKIN_BIN:-}" ]; then
    cargo build --locked --features valkey --profile "$profile"
    AKIN_BIN=target/$profile/akin
fi
exec "$venv/bin/python" bench/valkey.py --akin "$AKIN_BIN" "$@"
