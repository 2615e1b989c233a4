# What is built from is pinned by digest. `docker buildx imagetools inspect NAME:TAG` prints the
# digest of a newer one; Dependabot proposes them (.github/dependabot.yml).
FROM rust:1.98.1-slim-trixie@sha256:4cd829461bd5c4d511c32e269da9cb8929223b666519d8004e35fc8d1d771ab7 AS build
# The bundled SQLite, jemalloc and zstd are C.
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates gcc libc6-dev make pkg-config \
    && rm -rf /var/lib/apt/lists/*
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
WORKDIR /src
COPY . .
# Shown by the metric akin_build_info.
ARG AKIN_REVISION
# The dependencies stay in the cache. Cargo wants to see every target that Cargo.toml names, and the
# benches are not in the context.
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target,sharing=locked \
    echo 'fn main() {}' > /tmp/main.rs \
    && for package in . crates/*; do \
        mkdir -p "$package/benches"; \
        sed -n '/^\[\[bench/{n;s|^name = "\(.*\)"|\1|p}' "$package/Cargo.toml" \
            | xargs -I NAME cp /tmp/main.rs "$package/benches/NAME.rs"; \
    done \
    && touch src/main.rs src/lib.rs crates/*/src/lib.rs \
    && cargo build --release --locked --features full --config packaging/profile.toml --bin akin \
    && bash packaging/image-root.sh target/release/akin /image

# The command, glibc and the certificates of the authorities: no shell, no package manager, nothing setuid.
FROM scratch
ARG AKIN_REVISION
ARG AKIN_SOURCE
ARG AKIN_VERSION
LABEL org.opencontainers.image.title="akin" \
      org.opencontainers.image.description="Near-duplicate search server: MinHash LSH with exact Jaccard verification" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0" \
      org.opencontainers.image.version="$AKIN_VERSION" \
      org.opencontainers.image.revision="$AKIN_REVISION" \
      org.opencontainers.image.source="$AKIN_SOURCE"
COPY --from=build /image/root /
# A volume that is new takes its owner from here. (A directory that is there already would keep its own.)
COPY --from=build --chown=10001:10001 /image/data /data
USER 10001:10001
# Reached from outside the container, so it starts only with a key (`keys create`) or --no-keys.
ENV AKIN__SERVER__LISTEN=0.0.0.0:2546 \
    AKIN__STORAGE__DATA_DIR=/data
VOLUME /data
EXPOSE 2546
# Not ready while the index comes back: give a large collection its time before failures count.
# Images of the OCI format have no health check: buildah and podman need `build --format docker`.
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 CMD ["akin", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["akin"]
CMD ["serve"]
