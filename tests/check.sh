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
for component in rustfmt clippy; do
    cargo "${component/rust/}" --version > /dev/null 2>&1 || rustup component add "$component"
done

# A first build goes without what serves the next builds and debuggers.
[ -d target/debug ] || export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0

# The names of tests that returned early, as the machine lacks something.
export AKIN_TEST_NOT_RUN=$PWD/target/not-run.txt
mkdir -p target
: > "$AKIN_TEST_NOT_RUN"

# What runs beside something else writes into a file, which is shown when it is waited for.
declare -A beside
outputs=$(mktemp -d)
run_beside() { # NAME COMMAND...
    set -m # a process group of its own, which can be ended as one
    "${@:2}" < /dev/null > "$outputs/$1" 2>&1 &
    set +m
    beside[$1]=$!
}
wait_for() { # NAME
    local status=0
    wait "${beside[$1]}" || status=$?
    unset "beside[$1]"
    echo "== $1"
    cat "$outputs/$1"
    return $status
}
end() {
    for group in "${beside[@]}"; do kill -- "-$group" 2> /dev/null || true; done
    wait
    rm -rf "$outputs"
}
trap end EXIT

scripts=(deploy clients generators schemathesis join console)
install_tools() {
    for script in "${scripts[@]}"; do bash "tests/$script.sh" install; done
}
# `--examples`, of which there are none, turns on the features of the tests: so what clippy has
# checked of the dependencies serves here, too.
document_and_run_the_rest() {
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --all-features --no-deps --document-private-items --lib --examples
    for script in "${scripts[@]}"; do
        echo "-- tests/$script.sh"
        bash "tests/$script.sh"
    done
}

cargo fmt --check
run_beside "tools" install_tools
# One command for both packages: they then share the dependencies that they check.
cargo clippy --locked --all-features --workspace --all-targets -- -D warnings
# Without the optional parts, too.
cargo clippy --locked --no-default-features --lib --bins -- -D warnings
# It takes minutes to build, so it is not installed here; `just deny` says how.
if cargo deny --version > /dev/null 2>&1; then
    cargo deny --locked check bans licenses sources
fi
cargo test --locked --all-features --no-run
wait_for "tools"

# Neither keeps two cores busy.
run_beside "docs and scripts" document_and_run_the_rest
cargo test --locked --all-features --no-fail-fast
wait_for "docs and scripts"

if [ -s "$AKIN_TEST_NOT_RUN" ]; then
    echo "$(wc -l < "$AKIN_TEST_NOT_RUN") tests were not run:"
    sort "$AKIN_TEST_NOT_RUN"
fi
