#!/usr/bin/env bash
# The console, /docs and the JavaScript client in Debian's Chromium, on servers of the tests' own. With AKIN_PICTURES=1 the
# pictures in docs/images are taken anew. `install` only installs what is needed.
set -euo pipefail
cd "$(dirname "$0")/.."

need=()
command -v chromium > /dev/null || need+=(chromium)
command -v node > /dev/null || need+=(nodejs)
command -v npm > /dev/null || need+=(npm)
if [ ${#need[@]} -gt 0 ]; then
    sudo=$([ "$(id -u)" = 0 ] || echo sudo)
    $sudo apt-get update -qq
    $sudo apt-get install -y -qq --no-install-recommends "${need[@]}"
fi

cd tests/console
if ! cmp -s package-lock.json node_modules/installed.json; then
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
    cp package-lock.json node_modules/installed.json
fi
[ "${1:-}" != install ] || exit 0
# Not `cargo build`: without the features of the tests it would build the dependencies once more.
cargo test --quiet --locked --all-features --no-run --test http
CHROMIUM=$(command -v chromium) node --test ./*.test.mjs
