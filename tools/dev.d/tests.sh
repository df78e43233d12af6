# shellcheck shell=bash
# The tests, by cargo.

command_test() { # [cargo-test-arguments...]
  require_for postgres kafka
  offer_libfaketime
  build_programs
  with_parts postgres kafka -- run_tests "$@"
}

# All crates, unless the arguments name some. The tests of a service build its program again, and a named e2e then runs
# that program: it needs the crash points.
run_tests() { # [cargo-test-arguments...]
  local which=(--workspace --features "$FEATURES") feature
  if [[ " $* " == *" -p"* || " $* " == *" --package"* ]]; then
    which=()
    for feature in ${FEATURES//,/ }; do
      [[ ! " $* " =~ \ (-p|--package)[\ =]?${feature%/*}\  ]] || which+=(--features "$feature")
    done
  fi
  locked_kafka_home
  locked_pg_dump_home
  export_servers
  # Tests wait most of their time: for a broker, a lease, a session. So run more of them than there are cores. Tests that start brokers or
  # whole installations use the processors up: these limit themselves, and several programs at a time are no faster.
  export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((3 * $(getconf _NPROCESSORS_ONLN)))}
  cd "$ROOT" && cargo test ${which[@]+"${which[@]}"} "$@"
}
