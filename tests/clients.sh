#!/usr/bin/env bash
# The clients against real servers: Python (types, tests, examples) and JavaScript (types, tests).
# `install` only installs what is needed; `generate` writes what is made of openapi.yaml
# and of the JavaScript client.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

export AKIN_BIN="${AKIN_BIN:-$root/target/debug/akin}"
venv="$root/target/clients/python"
wanted=clients/python/tests/requirements.txt
if ! cmp -s $wanted "$venv/installed.txt"; then
    python3 -m venv --clear "$venv"
    # Most of what is installed is never imported: compiling all of it would take as long again.
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile -r $wanted
    cp $wanted "$venv/installed.txt"
fi
# The compiler is installed elsewhere, so that nothing is written among the sources.
tools="$root/target/clients/js"
if ! cmp -s clients/js/package-lock.json "$tools/package-lock.json"; then
    rm -rf "$tools" && mkdir -p "$tools/new"
    cp clients/js/package.json clients/js/package-lock.json clients/js/.npmrc "$tools/new"
    (cd "$tools/new" && npm ci --silent --no-progress)
    mv "$tools"/new/* "$tools"
fi
[ "${1:-}" != install ] || exit 0

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
[ "${1:-}" = generate ] || check=--check
"$venv/bin/python" clients/generate.py ${check:-}
(cd clients/js && "$tools/node_modules/.bin/tsc" -p . --noEmit false --declaration --emitDeclarationOnly \
    --outDir "$scratch/types")
for made in index.d.ts errors.d.ts operations.d.ts; do
    [ "${1:-}" != generate ] || cp "$scratch/types/src/$made" clients/js/src
    diff -u "clients/js/src/$made" "$scratch/types/src/$made"
done
[ "${1:-}" != generate ] || exit 0

# Installed as a user has it, so that a file missing from the package is noticed.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps \
    --no-build-isolation --force-reinstall "$root/clients/python"
sources=(src examples tests hatch_build.py ../generate.py ../generate_methods.py ../generate_types.py)
(cd clients/python && "$venv/bin/ruff" check --no-cache --config pyproject.toml "${sources[@]}" &&
    "$venv/bin/ruff" format --no-cache --config pyproject.toml --check "${sources[@]}" &&
    "$venv/bin/mypy" --cache-dir "$root/target/clients/mypy" &&
    PYTHONPYCACHEPREFIX="$root/target/clients/bytecode" "$venv/bin/python" -m pytest)

# The wheel with the command, as a new user has it.
rm -rf target/wheels
bash packaging/test-wheel.sh "$(bash packaging/wheel.sh "$AKIN_BIN" linux_x86_64)"

(cd clients/js && "$tools/node_modules/.bin/tsc" -p . && node --test test/*.test.js)

# The package of npm has what is imported and nothing else, and can be installed alone.
(cd clients/js && npm pack --silent --pack-destination "$scratch")
cmp LICENSE-MIT clients/js/LICENSE-MIT && cmp LICENSE-APACHE clients/js/LICENSE-APACHE
tar -tzf "$scratch"/akin-client-*.tgz | sort | diff - <(printf 'package/%s\n' LICENSE-APACHE LICENSE-MIT \
    README.md package.json src/bulk.js src/errors.d.ts src/errors.js src/exchange.js src/index.d.ts \
    src/index.js src/operations.d.ts src/operations.js src/types.d.ts src/types.js)
cd "$scratch"
npm install --silent --offline --no-audit --no-fund ./akin-client-*.tgz
node --input-type=module --eval 'import { Client } from "akin-client"; new Client();'
