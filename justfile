# What developers run. `check` is what CI runs.

# Formatting, lints, documentation, tests.
check:
    bash tests/check.sh

# The tests alone.
test *ARGS:
    cargo test --locked --all-features {{ARGS}}

# Random operations against a plain model, with new seeds for so many seconds.
model SECONDS="600":
    AKIN_MODEL_SECONDS={{SECONDS}} cargo test --locked --release --test model -- --nocapture

# Mixed load at twice the capacity for so many seconds: latencies, memory, refusals, losses.
soak SECONDS="600":
    AKIN_SOAK_SECONDS={{SECONDS}} cargo test --locked --release --test soak -- --nocapture

# What threads share, watched by ThreadSanitizer (`rustup toolchain install nightly --component rust-src`).
tsan *TESTS="index:: backend::in_flight backend::local budget storage:: engine::collections":
    RUSTFLAGS=-Zsanitizer=thread TSAN_OPTIONS=suppressions=$PWD/tests/tsan.supp cargo +nightly test --locked --lib \
        -Zbuild-std --target x86_64-unknown-linux-gnu --target-dir target/tsan -- --test-threads 4 {{TESTS}}

# Every kind of request that openapi.yaml describes, to a server of its own (schemathesis, from PyPI).
schemathesis:
    bash tests/schemathesis.sh

# openapi.yaml with a linter and generators of clients (redocly, openapi-typescript, openapi-python-client).
generators:
    bash tests/generators.sh

# Licences, sources, duplicates and advisories of the dependencies (`cargo install --locked cargo-deny`).
deny:
    cargo deny --locked check

# What a binary contains, as CycloneDX (`cargo install --locked cargo-cyclonedx`): akin.cdx.json.
sbom:
    cargo cyclonedx --format json --target x86_64-unknown-linux-gnu

# The Debian package, in target/debian (`cargo install --locked cargo-deb`).
deb:
    bash packaging/deb.sh

# Installs that package on this machine, starts it, and removes it again: on a machine to throw away.
test-deb:
    sudo bash packaging/test-deb.sh

# The portable archive, in target/archive (musl-tools; `rustup target add x86_64-unknown-linux-musl`).
archive TARGET="x86_64-unknown-linux-musl":
    bash packaging/archive.sh {{TARGET}}

# The Python wheel with that archive's binary, in target/wheels.
wheel TARGET="x86_64-unknown-linux-musl": (archive TARGET)
    bash packaging/wheel.sh {{TARGET}}

# A new environment that uses the wheel for x86-64, also in a minimal root of a Debian, as trixie (root, debootstrap).
test-wheel SUITE="":
    bash packaging/test-wheel.sh target/wheels/*_x86_64.whl {{SUITE}}

# Runs that archive in a minimal root of Debian 11 (debootstrap).
test-archive:
    sudo bash packaging/test-archive.sh

# The image with a release binary: its size, and a server in it (root, buildah, podman, runc). Its first stage, which
# builds that binary in a container, is left out: `docker build .` has it.
image:
    cargo build --release --locked --features full --config packaging/profile.toml --bin akin
    sudo bash packaging/test-image.sh target/release/akin 60

# Kubernetes' schemas, alert rules, Dockerfile, workflows, unit and manual pages.
deploy-check:
    bash packaging/check-deploy.sh

# Writes into README.md and docs/ what their commands print, and draws their plots.
docs:
    UPDATE=1 cargo test --locked --all-features --test readme

# Rewrites openapi.yaml from the code, and the clients' types and methods from openapi.yaml (PyYAML).
openapi:
    cargo run --quiet -- openapi > target/openapi.yaml && mv target/openapi.yaml openapi.yaml
    python3 clients/generate.py

# Times the core (text, sketch, keys), the index, the join, the store, a start, crowds and the server; FILE is an optional corpus.
bench FILE="":
    cargo bench -p akin-core --bench core -- {{FILE}}
    cargo bench -p akin-core --bench index -- {{FILE}}
    cargo bench -p akin-core --bench scan
    cargo bench -p akin-core --bench join
    cargo bench --features jemalloc --bench storage
    cargo bench --features jemalloc --bench start
    cargo bench --features jemalloc --bench crowd
    cargo bench --features jemalloc --bench http
    cargo bench --features jemalloc --bench nearest

# What a running server finds of a corpus imported into it, against brute force.
recall FILE URL="http://127.0.0.1:2546":
    cargo bench --bench recall -- {{FILE}} {{URL}}

# akin beside its peers: tables and plots in bench/report. FILE is a corpus; without it a million documents are made up.
peers *ARGS:
    bash bench/run.sh {{ARGS}}

# Fuzzes a target for so many seconds (`cargo install cargo-fuzz`): text, json, ndjson, query, filter, snapshot, record,
# backup or formats. What it finds goes to target/corpus; what belongs to the tests is copied to fuzz/corpus by hand.
fuzz TARGET SECONDS="300":
    mkdir -p target/corpus/{{TARGET}}
    cargo +nightly fuzz run {{TARGET}} target/corpus/{{TARGET}} fuzz/corpus/{{TARGET}} -- \
        -max_total_time={{SECONDS}} -max_len=20000 -malloc_limit_mb=512 -timeout=60
