#!/usr/bin/env bash
# test-archive.sh [SUITE]: unpacks the archive in a minimal root of an old Debian, and dedups there.
# Needs root, debootstrap and the network.
set -euo pipefail
cd "$(dirname "$0")/.."
archive=$(ls -t "$PWD"/target/archive/akin-*-"$(uname -m)"-*.tar.gz | head -1)
(cd target/archive && sha256sum --check --quiet --ignore-missing SHA256SUMS)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
debootstrap --variant=minbase "${1:-bullseye}" "$root" > "$root.log" 2>&1 || { tail "$root.log"; exit 1; }
tar -C "$root" --strip-components=1 -xzf "$archive"
printf '%s\n' '{"id": "a", "text": "one two three four five six"}' \
    '{"id": "b", "text": "one two three four five six"}' > "$root/in.jsonl"
chroot "$root" /akin dedup /in.jsonl -o /out.jsonl --quiet
[ "$(cat "$root/out.jsonl")" = "$(head -1 "$root/in.jsonl")" ]
chroot "$root" /bin/bash -ec '/akin serve --listen 127.0.0.1:26462 --data-dir /data 2> /log & server=$!
    until /akin health --url http://127.0.0.1:26462 2> /dev/null; do sleep 0.1; done
    /akin import /in.jsonl --url http://127.0.0.1:26462 --quiet
    kill $server; wait $server'
echo "$archive runs with $(chroot "$root" ldd --version | head -1)"
