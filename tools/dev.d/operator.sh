# shellcheck shell=bash
# The program `operator`: reads all databases, in sessions that the server keeps read-only.

command_operator() { # explain|audit arguments...
  local name variable
  prepare_program operator
  for name in "${DATABASES[@]}"; do
    variable=IDEM_$(tr '[:lower:]' '[:upper:]' <<<"$name")_URL
    export "$variable=${!variable:-$(database_url "${name}_service" "$name")}"
  done
  export IDEM_KAFKA_BROKERS=$KAFKA_BROKERS
  exec "$BIN_DIR/operator" "$@"
}
