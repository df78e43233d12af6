# shellcheck shell=bash
# The benchmark: release programs without crash points, next to PostgreSQL and Kafka alone.

# The programs that are measured, and those that measure. Built without features, like the container image.
MEASURED=(-p orders -p inventory -p payments -p stripe-sim)
MEASURING=(-p bench -p devtool)
BENCH_TENANTS=10 # besides `bench`

command_bench() {
  require_for postgres kafka
  [[ " $* " != *" days "* ]] || prepare_clock
  BIN_DIR=${BIN_DIR%/debug}/release
  build_release_programs
  case " $* " in
    *" --help "* | *" -h "*) "$BIN_DIR/bench" --help ;;
    *) with_parts postgres kafka -- run_bench "$@" ;;
  esac
}

# PostgreSQL will run under libfaketime, with a clock that the benchmark moves.
prepare_clock() {
  local library
  ! is_given postgres || die "IDEM_POSTGRES_URL is set: the clock of that server cannot be moved"
  ! is_running postgres || die "PostgreSQL runs: ./dev down first, because its clock is set at the start"
  offer_libfaketime
  library=$(libfaketime)
  [[ -n $library ]] || die "the clock cannot be moved"
  mkdir -p "$IDEM_DEV_DIR" && place_postgres
  export IDEM_BENCH_CLOCK=$POSTGRES_DIR/clock
  echo +0d >"$IDEM_BENCH_CLOCK"
  # A look at the file for each look at the clock would be measured.
  # shellcheck disable=SC2034 # postgres.sh reads it
  CLOCK_VARIABLES=("LD_PRELOAD=$library" "FAKETIME_TIMESTAMP_FILE=$IDEM_BENCH_CLOCK" FAKETIME_CACHE_DURATION=1
    FAKETIME_DISABLE_SHM=1 DONT_FAKE_MONOTONIC=1)
}

build_release_programs() {
  if [[ -z ${IDEM_SKIP_BUILD:-} ]]; then
    say "building release programs: minutes, the first time"
    (cd "$ROOT" && cargo build --release --bins "${MEASURED[@]}" "${MEASURING[@]}" 9>&-) >&2 ||
      die "the build failed: see above"
  fi
  IDEM_SKIP_BUILD=yes # otherwise `up` would build debug programs
}

run_bench() {
  local number tenants=()
  devtool keys "$KEYS_DIR" || die "the development keys could not be made: see above"
  export_servers
  IDEM_BENCH_JWKS=$KEYS_DIR/jwks.json
  IDEM_BENCH_TOKEN=$(bench_token bench) || exit
  for ((number = 1; number <= BENCH_TENANTS; number++)); do
    tenants+=("bench-$number=$(bench_token "bench-$number")") || exit
  done
  IDEM_BENCH_TENANTS=$(join_by_comma "${tenants[@]}")
  IDEM_BENCH_COMMIT=$(measured_commit)
  export IDEM_BENCH_JWKS IDEM_BENCH_TOKEN IDEM_BENCH_TENANTS IDEM_BENCH_COMMIT
  "$BIN_DIR/bench" "$@"
}

# A token that lasts as long as the longest run.
bench_token() { # tenant
  devtool token --keys "$KEYS_DIR" --tenant "$1" --client bench --ttl 14400
}

# The commit, and whether the working tree differs from it.
measured_commit() {
  local commit changed
  commit=$(git -C "$ROOT" rev-parse --short HEAD 2>/dev/null) || commit=unknown
  changed=$(git -C "$ROOT" status --porcelain 2>/dev/null) || changed=''
  echo "$commit${changed:+ with changes}"
}
