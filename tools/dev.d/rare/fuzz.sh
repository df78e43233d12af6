# shellcheck shell=bash
# Fuzzing. `http`: schemathesis sends generated requests to the services, and checks each response against the OpenAPI
# documents. The other targets are in fuzz-bytes.sh.
#
#   .dev/cache/fuzz-http-CHECKSUM/   schemathesis, with its pinned versions
#   .dev/fuzz/                       the configuration, the dictionaries, and for each service its log and the number of responses

FUZZ=$ROOT/tests/fuzz
FUZZ_TARGETS=(http bytes key canonical signature form)

command_fuzz() { # [target] [--seconds N] [--seed N]
  local target=http seconds='' seed=$((RANDOM * 32768 + RANDOM))
  if (($#)) && [[ $1 != -* ]]; then
    target=$1
    shift
  fi
  [[ " ${FUZZ_TARGETS[*]} " == *" $target "* ]] || usage_error "there is no target '$target': the targets are ${FUZZ_TARGETS[*]}"
  while (($#)); do
    [[ ${2:-} =~ ^[0-9]{1,9}$ ]] || usage_error "$1 takes a number"
    case $1 in
      --seconds) seconds=$((10#$2)) ;;
      --seed) seed=$((10#$2)) ;;
      *) usage_error "fuzz has no option $1" ;;
    esac
    shift 2
  done
  case $target in
    http) fuzz_http "${seconds:-$((40 * ${#SERVICES[@]}))}" "$seed" ;;
    bytes) fuzz_bytes "${seconds:-300}" "$seed" ;;
    *) fuzz_bytes "${seconds:-300}" "$seed" "$target" ;;
  esac
}

fuzz_http() { # seconds seed
  (($1 >= 10 * ${#SERVICES[@]})) || usage_error "http takes at least $((10 * ${#SERVICES[@]})) seconds: 10 for each service"
  # Its parts have no limits. Otherwise most responses would be 429.
  [[ -z $(running_names) ]] || die "fuzz starts its own parts: ./dev down first"
  require_for "${ALL[@]}"
  require python3
  require_venv
  locked prepare_fuzz_http
  build_programs
  export IDEM_LIMITS__REQUESTS_PER_SECOND=0
  with_parts "${ALL[@]}" -- run_fuzz_http "$@"
}

fuzz_http_home() { cache_for fuzz-http "$FUZZ/requirements.txt"; }

prepare_fuzz_http() {
  local home
  home=$(fuzz_http_home)
  [[ -e $home/ready ]] || step "installing schemathesis" install_python "$home" "$FUZZ/requirements.txt" ||
    die "pip could not install it: see above (schemathesis needs Python 3.11 or newer)"
}

run_fuzz_http() { # seconds seed
  local seconds=$(($1 / ${#SERVICES[@]})) seed=$2 folder=$IDEM_DEV_DIR/fuzz python service failed=''
  python=$(fuzz_http_home)/bin/python
  rm -rf "$folder"
  mkdir -p "$folder"
  # A service may have a part of its own.
  find "$FUZZ/schemathesis.toml" "$ROOT/services" -name schemathesis.toml -exec cat {} + >"$folder/schemathesis.toml"
  IDEM_FUZZ_TOKEN=$(devtool token --keys "$KEYS_DIR" --tenant "fuzz-$seed-$(date +%s)")
  for service in "${SERVICES[@]}"; do
    export "$(tr '[:lower:]' '[:upper:]' <<<"$service")=http://127.0.0.1:$(port_of "$service")"
  done
  export IDEM_FUZZ_TOKEN SCHEMATHESIS_HOOKS=$FUZZ/hooks.py PYTHONDONTWRITEBYTECODE=1
  say "seed $seed; to repeat: ./dev fuzz http --seconds $1 --seed $seed"
  "$python" "$FUZZ/world.py" "$folder" || die "the tenant could not be prepared: see above"
  for service in "${SERVICES[@]}"; do
    fuzz_service "$service" "$seconds" "$seed" || failed+=" $service"
  done
  [[ -z $failed ]] || die "fuzzing found a failure:$failed; the seed is $seed"
  say "fuzzing passed; the seed was $seed"
}

fuzz_service() { # service seconds seed
  local log=$IDEM_DEV_DIR/fuzz/$1.log responses=$IDEM_DEV_DIR/fuzz/$1.responses document=$ROOT/openapi/$1.json status=0
  say "== schemathesis sends requests to $1 for $2 s"
  # In the folder of the configuration, so that nothing is written elsewhere.
  (cd "$IDEM_DEV_DIR/fuzz" && IDEM_FUZZ_RESPONSES=$responses \
    "$(fuzz_http_home)/bin/schemathesis" --no-color --config-file schemathesis.toml run "$document" \
    --url "http://127.0.0.1:$(port_of "$1")" --checks all --phases examples,coverage,fuzzing,stateful \
    --seed "$3" --max-time "$2") >"$log" 2>&1 || status=$?
  if ((status != 0)); then
    cat "$log" >&2
    return "$status"
  fi
  "$(fuzz_http_home)/bin/python" "$FUZZ/reached.py" "$document" "$responses"
}
