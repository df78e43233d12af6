# shellcheck shell=bash
# Load from outside with k6: open-loop arrivals of customers who follow Retry-After. Afterwards, the audits are asked.
#
#   tests/load/NAME.js            the actions of the customers, and the promises as thresholds
#   .dev/cache/k6-VERSION/k6      built once by Go
#   .dev/load/NAME.json           the figures of the last run

LOADS=(steady spike duplicates hot-key hot-sku soak)
K6_VERSION=v1.8.1
LOAD_TENANTS=4 # each has a limit of requests
# Beyond them a run would be an accident.
MOST_LOAD_SECONDS=14400
MOST_LOAD_RATE=1000

command_load() { # names... [--seconds N] [--rate N]
  local names=() seconds='' rate=''
  while (($#)); do
    case $1 in
      --seconds | --rate)
        [[ ${2:-} =~ ^[1-9][0-9]{0,5}$ ]] || usage_error "$1 takes a number above 0"
        if [[ $1 == --seconds ]]; then seconds=$2; else rate=$2; fi
        shift
        ;;
      -*) usage_error "load has no option $1" ;;
      *)
        [[ " ${LOADS[*]} " == *" $1 "* ]] || usage_error "there is no load '$1': the loads are ${LOADS[*]}"
        names+=("$1")
        ;;
    esac
    shift
  done
  ((${#names[@]})) || usage_error "load takes a name: ${LOADS[*]}"
  ((${seconds:-1} <= MOST_LOAD_SECONDS)) || usage_error "--seconds is at most $MOST_LOAD_SECONDS"
  ((${rate:-1} <= MOST_LOAD_RATE)) || usage_error "--rate is at most $MOST_LOAD_RATE"
  require_for "${ALL[@]}"
  require go
  locked prepare_k6
  build_programs
  with_parts "${ALL[@]}" -- run_loads "$seconds" "$rate" "${names[@]}"
}

k6_home() { echo "$CACHE_DIR/k6-$K6_VERSION"; }

prepare_k6() {
  local home
  home=$(k6_home)
  [[ -x $home/k6 ]] || step "building k6 $K6_VERSION: minutes, once" env GOBIN="$home" go install "go.k6.io/k6@$K6_VERSION" ||
    die "go could not build k6: see above"
}

# Runs all of them, so that one run reports every failure. Then asks every audit, once nothing is in progress, and compares the
# orders with those that clients have responses for.
run_loads() { # seconds rate names...
  local seconds=$1 rate=$2 name tenants=() orders=0 failed=''
  shift 2
  for name in "$@"; do
    run_load "$name" "$seconds" "$rate" || failed+=" $name"
  done
  run_demo --audit "$(join_by_comma "${tenants[@]}")" --orders "$orders" || failed+=" the audit"
  [[ -z $failed ]] || die "a promise was broken under load:$failed"
  say "load passed: $*"
}

run_load() { # name seconds rate; adds to the caller's tenants and orders
  local name=$1 seconds=$2 rate=$3 summary=$IDEM_DEV_DIR/load/$1.json
  local run number tenant token pairs=() service addresses=() accepted status=0
  run=$name-$(date +%s)
  mkdir -p "$IDEM_DEV_DIR/load"
  rm -f "$summary"
  for ((number = 1; number <= LOAD_TENANTS; number++)); do
    tenant=load-$run-$number
    token=$(devtool token --keys "$KEYS_DIR" --tenant "$tenant" --client load --ttl "$((${seconds:-600} + 3600))") || return
    tenants+=("$tenant")
    pairs+=("$tenant=$token")
  done
  say "== $name${seconds:+, for $seconds s}${rate:+, at $rate a second}"
  memory_of_services before
  for service in "${SERVICES[@]}"; do
    addresses+=("IDEM_LOAD_$(tr '[:lower:]' '[:upper:]' <<<"$service")=http://127.0.0.1:$(port_of "$service")")
  done
  # k6 asks no other host, and opens no port of its own.
  env K6_AUTO_EXTENSION_RESOLUTION=false \
    "${addresses[@]}" \
    IDEM_LOAD_TENANTS="$(join_by_comma "${pairs[@]}")" IDEM_LOAD_SUMMARY="$summary" \
    IDEM_LOAD_SECONDS="$seconds" IDEM_LOAD_RATE="$rate" \
    "$(k6_home)/k6" run --quiet --no-usage-report --address '' "$ROOT/tests/load/$name.js" || status=$?
  memory_of_services after
  accepted=$(sed -n 's/.*"accepted_orders":\([0-9]*\).*/\1/p' "$summary") || return
  orders=$((orders + accepted))
  return "$status"
}

join_by_comma() { # words...
  local IFS=,
  echo "$*"
}

# Resident memory, which the longest loads must not raise without end.
memory_of_services() { # when
  local name text=''
  for name in "${SERVICES[@]}"; do
    text+=" $name $(memory_of "$(pid_of "$name")") MiB"
  done
  say "memory $1:$text"
}
