# shellcheck shell=bash
# The crates that can be published, as `cargo publish` packs them. Nothing is uploaded.

# Each is built from its package and those of the others, in their order; minutes, the first time.
command_packages() {
  (($# == 0)) || usage_error "packages takes no arguments"
  require "${TO_BUILD[@]}"
  cd "$ROOT" || exit
  pack || die "a crate cannot be published: see above"
  say "all crates can be published"
}

# Packs without building: some seconds.
check_packages() { pack --no-verify; }

pack() { # options of cargo publish...
  cargo publish --workspace --dry-run --allow-dirty --quiet "$@"
}
