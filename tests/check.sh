#!/usr/bin/env bash
# Everything that must hold before a change goes in. Installs what it needs on a bare Debian with Rust.
set -euo pipefail
cd "$(dirname "$0")/.."

need=()
command -v cc > /dev/null || need+=(gcc libc6-dev)
command -v make > /dev/null || need+=(make) # jemalloc
command -v curl > /dev/null || need+=(curl)
python3 -c 'import ensurepip, venv' 2> /dev/null || need+=(python3 python3-venv) # schemathesis
command -v node > /dev/null || need+=(nodejs) # clients/js
command -v npm > /dev/null || need+=(npm)
if [ ${#need[@]} -gt 0 ]; then
    sudo=$([ "$(id -u)" = 0 ] || echo sudo)
    $sudo apt-get update -qq
    $sudo apt-get install -y -qq --no-install-recommends "${need[@]}" ca-certificates
fi
# The servers of tests/cluster. The packages of the tools have them, too, and no service.
if ! command -v valkey-server redis-server valkey-check-rdb redis-check-rdb > /dev/null; then
    sudo=$([ "$(id -u)" = 0 ] || echo sudo)
    $sudo apt-get update -qq
    tools=$(apt-cache show valkey-tools > /dev/null 2>&1 && echo valkey-tools || echo redis-tools)
    $sudo apt-get install -y -qq --no-install-recommends "$tools"
fi
for component in rustfmt clippy; do
    cargo "${component/rust/}" --version > /dev/null 2>&1 || rustup component add "$component"
done

cargo fmt --check
# One command for both packages: they then share the dependencies that they check.
cargo clippy --locked --workspace --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --document-private-items
# It takes minutes to build, so it is not installed here; `just deny` says how.
if cargo deny --version > /dev/null 2>&1; then
    cargo deny --locked check bans licenses sources
fi
cargo test --locked
bash tests/deploy.sh
bash tests/schemathesis.sh
bash tests/clients.sh
bash tests/join.sh
bash tests/console.sh
