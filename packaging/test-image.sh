#!/usr/bin/env bash
# test-image.sh BINARY [MEGABYTES]: builds the image of the Dockerfile with this binary in place of its
# first stage, and runs it as docker-compose.yml does. With MEGABYTES the image may not be larger.
# Needs root, buildah, podman and runc; neither a network nor the storage that podman has on this
# machine. Processes, mounts and files are gone at the end.
set -euo pipefail
if [ "${AKIN_TEST_IMAGE:-}" != apart ]; then
    [ "$(id -u)" = 0 ] || { echo "it runs containers: run it as root"; exit 1; }
    scratch=$(mktemp -d) cgroup=akin-test-image-$$
    end() {
        rm -rf "$scratch"
        find /sys/fs/cgroup -depth -type d -path "*/$cgroup*" -exec rmdir {} + 2> /dev/null || true
    }
    trap end EXIT
    AKIN_TEST_IMAGE=apart scratch=$scratch cgroup=$cgroup \
        unshare --mount --pid --fork --kill-child --mount-proc bash "$0" "$@"
    exit
fi
cd "$(dirname "$0")/.."
binary=$1 most=${2:-}

cat > "$scratch/storage.conf" << END
[storage]
driver = "overlay"
graphroot = "$scratch/storage"
runroot = "$scratch/run"
END
cat > "$scratch/containers.conf" << END
[containers]
# The default is more than a machine may permit.
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
tmp_dir = "$scratch/libpod"
[network]
network_config_dir = "$scratch/networks"
END
echo '{"default": [{"type": "insecureAcceptAnything"}]}' > "$scratch/policy.json"
export CONTAINERS_STORAGE_CONF="$scratch/storage.conf" CONTAINERS_CONF="$scratch/containers.conf"
export BUILDAH_ISOLATION=chroot TMPDIR="$scratch" DISABLE_HC_SYSTEMD=true

fault() {
    echo "the image: $*" >&2
    exit 1
}
# As docker-compose.yml confines it, with less memory and no network.
confined() { # NAME COMMAND...
    podman run --name "$1" --cgroup-parent "$cgroup" --network none --add-host akin:127.0.0.1 \
        --env AKIN__SERVER__HOSTS='["akin"]' --env AKIN__LOG__LEVEL=info --volume documents:/data \
        --read-only --tmpfs /tmp --cap-drop all --security-opt no-new-privileges \
        --memory 512m --memory-swap 512m --pids-limit 512 "${@:2}"
}
# The first process of a container gets no signal before it handles it.
wait_until_healthy() { # NAME
    for _ in $(seq 300); do
        podman healthcheck run "$1" > /dev/null 2>&1 && return
        [ "$(state "$1" Running)" = true ] || break
        sleep 0.1
    done
    podman logs "$1"
    fault "the server does not become healthy"
}
stop() { # NAME
    podman stop --time 60 "$1" > /dev/null
    [ "$(state "$1" ExitCode)" = 0 ] || { podman logs "$1"; fault "SIGTERM ends it with $(state "$1" ExitCode)"; }
}
state() { podman inspect --format "{{.State.$2}}" "$1"; }
documents() { call "$1" stats --json | sed -n 's/.*"documents": *\([0-9]*\).*/\1/p' | head -1; }
call() { podman exec --interactive --env AKIN_API_KEY="$key" "$1" akin "${@:2}"; }

# The image.
bash packaging/image-root.sh "$binary" "$scratch/stage/image"
tar -C "$scratch/stage" -c . | podman import --quiet - localhost/stage:build > /dev/null
buildah build --quiet --format docker --build-arg AKIN_VERSION=1.2.3 --tag akin \
    --build-context build=docker-image://localhost/stage:build . > "$scratch/log" 2>&1 \
    || { cat "$scratch/log"; fault "it cannot be built"; }
version='{{index .Labels "org.opencontainers.image.version"}}'
[ "$(podman inspect --format "$version" akin)" = 1.2.3 ] || fault "it has no version"
podman create --name files akin > /dev/null
podman export files > "$scratch/files.tar"
tar -tvf "$scratch/files.tar" | grep -E '^-..[sS]|^-.{5}[sS]|/(ba|da|)sh$' && fault "see above"
tar -xOf "$scratch/files.tar" etc/ssl/certs/ca-certificates.crt > "$scratch/authorities"
grep -q 'BEGIN CERTIFICATE' "$scratch/authorities" || fault "it knows no authorities"
bytes=$(podman inspect --format '{{.Size}}' akin)
[ -z "$most" ] || [ "$bytes" -le $((most * 1000000)) ] || fault "it has $bytes bytes"

# It listens for other machines, so it starts only with a key.
podman volume create documents > /dev/null
! confined keyless akin > "$scratch/log" 2>&1 || fault "it starts without a key"
grep -q 'akin keys create' "$scratch/log" || { cat "$scratch/log"; fault "no word of keys"; }
key=$(confined keys --rm akin keys create --name operator --actions read,write,admin)

# A server, and its documents.
confined first --detach akin > /dev/null
wait_until_healthy first
kept=$(podman volume inspect --format '{{.Mountpoint}}' documents)
[ "$(stat -c %u:%g "$kept" "$kept/collections" | sort -u)" = 10001:10001 ] || fault "owners"
process=/proc/$(state first Pid)
grep -qP '^Uid:\t10001\t10001\t10001\t10001$' "$process/status" || fault "it runs as another user"
grep -qP '^CapEff:\t0+$' "$process/status" || fault "it has capabilities"
podman logs first > "$scratch/log" 2>&1
grep -q '"memory_max":268435456' "$scratch/log" || fault "it does not see its 512 MiB"
# By its name: libraries that resolve names are there, too.
call first health --url http://akin:2546
awk 'BEGIN { srand(1); for (id = 1; id <= 20000; id++) {
    text = ""; for (word = 0; word < 50; word++) text = text " " int(rand() * 100000)
    printf "{\"id\": \"%d\", \"text\": \"%s\"}\n", id, text } }' > "$scratch/documents.jsonl"
call first import - --quiet < "$scratch/documents.jsonl"
[ "$(documents first)" = 20000 ] || fault "documents are missing"
[ "$(state first OOMKilled)" = false ] || fault "512 MiB are too little"
stop first
ls "$kept"/collections/default/snapshots | grep -q . || fault "it stops without a snapshot"

# The same container, and a new one, have them again.
podman start first > /dev/null
wait_until_healthy first
stop first
confined second --detach akin > /dev/null
wait_until_healthy second
[ "$(documents second)" = 20000 ] || fault "documents are lost"
stop second
echo "the image: $bytes bytes; it serves, stops and keeps 20000 documents in 512 MiB"
