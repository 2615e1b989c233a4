#!/usr/bin/env bash
# Alert rules, unit and manual pages, by the tools that read them. What metrics they name is tested
# by tests/cli/deploy.rs. `install` only installs what is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

promtool=$(command -v promtool || echo "$root/target/promtool/usr/bin/promtool")
if [ ! -x "$promtool" ] && command -v apt-get > /dev/null; then
    # The program alone: the package would start a server.
    mkdir -p target/promtool
    (cd target/promtool && apt-get download -qq prometheus && dpkg -x prometheus_*.deb .)
fi
[ "${1:-}" != install ] || exit 0
(cd deploy/prometheus && "$promtool" check rules akin.rules.yml \
    && "$promtool" test rules akin.rules.test.yml)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
akin="$root/target/debug/akin"
bash packaging/documentation.sh "$akin" "$scratch"
if command -v groff > /dev/null; then
    warnings=$(groff -man -ww -z -Tutf8 "$scratch"/man/*.1 2>&1)
    [ -z "$warnings" ] || { echo "$warnings"; exit 1; }
fi
bash -n "$scratch/completions/akin.bash"
for script in packaging/*.sh packaging/debian/*inst packaging/debian/*rm; do bash -n "$script"; done

if command -v systemd-analyze > /dev/null; then
    sed "s|/usr/bin/akin|$akin|" packaging/akin.service > "$scratch/akin.service"
    systemd-analyze verify --man=no "$scratch/akin.service"
    systemd-analyze security --offline=true --threshold=20 "$scratch/akin.service" | tail -1
fi
