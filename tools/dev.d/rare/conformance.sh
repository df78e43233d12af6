# shellcheck shell=bash
# The conformance suite against two instances of each service, and against the provider.

# Keys expire after so many seconds in the second run.
CONFORMANCE_KEY_LIFE=3

command_conformance() {
  (($# == 0)) || usage_error "conformance takes no arguments; for a server of yours: cargo run -p conformance -- --help"
  # Its parts have other settings, and are restarted.
  [[ -z $(running_names) ]] || die "conformance starts its own parts: ./dev down first"
  require_for "${ALL[@]}"
  build_programs conformance
  set_instances 2
  export IDEM_LIMITS__REQUESTS_PER_SECOND=0
  with_parts "${ALL[@]}" -- run_conformance
}

run_conformance() {
  local service target targets=() failed=''
  cd "$ROOT" || exit
  for service in "${SERVICES[@]}"; do
    if [[ -e services/$service/conformance.toml ]]; then
      targets+=("services/$service")
    else
      say "$service is not tried: services/$service has no conformance.toml"
    fi
  done
  for target in "${targets[@]}" tools/stripe-sim; do
    conform "$target" || failed+=" $target"
  done
  say "keys now expire after ${CONFORMANCE_KEY_LIFE}s"
  locked down "${SERVICES[@]}" "${SERVICES[@]/%/-2}"
  IDEM_IDEMPOTENCY__REPLY_SECONDS=$CONFORMANCE_KEY_LIFE locked up wait "${SERVICES[@]}"
  for target in "${targets[@]}"; do
    EXPIRES_AFTER_SECONDS=$CONFORMANCE_KEY_LIFE conform "$target" --group expiry || failed+=" $target"
  done
  [[ -z $failed ]] || die "not conformant:$failed"
  say "conformance passed"
}

# Runs the suite against one target. The file asks ./dev for tokens and for restarts.
conform() { # folder arguments...
  local target=$1 part addresses=()
  shift
  for part in $(running_names); do
    is_server "$part" || addresses+=("$(tr 'a-z-' 'A-Z_' <<<"$part")=http://127.0.0.1:$(port_of "$part")") # such as ORDERS_2
  done
  env "${addresses[@]}" IDEM_SKIP_BUILD=yes "$BIN_DIR/conformance" --target "$target/conformance.toml" "$@"
}
