#!/usr/bin/env bash
# Everything that must hold before a change goes in: the test command of README.md, and beside it
# lints, documentation and the scripts. Installs what it needs on a bare Debian with Rust. It goes on
# after a failure, and fails at its end.
set -euo pipefail
cd "$(dirname "$0")/.."

need=()
command -v cc > /dev/null || need+=(gcc libc6-dev)
command -v make > /dev/null || need+=(make) # jemalloc, of the feature `full`
command -v curl > /dev/null || need+=(curl)
python3 -c 'import ensurepip, venv' 2> /dev/null || need+=(python3 python3-venv) # schemathesis
command -v node > /dev/null || need+=(nodejs) # clients/js
compgen -G "/usr/lib/postgresql/*/bin/initdb" > /dev/null || need+=(postgresql) # tests/postgres
[ -x /usr/sbin/haproxy ] || need+=(haproxy) # tests/postgres
command -v npm > /dev/null || need+=(npm)
if [ ${#need[@]} -gt 0 ]; then
    sudo=$([ "$(id -u)" = 0 ] || echo sudo)
    $sudo apt-get update -qq
    $sudo apt-get install -y -qq --no-install-recommends "${need[@]}" ca-certificates
fi
for component in rustfmt clippy; do
    cargo "${component/rust/}" --version > /dev/null 2>&1 || rustup component add "$component"
done

# A first build goes without what serves the next builds.
[ -d target/debug ] || export CARGO_INCREMENTAL=0

# The names of tests that returned early, as the machine lacks something.
export AKIN_TEST_NOT_RUN=$PWD/target/not-run.txt
mkdir -p target
: > "$AKIN_TEST_NOT_RUN"

failed=()
check() { # COMMAND...
    echo "-- $*"
    "$@" || failed+=("$*")
}

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
    wait "${beside[$1]}" || failed+=("$1")
    unset "beside[$1]"
    echo "== $1"
    cat "$outputs/$1"
}
end() {
    for group in "${beside[@]}"; do kill -- "-$group" 2> /dev/null || true; done
    wait
    rm -rf "$outputs"
}
trap end EXIT

scripts=(deploy clients generators schemathesis join console)
install_tools() {
    failed=()
    for script in "${scripts[@]}"; do check bash "tests/$script.sh" install; done
    end_with_failures
}
# `--examples`, of which there are none, turns on the features of the tests: so what has been checked
# of the dependencies serves for all three.
lint_and_document() {
    check cargo clippy --locked --workspace --all-features --all-targets -- -D warnings
    check cargo clippy --locked --no-default-features --lib --bins --examples -- -D warnings
    check cargo clippy --locked --manifest-path bench/Cargo.toml --target-dir target/bench -- -D warnings
    check env RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --all-features --no-deps \
        --document-private-items --lib --examples
    # It takes minutes to build, so it is not installed here; `just deny` says how.
    if cargo deny --version > /dev/null 2>&1; then
        check cargo deny --locked check bans licenses sources
    fi
}
run_the_rest() {
    failed=()
    lint_and_document
    for script in "${scripts[@]}"; do check bash "tests/$script.sh"; done
    end_with_failures
}
end_with_failures() {
    [ ${#failed[@]} = 0 ] || printf 'failed: %s\n' "${failed[@]}"
    [ ${#failed[@]} = 0 ]
}

check cargo fmt --check
check cargo fmt --check --manifest-path bench/Cargo.toml
run_beside "tools" install_tools
cargo test --workspace --all-features --no-run
wait_for "tools"
# Neither keeps two cores busy.
run_beside "lints, documentation and scripts" run_the_rest
check cargo test --workspace --all-features
wait_for "lints, documentation and scripts"

if [ -s "$AKIN_TEST_NOT_RUN" ]; then
    echo "$(wc -l < "$AKIN_TEST_NOT_RUN") tests were not run:"
    sort "$AKIN_TEST_NOT_RUN"
fi
end_with_failures
