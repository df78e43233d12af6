# shellcheck shell=bash
# Our programs: builds them once for up, test and demo, and starts each with the settings that it needs.

# The same features in every build, so that nothing is compiled twice. Tests and the demo need crash points.
FEATURES=$(printf "%s/crash-points," "${SERVICES[@]}")
FEATURES=${FEATURES%,}
# `--examples` gives dependencies the features that tests need. Without it cargo would compile some dependencies twice,
# once for the programs and once for the tests.
EVERYTHING=(--workspace --features "$FEATURES" --examples)

DATABASES=("${SERVICES[@]}" ${BESIDE[@]+"${BESIDE[@]%% *}"})

build() { # title cargo-arguments...
  local title=$1 started=$SECONDS
  shift
  say "building $title"
  (cd "$ROOT" && cargo build "${EVERYTHING[@]}" "$@" 9>&-) >&2 || die "the build failed: see above"
  say "building $title: done in $((SECONDS - started))s"
}

# The programs of a running stack, and those that ask it. `cargo test` builds the others.
build_programs() { # more...
  local name programs=()
  for name in "${DATABASES[@]}" demo devtool operator "$@"; do programs+=(--bin "$(program_of "$name")"); done
  [[ -n ${IDEM_SKIP_BUILD:-} ]] || build "the services and tools" "${programs[@]}"
  IDEM_SKIP_BUILD=yes # once per command; the demo exports it, so that its calls of ./dev build nothing
}

# Builds one program, unless it exists and a part runs: a person who looks at a running stack must not wait for a compiler.
prepare_program() { # name
  if [[ -x $BIN_DIR/$1 && -n "${IDEM_SKIP_BUILD:-}$(running_names)" ]]; then return; fi
  require "${TO_BUILD[@]}"
  build "the program $1" --bin "$1"
}

# devtool signs tokens and asks Kafka and PostgreSQL, because shell cannot.
build_devtool() {
  [[ -n ${IDEM_SKIP_BUILD:-} ]] || build devtool --bin devtool
}

devtool() {
  [[ -x $BIN_DIR/devtool ]] || build_devtool
  "$BIN_DIR/devtool" "$@" 9>&-
}

prepare_databases() {
  if postgres_answers; then
    devtool databases "$POSTGRES_URL" "${DATABASES[@]}" || die "the databases could not be made: see above"
  else
    say "PostgreSQL does not answer: its roles and databases are not checked"
  fi
}

# A migration that was edited after this data had it would not be applied again: programs would miss what it added.
refuse_edited_migrations() {
  local known=$POSTGRES_DIR/migrations edited=''
  ! is_given postgres || return 0
  [[ ! -e $known ]] || edited=$(
    cd "$ROOT" && cksum migrations/*/*/up.sql | awk 'NR == FNR { sum[$3] = $1; next } $3 in sum && sum[$3] != $1 { print $3 }' "$known" -
  )
  [[ -z $edited ]] || die "edited after this data had it: $edited: undo the edit, or remove the data with ./dev down --wipe"
  (cd "$ROOT" && cksum migrations/*/*/up.sql) >"$known"
}

# The caller's settings of other programs. A program refuses settings that it does not know, so these are removed.
foreign_settings() { # name
  local other section own
  own=" $(sections_of "$1" | tr '\n' ' ') "
  for other in "${DATABASES[@]}"; do
    [[ $other != "$1" ]] || continue
    for section in $(sections_of "$other"); do
      [[ $own != *" $section "* ]] || continue
      compgen -e "IDEM_${section}__" || true
    done
  done
}

start_service() { # name
  local name=$1 service program command=serve settings
  service=$(service_of "$name")
  program=$BIN_DIR/$(program_of "$service")
  [[ -x $program ]] || die "$program is missing: ./dev up builds it"
  own_settings "$service"
  if is_relay "$name"; then
    command=relay
    settings+=("IDEM_ADMIN__PORT=$(port_of "$name")" "IDEM_KAFKA__BROKERS=$KAFKA_BROKERS")
  else
    serving_settings "$name" "$service"
  fi
  launch "$name" env "${settings[@]}" "$program" "$command"
}

# Runs an operator command of a service, in a process of its own.
run_operator_command() { # service arguments...
  local service=$1 settings
  shift
  own_settings "$service"
  settings+=("IDEM_KAFKA__BROKERS=$KAFKA_BROKERS")
  env "${settings[@]}" "$BIN_DIR/$service" "$@"
}

# Runs the doctor of each service; fails if one of them finds a fault.
command_doctor() { # arguments...
  local service status=0
  for service in "${SERVICES[@]}"; do
    prepare_program "$service"
    [[ " $* " == *" --json "* ]] || printf '%s\n' "$service"
    run_operator_command "$service" doctor "$@" || status=1
  done
  return "$status"
}

# The settings that every process of a program needs.
own_settings() { # service; sets the caller's settings
  local service=$1 variable
  settings=(
    "IDEM_DATABASE__URL=$(database_url "${service}_service" "$service")"
    "IDEM_LOG__FORMAT=${IDEM_LOG__FORMAT:-pretty}"
  )
  ! is_service "$service" || settings+=("IDEM_MODE__DEVELOPMENT=true")
  for variable in $(foreign_settings "$service"); do
    settings=(-u "$variable" "${settings[@]}")
  done
  while IFS= read -r variable; do settings+=("$variable"); done < <(described_settings "$service")
}

# Adds the settings of a program that serves. It migrates at its start.
serving_settings() { # name service; adds to the caller's settings
  local name=$1 service=$2 port
  port=$(port_of "$name")
  settings+=(
    "IDEM_HTTP__PORT=$port"
    "IDEM_DATABASE__MIGRATION_URL=$(database_url "${service}_owner" "$service")"
  )
  if is_service "$service"; then
    settings+=(
      "IDEM_ADMIN__PORT=$((port + 1000))"
      "IDEM_KAFKA__BROKERS=$KAFKA_BROKERS"
      "IDEM_AUTH__JWKS=$KEYS_DIR/jwks.json"
      "IDEM_HTTP__DOCS=true"
      "IDEM_AUDIT__PAUSE_SECONDS=${IDEM_AUDIT__PAUSE_SECONDS:-15}" # the databases are small, and a defect shows at once
    )
    [[ $IDEM_INSTANCES == 1 ]] || settings+=("IDEM_RELAY__IN_PROCESS=false")
  fi
}

# The demo calls ./dev to kill and to start parts.
run_demo() {
  local name settings=(IDEM_DEV="$ROOT/dev" IDEM_SKIP_BUILD=yes)
  export_servers
  for name in "${DATABASES[@]}"; do
    while IFS= read -r name; do settings+=("$name"); done < <(described_settings "$name")
  done
  env "${settings[@]}" "$BIN_DIR/demo" --instances "$IDEM_INSTANCES" "$@"
}

# Whether the relay holds the lease, by its own metrics.
relay_state() { # name
  # Without a pipe: a reader that ends early would fail the writer, and with it the whole pipe.
  if [[ $(ask "$1" /metrics) == *$'\n'"outbox_holds_lease 1"* ]]; then echo active; else echo standby; fi
}

# Whether GET /health/ready returns 200.
service_answers() { # name
  local status
  IFS= read -r status < <(ask "$1" /health/ready)
  [[ $status == "HTTP/1.1 200 "* ]]
}

# Prints the response to GET. In bash alone, because curl may be missing.
ask() { # name path
  {
    exec 3<>"/dev/tcp/127.0.0.1/$(port_of "$1")" || return 1
    printf 'GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' "$2" >&3
    timeout 2 cat <&3
    exec 3>&-
  } 2>/dev/null
}
