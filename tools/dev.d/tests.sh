# shellcheck shell=bash
# The tests. Without arguments, two test programs run at a time, because many tests wait: for a broker, a lease, a session.
#
#   .dev/log/tests/   what each program printed

TEST_LOGS=$LOG_DIR/tests
# The programs that start whole installations. Two of them at a time would only wait for the processor.
WHOLE_TESTS='^(e2e|operator)/'

command_test() { # [cargo-test-arguments...]
  require_for postgres kafka
  offer_libfaketime
  build_programs
  # A killed server keeps what it wrote, and no test cuts the power. Each commit, and each of the tests' databases, is several times faster.
  # shellcheck disable=SC2034 # start_postgres uses it
  POSTGRES_OPTIONS=(-c fsync=off)
  with_parts postgres kafka -- run_tests "$@"
}

run_tests() { # [cargo-test-arguments...]
  locked_kafka_home
  locked_pg_dump_home
  export_servers
  # More tests than cores also within a program, for the same reason.
  export RUST_TEST_THREADS=${RUST_TEST_THREADS:-$((2 * $(getconf _NPROCESSORS_ONLN)))}
  cd "$ROOT" || exit
  if (($#)); then run_named_tests "$@"; else run_all_tests; fi
}

# All crates, unless the arguments name some. The tests of a service build its program again, and a named e2e then runs
# that program: it needs the crash points.
run_named_tests() { # cargo-test-arguments...
  local which=(--workspace --features "$FEATURES") feature
  if [[ " $* " == *" -p"* || " $* " == *" --package"* ]]; then
    which=()
    for feature in ${FEATURES//,/ }; do
      [[ ! " $* " =~ \ (-p|--package)[\ =]?${feature%/*}\  ]] || which+=(--features "$feature")
    done
  fi
  cargo test ${which[@]+"${which[@]}"} "$@"
}

run_all_tests() {
  local programs started=$SECONDS
  say "building the tests"
  programs=$(test_programs) || die "the tests could not be built: see above"
  rm -rf "$TEST_LOGS" && mkdir -p "$TEST_LOGS"
  say "running $(wc -l <<<"$programs") test programs, two at a time; their output is in $TEST_LOGS"
  grep -E "$WHOLE_TESTS" <<<"$programs" >"$TEST_LOGS/whole.list"
  grep -vE "$WHOLE_TESTS" <<<"$programs" >"$TEST_LOGS/parts.list"
  # By xargs, so that Ctrl-C ends both. A program that fails does not end the others: one run reports every failure.
  export FEATURES TEST_LOGS
  export -f run_test_programs run_test_program
  # shellcheck disable=SC2016 # the inner shell expands it
  printf '%s\n' whole parts | xargs -P 2 -I{} bash -c 'run_test_programs <"$TEST_LOGS/{}.list"' 9>&- || die "the tests could not be run: see above"
  [[ ! -e $TEST_LOGS/failed ]] || die "these fail: $(tr '\n' ' ' <"$TEST_LOGS/failed")"
  say "all tests passed in $((SECONDS - started))s"
}

# One line for each program: its name, its package's folder, its file. The examples of the documentation are cargo's to run.
test_programs() {
  local built
  built=$(cargo test --workspace --features "$FEATURES" --no-run --message-format=json-render-diagnostics 9>&-) || return
  {
    echo "doc $ROOT -"
    sed -n -E 's|.*"manifest_path":"([^"]*)/Cargo.toml","target":\{"kind":\["([a-z-]*)"\],[^}]*"name":"([^"]*)".*"profile":\{[^}]*"test":true\}.*"executable":"([^"]*)".*|\2 \3 \1 \4|p' <<<"$built" |
      while read -r kind name folder executable; do
        [[ $kind == test ]] || name=$name.$kind
        echo "${folder##*/}/$name $folder $executable"
      done
  } | sort -u
}

run_test_programs() { # lines of test_programs on stdin
  local name folder file
  while read -r name folder file; do
    run_test_program "$name" "$folder" "$file" </dev/null
  done
}

# The lines appear when the program ends, as one piece, because another one runs, too.
run_test_program() { # name folder file
  local started=$SECONDS log=$TEST_LOGS/${1//\//-}.log passed=yes counts
  if [[ $3 == - ]]; then
    (cd "$2" && cargo test --workspace --features "$FEATURES" --doc) >"$log" 2>&1 || passed=''
  else
    (cd "$2" && exec "$3") >"$log" 2>&1 || passed=''
  fi
  counts=$(grep -h '^test result: ' "$log" | awk '{ p += $4; f += $6; i += $8 } END { printf "%d passed; %d failed; %d ignored", p, f, i }')
  if [[ -n $passed ]]; then
    printf 'test result: ok. %s; %ss: %s\n' "$counts" "$((SECONDS - started))" "$1"
  else
    printf '%s\ntest result: FAILED. %s; %ss: %s\n' "$(<"$log")" "$counts" "$((SECONDS - started))" "$1"
    echo "$1" >>"$TEST_LOGS/failed"
  fi
}
