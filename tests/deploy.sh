#!/usr/bin/env bash
# Alert rules, unit, manual pages, image and workflows, by the tools that read them or by what they
# must say. What they have to do with the server is tested by tests/cli/deploy.rs. `install` only
# installs what is needed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

promtool=$(command -v promtool || echo "$root/target/promtool/usr/bin/promtool")
if [ ! -x "$promtool" ] && command -v apt-get > /dev/null; then
    # The program alone: the package would start a server.
    mkdir -p target/promtool
    # A fresh runner has no list of packages, and an old list names versions that are gone.
    sudo=$([ "$(id -u)" = 0 ] || echo sudo)
    $sudo apt-get update -qq
    (cd target/promtool && apt-get download -qq prometheus && dpkg -x prometheus_*.deb .)
fi
# The image is run where this is root.
tools=(buildah podman runc)
if [ "$(id -u)" = 0 ] && command -v apt-get > /dev/null \
    && [ "$(command -v "${tools[@]}" | wc -l)" -lt ${#tools[@]} ]; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        "${tools[@]}" ca-certificates > /dev/null
fi
[ "${1:-}" != install ] || exit 0
(cd deploy/prometheus && "$promtool" check rules akin.rules.yml \
    && "$promtool" test rules akin.rules.test.yml)

fault() {
    echo "$*" >&2
    exit 1
}

# The image: bases by digest, no frontend that a registry has to have, numbers for users.
! grep -n '^# *syntax=' Dockerfile || fault "Dockerfile: the frontend comes from a registry"
! grep '^FROM' Dockerfile | grep -vE '@sha256:[0-9a-f]{64}( AS [a-z]+)?$|^FROM scratch$' \
    || fault "Dockerfile: a base has no digest"
grep -q '^USER 10001:10001$' Dockerfile || fault "Dockerfile: no user and group by number"
for cached in /usr/local/cargo/registry /src/target; do
    grep -q "type=cache,target=$cached" Dockerfile || fault "Dockerfile: $cached is not cached"
done
for label in version revision source; do
    grep -q "org.opencontainers.image.$label=\"\$AKIN_" Dockerfile || fault "Dockerfile: no $label"
done
# An allow-list has everything that is built from, and nothing else.
[ "$(grep -v '^#' .dockerignore | head -1)" = '*' ] || fault ".dockerignore is no allow-list"
while read -r path; do
    compgen -G "$path" > /dev/null || fault ".dockerignore: $path does not exist"
done < <(sed -n 's/^!//p' .dockerignore)
while read -r included; do
    grep -qxF "!$included" .dockerignore || fault ".dockerignore: the build needs $included"
done < <(grep -rhoE 'include_(str|bytes)!\("\.\./\.\./[^"]+' src | sed 's|.*"\.\./\.\./||' | sort -u)

# What is released: packages first, then the image; a pre-release is not the latest.
release=.github/workflows/release.yml
grep -A3 '^  image:' $release | grep -q 'needs: \[packages, aarch64\]$' || fault "$release: pushes before packages"
! grep -E 'systemd-analyze|--tag .*:latest|push --all-tags' $release || fault "$release: see above"
grep -q -- '\*-\*) ;;' $release || fault "$release: a pre-release would be the latest"
sed -n '/^  deploy:/,$p' .github/workflows/ci.yml | grep -q 'cargo build .*--bin akin' \
    || fault "ci.yml: the job deploy does not build what it checks"
! grep -rn --include='*.sh' --exclude=check-unit.sh -e '--offline=true' packaging \
    || fault "systemd-analyze is not asked first whether it has that option"
for built in Dockerfile packaging/deb.sh packaging/archive.sh; do
    grep -qE 'cargo (build|\$build) --release --locked --features full --config packaging/profile.toml ' $built \
        || fault "$built: a released binary has every feature, and packaging/profile.toml"
done
synopsis=$(sed -n 's/^description = "\(.*\)"/\1/p' Cargo.toml | head -1)
[ ${#synopsis} -lt 80 ] || fault "Cargo.toml: the description wraps into the package's synopsis"

# What crates.io gets: the sources of the crates, their licences and pages.
for package in akin $(ls crates); do
    listed=$(cargo package --locked --quiet --allow-dirty --list -p $package 2> /dev/null)
    foreign=$(grep -vxE -e 'src/.*\.[a-z]+' -e 'config/default.toml|(README|CHANGELOG).md' \
        -e 'LICENSE-(MIT|APACHE)|Cargo.(lock|toml|toml.orig)|.cargo_vcs_info.json' <<< "$listed" || true)
    [ -z "$foreign" ] || fault "the crate $package has files that it does not need: $foreign"
    for licence in LICENSE-MIT LICENSE-APACHE README.md; do
        grep -qx $licence <<< "$listed" || fault "the crate $package has no $licence"
    done
done

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
akin="$root/target/debug/akin"
[ -x "$akin" ] || cargo build --locked --all-features --bin akin
python3 tests/rules.py "$promtool" "$akin"
bash packaging/documentation.sh "$scratch" "$akin"
if command -v groff > /dev/null; then
    warnings=$(groff -man -ww -z -Tutf8 "$scratch"/man/*.1 2>&1)
    [ -z "$warnings" ] || { echo "$warnings"; exit 1; }
fi
bash -n "$scratch/completions/akin.bash"
for script in packaging/*.sh packaging/debian/*inst packaging/debian/*rm; do bash -n "$script"; done

sed "s|/usr/bin/akin|$akin|" packaging/akin.service > "$scratch/akin.service"
bash packaging/check-unit.sh "$scratch/akin.service"

# A binary of the tests in place of a release: how large the image may be is asked by `just image`.
mkdir "$scratch"/{lower,upper,work,merged}
if [ "$(id -u)" = 0 ] && command -v buildah > /dev/null && unshare --mount mount -t overlay overlay \
    -o "lowerdir=$scratch/lower,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/merged"; then
    bash packaging/test-image.sh "$akin"
else
    why="packaging/test-image.sh: containers need root, overlays, buildah, podman and runc"
    echo "not run: $why"
    [ -z "${AKIN_TEST_NOT_RUN:-}" ] || echo "$why" >> "$AKIN_TEST_NOT_RUN"
fi
