# shellcheck shell=bash
# The program `operator`: reads all databases, in sessions that the server keeps read-only.

# Builds only if nothing runs here, or the program is missing: a person who looks at a running stack must not wait for a compiler.
prepare_operator() {
  if [[ -x $BIN_DIR/operator && -n "${IDEM_SKIP_BUILD:-}$(running_names)" ]]; then return; fi
  require "${TO_BUILD[@]}"
  build "the program operator" --bin operator
}

command_operator() { # explain|audit arguments...
  local name variable
  prepare_operator
  for name in "${DATABASES[@]}"; do
    variable=IDEM_$(tr '[:lower:]' '[:upper:]' <<<"$name")_URL
    export "$variable=${!variable:-$(database_url "${name}_service" "$name")}"
  done
  export IDEM_KAFKA_BROKERS=$KAFKA_BROKERS
  exec "$BIN_DIR/operator" "$@"
}
