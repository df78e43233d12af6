# syntax=docker/dockerfile:1
# One image with every program; a container's command says which one it runs: `orders serve`.

FROM rust:1.95.0-slim-bookworm AS build
# librdkafka is C, and its build looks for a C++ compiler too.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /idem
COPY . .
# The caches keep what the dependencies compiled to; the programs are copied out, as a cache is in no image. cargo trusts
# a file's time, and checkouts share the cache: so whatever is ours counts as new.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/idem/target,sharing=locked \
    find . -path ./target -prune -o -type f -exec touch {} + \
    && cargo build --locked --release --bins \
        -p orders -p payments -p inventory -p stripe-sim -p devtool \
    && for program in orders payments inventory stripe-sim devtool; do \
         install -D -t /programs "target/release/$program"; \
       done
# A program with crash points ends itself where a variable tells it to: tests want that, and nobody else.
RUN if grep -alF idem-crash-point: /programs/*; then echo "these have crash points" >&2; exit 1; fi
# Whose volume begins as a copy of this folder can write to it; see `identity` in docker-compose.yml.
RUN install -d -o 65533 -g 65533 -m 0755 /keys

FROM gcr.io/distroless/cc-debian12:nonroot
COPY --from=build /programs/ /usr/local/bin/
COPY --from=build --chown=65533:65533 /keys /keys
