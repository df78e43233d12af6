# shellcheck shell=bash
# Starts the parts in the order of their dependencies, stops them in reverse, and shows their state.

running_names() {
  local name
  for name in "${PARTS[@]}"; do
    ! is_running "$name" || echo "$name"
  done
}

# Starts the parts that do not run, resumes those that are paused, and returns once all answer.
up() { # wait|no-wait names...
  local wait=$1 name servers=() services=() started=$SECONDS
  shift
  check_names "$@"
  refuse_other_ports
  refuse_other_instances
  refuse_other_tls
  (($#)) || set -- "${ALL[@]}"
  for name in "${PARTS[@]}"; do # in this order, whatever the order of the arguments
    [[ " $* " == *" $name "* ]] || continue
    case $name in
      postgres | kafka | prometheus) servers+=("$name") ;;
      *) services+=("$name") ;;
    esac
  done
  require_for "$@"
  if ((${#services[@]})); then build_programs; else build_devtool; fi
  save_environment
  [[ -z $IDEM_TLS ]] || prepare_certificates
  if ((${#servers[@]})); then
    start_parts "${servers[@]}"
    await_parts "${servers[@]}"
  fi
  if ((${#services[@]})); then
    devtool keys "$KEYS_DIR" || die "the development keys could not be made: see above"
    refuse_edited_migrations
    prepare_databases
    start_parts "${services[@]}"
    [[ $wait == no-wait ]] || await_parts "${services[@]}"
  fi
  say "up after $((SECONDS - started))s: $*"
}

start_parts() { # names...
  local name
  for name in "$@"; do
    ! is_paused "$name" || resume_process "$name"
    if is_running "$name" || is_given "$name"; then continue; fi
    refuse_taken_port "$name"
    case $name in
      postgres) start_postgres ;;
      kafka) start_kafka ;;
      prometheus) start_prometheus ;;
      *) start_service "$name" ;;
    esac
  done
}

await_parts() { # names...
  local name
  for name in "$@"; do
    case $name in
      postgres) await_server PostgreSQL "$POSTGRES_URL" postgres postgres_answers ;;
      kafka) await_server Kafka "$KAFKA_BROKERS" kafka kafka_answers ;;
      *) await_ready "$name" 60 answers "$name" ;;
    esac
  done
}

# Waits for a server that ./dev started. A given server must answer now.
await_server() { # title address name probe
  if ! is_given "$3"; then
    await_ready "$3" 60 "$4"
  else
    "$4" || die "the $1 that the environment names does not answer: $2"
  fi
}

# Stops services first, servers last.
down() { # names...
  local name index
  check_names "$@"
  (($#)) || set -- "${PARTS[@]}"
  for ((index = ${#PARTS[@]} - 1; index >= 0; index--)); do
    name=${PARTS[index]}
    [[ " $* " == *" $name "* ]] || continue
    case $name in
      postgres) stop_process postgres INT 20 ;; # a fast shutdown: it does not wait for clients to leave
      *) stop_process "$name" TERM 20 ;;
    esac
  done
  [[ -n $(running_names) ]] || rm -f "$RUN_DIR/environment"
}

# Removes data, keys and logs. Downloads stay.
wipe() {
  rm -rf "$IDEM_DEV_DIR/kafka" "$IDEM_DEV_DIR/kafka-tls" "$TLS_DIR" "$IDEM_DEV_DIR/prometheus" "$POSTGRES_DIR/data" "$POSTGRES_DIR/migrations" "$KEYS_DIR" "$LOG_DIR"
  say "data removed"
}

# Refuses another port base while parts run. Otherwise two servers would run on the same data.
refuse_other_ports() {
  local running
  running=$(running_names)
  [[ -n $running && -r $RUN_DIR/environment ]] || return 0
  grep -qx "IDEM_PORT_BASE=$IDEM_PORT_BASE" "$RUN_DIR/environment" ||
    die "this checkout already runs with $(head -n 1 "$RUN_DIR/environment"): ./dev down first"
}

# Refuses another number of instances while services run. Otherwise there would be no relay, or one inside the service
# and one beside it.
refuse_other_instances() {
  local name saved
  saved=$(grep '^IDEM_INSTANCES=' "$RUN_DIR/environment" 2>/dev/null) || return 0
  [[ $saved != "IDEM_INSTANCES=$IDEM_INSTANCES" ]] || return 0
  for name in $(running_names); do
    ! is_service "$name" || die "this stack runs with --instances ${saved#*=}: ./dev down first"
  done
}

status() {
  local name pid
  printf '%-17s %8s %6s %-7s %8s\n' NAME PID PORT READY MEMORY
  for name in "${PARTS[@]}"; do
    if is_given "$name"; then
      printf '%-17s %8s %6s %-7s %8s\n' "$name" given - "$(readiness "$name")" -
    elif pid=$(pid_of "$name"); then
      printf '%-17s %8s %6s %-7s %4s MiB\n' "$name" "$pid" "$(port_of "$name")" \
        "$(readiness "$name")" "$(memory_of "$pid")"
    elif [[ " ${ALL[*]} " == *" $name "* ]]; then
      printf '%-17s %8s %6s %-7s %8s\n' "$name" - "$(port_of "$name")" no -
    fi
  done
}

# One word. A relay that is ready is active or standby.
readiness() { # name
  if is_paused "$1"; then
    echo paused
  elif ! answers "$1"; then
    echo no
  elif is_relay "$1"; then
    relay_state "$1"
  else
    echo yes
  fi
}

answers() { # name
  case $1 in
    postgres) postgres_answers ;;
    kafka) kafka_answers ;;
    prometheus) [[ $(ask prometheus /-/ready) == *"Prometheus Server is Ready"* ]] ;;
    *) service_answers "$1" ;;
  esac
}
