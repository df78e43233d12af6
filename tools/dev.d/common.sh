# shellcheck shell=bash
# shellcheck disable=SC2034 # the other files read these variables
# Shared by every file of tools/dev.d: folders, settings, messages, long steps, ports, the lock, and the environment
# file that records for later commands how the parts were started.

IDEM_DEV_DIR=${IDEM_DEV_DIR:-$ROOT/.dev}
[[ $IDEM_DEV_DIR == /* ]] || IDEM_DEV_DIR=$PWD/$IDEM_DEV_DIR
RUN_DIR=$IDEM_DEV_DIR/run     # NAME.pid of running parts, and `environment`: how they were started
LOG_DIR=$IDEM_DEV_DIR/log     # NAME.log
KEYS_DIR=$IDEM_DEV_DIR/keys   # the development signing key and its JWKS
CACHE_DIR=$IDEM_DEV_DIR/cache # downloads; `down --wipe` keeps them
mkdir -p "$RUN_DIR" "$LOG_DIR" "$CACHE_DIR"

BIN_DIR=${CARGO_TARGET_DIR:-$ROOT/target}
[[ $BIN_DIR == /* ]] || BIN_DIR=$PWD/$BIN_DIR
BIN_DIR=$BIN_DIR/debug

say() { printf '%s\n' "$*" >&2; }

die() { # message...
  say "dev: $*"
  exit 1
}

usage_error() { # message...
  say "dev: $*"
  say "Try: ./dev help"
  exit 2
}

# Runs a long step. Its output goes to a log; its name and elapsed time go to the terminal.
step() { # title command...
  local title=$1 log=$LOG_DIR/step.log started=$SECONDS job ticks=0
  shift
  "$@" >"$log" 2>&1 </dev/null & # inherits descriptor 9, so the lock lasts until the step has ended
  job=$!
  while kill -0 "$job" 2>/dev/null; do
    if [[ -t 2 ]]; then
      printf '\r%s… %ss ' "$title" $((SECONDS - started)) >&2
    elif ((ticks % 150 == 0)); then # a line each 15 s, for logs
      say "$title… $((SECONDS - started))s"
    fi
    ticks=$((ticks + 1))
    sleep 0.1
  done
  local status=0
  wait "$job" || status=$?
  [[ -t 2 ]] && printf '\r' >&2
  if ((status != 0)); then
    say "$title: failed after $((SECONDS - started))s"
    tail -n 30 "$log" >&2
    return "$status"
  fi
  say "$title: done in $((SECONDS - started))s"
}

port_is_open() { # port
  (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null
}

# Fails at once if another program listens on the port. Two checkouts need two port bases.
refuse_taken_port() { # name
  local port
  port=$(port_of "$1") || return 0
  ! port_is_open "$port" ||
    die "port $port, for $1, is taken: stop what listens there, or set IDEM_PORT_BASE to another number"
}

# Only one ./dev at a time starts and stops parts in this checkout. kill -9 of the holder releases the lock.
# A part that is started from here must close descriptor 9. Otherwise the part would hold the lock as long as it runs.
locked() { # function arguments...
  # What runs under the lock may lock again.
  if [[ -n ${is_locked:-} ]]; then
    ("$@")
    return
  fi
  (
    if command -v flock >/dev/null && ! flock -n 9; then
      say "waiting for another ./dev in this checkout"
      flock 9
    fi
    is_locked=yes
    "$@"
  ) 9>"$RUN_DIR/lock"
}

# Running parts decide the settings, so that later commands need not repeat them.

load_environment() {
  local line name
  if [[ -r $RUN_DIR/environment && -n $(running_names) ]]; then
    while IFS= read -r line; do
      case $line in
        IDEM_PORT_BASE=*) IDEM_PORT_BASE=${IDEM_PORT_BASE:-${line#*=}} ;;
        IDEM_INSTANCES=*) IDEM_INSTANCES=${IDEM_INSTANCES:-${line#*=}} ;;
        IDEM_TLS=*) IDEM_TLS=${IDEM_TLS:-${line#*=}} ;;
        IDEM_POSTGRES_URL=*) IDEM_POSTGRES_URL=${IDEM_POSTGRES_URL:-${line#*=}} ;;
        IDEM_KAFKA_BROKERS=*) IDEM_KAFKA_BROKERS=${IDEM_KAFKA_BROKERS:-${line#*=}} ;;
        IDEM_KAFKA__PROPERTIES__*)
          name=${line%%=*}
          [[ -n ${!name:-} ]] || export "${line?}"
          ;;
      esac
    done <"$RUN_DIR/environment"
  fi
  export IDEM_PORT_BASE=${IDEM_PORT_BASE:-8080}
  # shellcheck disable=SC2015 # the message is for the failure of either test
  [[ $IDEM_PORT_BASE =~ ^[0-9]{4,5}$ ]] && ((IDEM_PORT_BASE >= 1024 && IDEM_PORT_BASE <= 64000)) ||
    die "IDEM_PORT_BASE is '$IDEM_PORT_BASE': it must be a number from 1024 to 64000"
  IDEM_INSTANCES=${IDEM_INSTANCES:-1}
  choose_parts
  IDEM_TLS=${IDEM_TLS:-}
  locate_servers
}

locate_servers() {
  OWN_POSTGRES_URL=postgres://postgres@127.0.0.1:$(port_of postgres)/postgres$(tls_query)
  OWN_KAFKA_BROKERS=127.0.0.1:$(port_of kafka)
  POSTGRES_URL=${IDEM_POSTGRES_URL:-$OWN_POSTGRES_URL}
  KAFKA_BROKERS=${IDEM_KAFKA_BROKERS:-$OWN_KAFKA_BROKERS}
  export_kafka_properties
}

# Whether the environment names the server. ./dev then neither starts nor stops it.
is_given() { # postgres | kafka
  case $1 in
    postgres) [[ $POSTGRES_URL != "$OWN_POSTGRES_URL" ]] ;;
    kafka) [[ $KAFKA_BROKERS != "$OWN_KAFKA_BROKERS" ]] ;;
    *) return 1 ;;
  esac
}

save_environment() {
  {
    echo "IDEM_PORT_BASE=$IDEM_PORT_BASE"
    echo "IDEM_INSTANCES=$IDEM_INSTANCES"
    echo "IDEM_TLS=$IDEM_TLS"
    ! is_given postgres || echo "IDEM_POSTGRES_URL=$POSTGRES_URL"
    ! is_given kafka || echo "IDEM_KAFKA_BROKERS=$KAFKA_BROKERS"
    ! is_given kafka || env | grep '^IDEM_KAFKA__PROPERTIES__' || true
  } >"$RUN_DIR/environment"
}

# The folder of a tool. Its name has the checksum of the pinned versions, so that a new version gets a new folder.
cache_for() { # tool files...
  local name=$1 sum
  shift
  sum=$(cat "$@" | cksum)
  echo "$CACHE_DIR/$name-${sum%% *}"
}
