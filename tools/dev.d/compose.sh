# shellcheck shell=bash
# The demo with docker compose. The demo itself runs on this machine, because it kills containers.

# The published parts, and their ports within the containers.
COMPOSE_PORTS=(postgres:5432 kafka:9094)

demo_with_compose() { # arguments of the demo...
  local status=0 service
  for service in "${DATABASES[@]}"; do COMPOSE_PORTS+=("$service:$((8080 + $(port_offset "$service")))"); done
  require "${TO_BUILD[@]}"
  docker compose version >/dev/null 2>&1 || die "docker compose is missing: install Docker with its compose plugin"
  [[ -n ${IDEM_SKIP_BUILD:-} ]] || build "the demo" --bin demo
  cd "$ROOT" || exit
  if [[ -n $(docker compose ps --quiet) ]]; then
    # Running containers are used on their own ports, and keep running afterwards.
    [[ " $* " == *" --keep "* ]] || set -- "$@" --keep
    compose_up --no-recreate
  else
    [[ " $* " == *" --keep "* ]] || trap 'compose_down' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    choose_compose_ports
    compose_up --build
  fi
  IDEM_COMPOSE_ADDRESSES=$(compose_addresses) "$BIN_DIR/demo" --compose "$@" || status=$?
  print_compose_memory
  return "$status"
}

compose_up() { # option
  docker compose up --detach --wait "$1" ||
    die "docker compose could not start everything: see above, docker compose ps --all, docker compose logs"
}

# IDEM_PORT_BASE moves all ports, unless a port has its own variable.
choose_compose_ports() {
  local name variable
  for name in "${COMPOSE_PORTS[@]%:*}"; do
    variable=$(tr '[:lower:]' '[:upper:]' <<<"$name")_PORT
    export "$variable=${!variable:-$(port_of "$name")}"
  done
}

compose_addresses() {
  local pair
  for pair in "${COMPOSE_PORTS[@]}"; do
    printf '%s=%s ' "${pair%:*}" "$(docker compose port "${pair%:*}" "${pair#*:}")"
  done
}

# The memory of the containers, as Docker counts it. docker-compose.yml has their limits.
print_compose_memory() {
  # shellcheck disable=SC2046 # a list of containers
  docker stats --no-stream --format '{{.Name}} {{.MemUsage}}' $(docker compose ps --quiet) | awk '
    { mib = $2 + 0 }
    $2 ~ /GiB$/ { mib *= 1024 }
    $2 ~ /[kK]i?B$/ { mib /= 1024 }
    $1 ~ /kafka/ { kafka = mib; next }
    { rest += mib }
    END { printf "Memory: Kafka %d MiB, everything else %d MiB in %d containers.\n", kafka, rest, NR - 1 }' >&2
}

compose_down() {
  local status=$?
  trap '' INT TERM HUP
  docker compose down || status=1
  exit "$status"
}
