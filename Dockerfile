# syntax=docker/dockerfile:1
FROM rust:1-slim-trixie AS build
# The bundled SQLite, jemalloc and zstd are C.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev make pkg-config \
    && rm -rf /var/lib/apt/lists/*
SHELL ["/bin/bash", "-euo", "pipefail", "-c"]
WORKDIR /src
# The dependencies by themselves: built again only when Cargo.toml or Cargo.lock change.
COPY Cargo.toml Cargo.lock ./
COPY .cargo .cargo/
COPY bench/Cargo.toml bench/
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    mkdir -p src bench/src benches && echo 'fn main() {}' > src/main.rs && touch src/lib.rs \
    && cp src/main.rs bench/src/ \
    && sed -n '/^\[\[bench/{n;s|^name = "\(.*\)"|benches/\1.rs|p}' Cargo.toml \
        | xargs -n 1 cp src/main.rs \
    && cargo build --release --locked --bin akin && rm -rf src bench/src benches
COPY . .
# Shown by the metric akin_build_info.
ARG AKIN_REVISION
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    touch src/main.rs src/lib.rs && cargo build --release --locked --bin akin \
    && strip target/release/akin

FROM debian:trixie-slim
LABEL org.opencontainers.image.title="akin" \
      org.opencontainers.image.description="Near-duplicate search server: MinHash LSH with exact Jaccard verification" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin akin \
    && install -d -o akin -g akin /data
COPY --from=build /src/target/release/akin /usr/local/bin/akin
USER 10001
# Reached from outside the container, so it starts only with a key (`keys create`) or --no-keys.
ENV AKIN__SERVER__LISTEN=0.0.0.0:2546 \
    AKIN__STORAGE__DATA_DIR=/data
VOLUME /data
EXPOSE 2546
# Not ready while the index comes back: give a large collection its time before failures count.
HEALTHCHECK --interval=10s --timeout=5s --start-period=120s --retries=3 CMD ["akin", "health"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["akin"]
CMD ["serve"]
