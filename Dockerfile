# syntax=docker/dockerfile:1
FROM rust:1-slim-trixie AS build
# The bundled SQLite and zstd are C.
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev make pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --release --locked --bin akin && cp target/release/akin /usr/local/bin/akin

FROM debian:trixie-slim
LABEL org.opencontainers.image.title="akin" \
      org.opencontainers.image.description="Near-duplicate search as a service" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
RUN useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin akin \
    && install -d -o akin -g akin /data
COPY --from=build /usr/local/bin/akin /usr/local/bin/akin
USER akin
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
