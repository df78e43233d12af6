# syntax=docker/dockerfile:1
# The image of the services. The command of a container chooses the program: `orders serve`. The target `development` adds the tools of
# the demo for docker-compose.yml.
#
# The images that the project runs on stand in the FROM lines here and in the `image:` lines of docker-compose*.yml alone. There
# Renovate or Dependabot can add digests and raise them.

FROM rust:1.95.0-slim-bookworm AS build
# librdkafka is C with OpenSSL. Its build looks for a C++ compiler too.
# hadolint ignore=DL3008
RUN apt-get update \
    && apt-get install -y --no-install-recommends g++ libssl-dev make pkg-config \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /idem
# `quick` is built in a third of the time, and runs slower.
ARG PROFILE=release
COPY . .
# The caches keep compiled dependencies. The programs are copied out, because the image does not contain the caches. Cargo
# compares the times of files, and checkouts share the cache, so every file of ours gets a new time. The programs contain OpenSSL,
# whatever libraries the last image has.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/idem/target,sharing=locked \
    find . -path ./target -prune -o -type f -exec touch {} + \
    && programs="$(cd services && dirname */service.toml) stripe-sim devtool" \
    && export OPENSSL_STATIC=1 OPENSSL_INCLUDE_DIR=/usr/include OPENSSL_LIB_DIR="/usr/lib/$(gcc -print-multiarch)" \
    && cargo build --locked --profile "$PROFILE" --bins $(printf -- '-p %s ' $programs) \
    && for program in $programs; do \
         install -D -t /programs "target/$PROFILE/$program"; \
       done
# A program with crash points can be ended by an environment variable. Only tests need that, so the build refuses it.
RUN if grep -alF idem-crash-point: /programs/*; then echo "these have crash points" >&2; exit 1; fi
# One stands in for the card processor, the other signs tokens. Production has neither.
RUN install -d /development && mv /programs/stripe-sim /programs/devtool /development
# A new volume is a copy of this folder, with its owner. So `identity` of docker-compose.yml can write to its volume.
RUN install -d -o 65533 -g 65533 -m 0755 /keys

FROM gcr.io/distroless/cc-debian13:nonroot AS base
COPY --from=build /programs/ /usr/local/bin/
COPY --from=build --chown=65533:65533 /keys /keys

FROM base AS development
COPY --from=build /development/ /usr/local/bin/

# The last target is the one that `docker build .` makes.
FROM base AS services
