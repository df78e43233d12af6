# shellcheck shell=bash
# The parts as one: started in the order they need each other, stopped in the reverse.

ALL=(postgres kafka provider inventory payments orders)

check_names() { # names...
  local name
  for name in "$@"; do
    [[ " ${ALL[*]} " == *" $name "* ]] || usage_error "no part is called '$name': there are ${ALL[*]}"
  done
}

is_server() { [[ $1 == postgres || $1 == kafka ]]; }

running_names() {
  local name
  for name in "${ALL[@]}"; do
    ! is_running "$name" || echo "$name"
  done
}

# Starts what does not run yet, and returns once everything answers.
up() { # wait|no-wait names...
  local wait=$1 name servers=() services=() started=$SECONDS
  shift
  check_names "$@"
  refuse_other_ports
  (($#)) || set -- "${ALL[@]}"
  for name in "${ALL[@]}"; do # in this order, however they were given
    [[ " $* " == *" $name "* ]] || continue
    if is_server "$name"; then servers+=("$name"); else services+=("$name"); fi
  done
  require_for "$@"
  if ((${#services[@]})); then build_programs; else build_devtool; fi
  save_environment
  if ((${#servers[@]})); then
    start_parts "${servers[@]}"
    await_parts "${servers[@]}"
  fi
  if ((${#services[@]})); then
    devtool keys "$KEYS_DIR" || die "the development keys could not be made: see above"
    prepare_databases
    start_parts "${services[@]}"
    [[ $wait == no-wait ]] || await_parts "${services[@]}"
  fi
  say "up after $((SECONDS - started))s: $*"
}

start_parts() { # names...
  local name
  for name in "$@"; do
    if is_running "$name" || is_given "$name"; then continue; fi
    refuse_taken_port "$name"
    case $name in
      postgres) start_postgres ;;
      kafka) start_kafka ;;
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
      *) await_ready "$name" 60 service_answers "$name" ;;
    esac
  done
}

# Our own server answers soon or has died; a given one answers now or is not there.
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
  (($#)) || set -- "${ALL[@]}"
  for ((index = ${#ALL[@]} - 1; index >= 0; index--)); do
    name=${ALL[index]}
    [[ " $* " == *" $name "* ]] || continue
    case $name in
      postgres) stop_process postgres INT 20 ;; # a fast shutdown: it does not wait for clients to leave
      *) stop_process "$name" TERM 20 ;;
    esac
  done
  [[ -n $(running_names) ]] || rm -f "$RUN_DIR/environment"
}

# Removes what the parts remember; what was fetched stays.
wipe() {
  rm -rf "$IDEM_DEV_DIR/kafka" "$POSTGRES_DIR/data" "$KEYS_DIR" "$LOG_DIR"
  say "data removed"
}

# A second port base in one checkout would start second servers on the same data.
refuse_other_ports() {
  local running
  running=$(running_names)
  [[ -n $running && -r $RUN_DIR/environment ]] || return 0
  grep -qx "IDEM_PORT_BASE=$IDEM_PORT_BASE" "$RUN_DIR/environment" ||
    die "this checkout already runs with $(head -n 1 "$RUN_DIR/environment"): ./dev down first"
}

status() {
  local name pid ready
  printf '%-10s %8s %6s %-6s %8s\n' NAME PID PORT READY MEMORY
  for name in "${ALL[@]}"; do
    if is_given "$name"; then
      printf '%-10s %8s %6s %-6s %8s\n' "$name" given - "$(yes_or_no answers "$name")" -
    elif pid=$(pid_of "$name"); then
      ready=$(yes_or_no answers "$name")
      printf '%-10s %8s %6s %-6s %4s MiB\n' "$name" "$pid" "$(port_of "$name")" "$ready" "$(memory_of "$pid")"
    else
      printf '%-10s %8s %6s %-6s %8s\n' "$name" - "$(port_of "$name")" no -
    fi
  done
}

answers() { # name
  case $1 in
    postgres) postgres_answers ;;
    kafka) kafka_answers ;;
    *) service_answers "$1" ;;
  esac
}

yes_or_no() { # command...
  if "$@"; then echo yes; else echo no; fi
}
