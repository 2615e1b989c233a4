#!/usr/bin/env bash
# Sends what openapi.yaml allows, and what it does not, to a server of its own, and holds every
# response to the document: no 5xx, no undocumented status, no other form than its schema.
# `install` only installs what is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

python="$root/target/schemathesis/bin/python"
if ! cmp -s tests/schemathesis.txt target/schemathesis/installed.txt; then
    python3 -m venv --clear target/schemathesis
    "$python" -m pip install --quiet --disable-pip-version-check -r tests/schemathesis.txt
    cp tests/schemathesis.txt target/schemathesis/installed.txt
fi
[ "${1:-}" != install ] || exit 0
# With keys, so that calls without a key are tested too. Probes are logged at this level. Clusters and
# passages are calls of collections with these settings.
. tests/server.sh
start_server AKIN__LOG__LEVEL=info,akin::http=debug AKIN__LOG__REQUESTS=all \
    AKIN__COLLECTION__CLUSTERS__THRESHOLD=0.8 AKIN__COLLECTION__PASSAGES__WORDS=32

export SCHEMATHESIS_HOOKS=schemathesis_hooks PYTHONPATH="$scratch"
cp tests/schemathesis.py "$scratch/schemathesis_hooks.py" # by its own name it would hide the tool
export AKIN_URL="http://$address" AKIN_API_KEY="$key"
# Without the check `positive_data_acceptance`: a schema cannot say which texts are filters, which
# fields a collection has and which ids are stored, so valid values may be refused.
cd "$scratch" # where it leaves a cache
"$root/target/schemathesis/bin/schemathesis" run "$root/openapi.yaml" \
    --url "http://$address" --header "Authorization: Bearer $key" \
    --checks all --exclude-checks positive_data_acceptance \
    --max-examples 10 --seed 1 --workers 1 --no-shrink --generation-database none --no-color \
    --warnings off || { tail -5 "$scratch/log"; exit 1; }
"$python" "$scratch/schemathesis_hooks.py" "$scratch/log" "$root/openapi.yaml"
