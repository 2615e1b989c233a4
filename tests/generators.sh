#!/usr/bin/env bash
# openapi.yaml with the tools that people use: redocly's linter without an error or a warning, types by
# openapi-typescript, and a Python client by openapi-python-client that calls a server.
# `install` only installs what is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
own="$root/tests/generators"
tools="$root/target/generators"

if ! cmp -s "$own/requirements.txt" "$tools/python/installed.txt"; then
    python3 -m venv --clear "$tools/python"
    "$tools/python/bin/python" -m pip install --quiet --disable-pip-version-check \
        -r "$own/requirements.txt"
    cp "$own/requirements.txt" "$tools/python/installed.txt"
fi
# Installed elsewhere, so that nothing is written among the sources.
if ! cmp -s "$own/package-lock.json" "$tools/js/package-lock.json"; then
    rm -rf "$tools/js" && mkdir -p "$tools/new"
    cp "$own/package.json" "$own/package-lock.json" "$own/.npmrc" "$tools/new"
    (cd "$tools/new" && npm ci --silent --no-progress)
    mv "$tools/new" "$tools/js"
fi
[ "${1:-}" != install ] || exit 0

made="$tools/made"
rm -rf "$made" && mkdir -p "$made"
cd "$made" # where the tools leave what they leave

export REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true
"$tools/js/node_modules/.bin/redocly" lint --format json "$root/openapi.yaml" > lint.json 2> lint.log ||
    { cat lint.log; [ -s lint.json ]; }
"$tools/python/bin/python" - << 'END'
import json
import sys

found = json.load(open("lint.json"))
print("redocly:", found["totals"])
for problem in found["problems"]:
    where = problem["location"][0].get("pointer")
    print(f"  {problem['severity']} {problem['ruleId']}: {problem['message']} at {where}")
sys.exit(any(found["totals"].values()))
END

"$tools/js/node_modules/.bin/openapi-typescript" "$root/openapi.yaml" --output akin.d.ts > types.log 2>&1 ||
    { cat types.log; exit 1; }
cp "$own/types.ts" .
"$tools/js/node_modules/.bin/tsc" --strict --noEmit --module nodenext --target es2022 types.ts

# The generator formats its output by ruff, which stands beside it.
PATH="$tools/python/bin:$PATH" openapi-python-client generate --path "$root/openapi.yaml" \
    --config "$own/openapi-python-client.yaml" --output-path client > client.log 2>&1 ||
    { cat client.log; exit 1; }

. "$root/tests/server.sh"
start_server
AKIN_URL="http://$address" AKIN_API_KEY="$key" PYTHONPATH="$made/client" PYTHONDONTWRITEBYTECODE=1 \
    "$tools/python/bin/python" "$own/calls.py"
