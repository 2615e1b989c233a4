#!/usr/bin/env bash
# check-unit.sh UNIT: what systemd says of a unit, as far as the systemd of this machine can.
set -euo pipefail
command -v systemd-analyze > /dev/null || exit 0
systemd-analyze verify --man=no "$1"
# Since version 250.
case $(systemd-analyze --help) in
    *--offline=*) systemd-analyze security --offline=true --threshold=20 "$1" | tail -1 ;;
esac
