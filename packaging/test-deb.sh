#!/usr/bin/env bash
# Installs the package of `just deb` on this machine as root, starts the installed service's command
# with the installed configuration, and removes the package again: on a machine to throw away.
set -euo pipefail
cd "$(dirname "$0")/.."
deb=${1:-$(ls -t target/debian/akin_*.deb | head -1)}
[ "$(id -u)" = 0 ] || { echo "it installs a package: run it as root"; exit 1; }
! dpkg -s akin > /dev/null 2>&1 || { echo "akin is installed already: not touched"; exit 1; }

server=
finish() {
    [ -z "$server" ] || kill "$server" 2> /dev/null || true
    dpkg --purge akin > /dev/null 2>&1 || true
}
trap finish EXIT

# Without systemd the package installs, too; the service is then not started.
apt-get install -y -qq --no-install-recommends "$PWD/${deb#"$PWD/"}" > /dev/null
unit=/lib/systemd/system/akin.service
[ -f $unit ] || unit=/usr/lib/systemd/system/akin.service
for file in /usr/share/man/man1/akin{,-serve,-keys-create}.1.gz \
    /usr/share/bash-completion/completions/akin /usr/share/zsh/vendor-completions/_akin \
    /usr/share/fish/vendor_completions.d/akin.fish /usr/share/doc/akin/copyright $unit; do
    [ -s "$file" ] || { echo "$file is missing"; exit 1; }
done
dpkg-query -W -f='${Conffiles}' akin | grep -q /etc/akin/akin.toml
bash packaging/check-unit.sh $unit

command=$(sed -n 's/^ExecStart=//p' $unit)
export AKIN_URL=http://127.0.0.1:2546
# The package starts the service where systemd runs, which may take longer than the installation.
if [ ! -d /run/systemd/system ]; then
    setpriv --reuid akin --regid akin --clear-groups $command 2> /tmp/akin-test-deb.log &
    server=$!
fi
for _ in $(seq 100); do
    akin health 2> /dev/null && break
    sleep 0.1
done
akin health
# A synopsis is one line, and the description is below it.
[ "$(dpkg-query -W -f='${binary:Synopsis}' akin)" = "$(sed -n 's/^description = "\(.*\)"/\1/p' Cargo.toml | head -1)" ]
printf '%s\n' '{"id": "a", "text": "one two three four five six"}' \
    '{"id": "b", "text": "one two three four five six"}' | akin import - --json > /dev/null
akin similar --id a 2> /dev/null | grep -q '^1.0000  b$'
[ "$(stat -c %U /var/lib/akin/collections)" = akin ]
if [ -n "$server" ]; then
    kill "$server"
    wait "$server"
    server=
fi

dpkg --remove akin > /dev/null
[ ! -e /usr/bin/akin ] && [ -e /etc/akin/akin.toml ] && [ -d /var/lib/akin/collections ]
dpkg --purge akin > /dev/null 2>&1
[ ! -e /etc/akin/akin.toml ] && [ -d /var/lib/akin/collections ]
rm -rf /var/lib/akin
echo "$deb: installs, serves, and leaves nothing but documents"
