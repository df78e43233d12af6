# shellcheck shell=bash
# The crates that can be published, as `cargo publish` packs them. Nothing is uploaded.

CARGO_SEMVER_CHECKS_VERSION=0.51.0

# Each is built from its package and those of the others, in their order; minutes, the first time.
command_packages() { # [--since commit]
  local since=''
  if [[ ${1:-} == --since ]]; then
    since=${2:-}
    [[ -n $since ]] || usage_error "--since takes a commit or a tag, such as the one of the last release"
    shift 2
  fi
  (($# == 0)) || usage_error "packages takes nothing, or --since and a commit"
  require "${TO_BUILD[@]}"
  cd "$ROOT" || exit
  if [[ -n $since ]]; then
    compare_packages "$since" || die "the version in Cargo.toml is too low for these changes, or a crate cannot be compared: see above"
    say "all crates may be published under the version in Cargo.toml"
  else
    pack || die "a crate cannot be published: see above"
    say "all crates can be published"
  fi
}

# Packs without building: some seconds.
check_packages() { pack --no-verify; }

pack() { # options of cargo publish...
  cargo publish --workspace --dry-run --allow-dirty --quiet "$@"
}

# Compares the public items of the crates with those of a commit, by the rules of semantic versions; minutes, the first time.
compare_packages() { # commit
  local home=$CACHE_DIR/cargo-semver-checks-$CARGO_SEMVER_CHECKS_VERSION
  require git
  git cat-file -e "$1^{commit}" 2>/dev/null || die "there is no commit $1 in this clone"
  if [[ ! -x $home/bin/cargo-semver-checks ]]; then
    say "building cargo-semver-checks $CARGO_SEMVER_CHECKS_VERSION"
    locked cargo install cargo-semver-checks --quiet --locked --debug --version "$CARGO_SEMVER_CHECKS_VERSION" --root "$home" --no-track || return
  fi
  # Its builds take other features than ours.
  RUST_BACKTRACE=0 CARGO_TARGET_DIR=$IDEM_DEV_DIR/semver "$home/bin/cargo-semver-checks" semver-checks --workspace --baseline-rev "$1"
}
