# shellcheck shell=bash
# Fuzzing of the bytes that strangers send. Each target is a test, which replays its corpus in an ordinary run. Here libFuzzer,
# which the crate bolero contains, runs the same test with coverage counters, and keeps each input that reaches new code.
#
#   .dev/fuzz-bytes/build/          the tests with counters
#   .dev/fuzz-bytes/NAME/corpus/    the inputs found so far, besides those of the tree
#   .dev/fuzz-bytes/NAME/crashes/   the inputs with which the test failed

# The target, its package, the folder of its module, its test.
BYTES="key idem-idempotency shared/idempotency/src/key key::fuzz::a_header_is_a_key_exactly_if_it_has_the_documented_form
canonical idem-idempotency shared/idempotency/src/canonical canonical::fuzz::a_document_and_its_form_are_the_same_value_for_another_parser
signature payments services/payments/src/webhooks webhooks::fuzz::only_a_signature_by_the_secret_verifies_and_only_for_its_time_and_body
form stripe-sim tools/stripe-sim/src/protocol protocol::fuzz::a_form_is_read_exactly_if_it_is_text_without_card_data_and_nul"

# The counters of LLVM, as libFuzzer reads them. They need no nightly compiler.
COUNTERS="--cfg fuzzing --cfg fuzzing_libfuzzer -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4"
for counter in inline-8bit-counters pc-table trace-compares stack-depth; do
  COUNTERS+=" -Cllvm-args=-sanitizer-coverage-$counter"
done

fuzz_bytes() { # seconds seed [target]
  local target package module test
  [[ $(uname -s) == Linux ]] || die "the targets of bytes are built for Linux"
  require "${TO_BUILD[@]}"
  while read -r target package module test; do
    [[ -z ${3:-} || $3 == "$target" ]] || continue
    fuzz_target "$target" "$package" "$module" "$test" "$1" "$2"
  done <<<"$BYTES"
}

fuzz_target() { # target package module test seconds seed
  local folder=$IDEM_DEV_DIR/fuzz-bytes/$1 program arguments
  mkdir -p "$folder/corpus" "$folder/crashes"
  say "== $1 for $5 s"
  program=$(build_target "$2") || die "$1 could not be built: see above"
  # One space between two of them: bolero takes a second space for an argument without characters, a folder that does not exist.
  arguments="$folder/corpus __fuzz__/$1/corpus -artifact_prefix=$folder/crashes/ -timeout=10"
  arguments+=" -max_total_time=$5 -seed=$6 -print_final_stats=1"
  if ! (cd "$ROOT/$3" && BOLERO_TEST_NAME=$4 BOLERO_LIBTEST_HARNESS=1 BOLERO_FUZZER=libfuzzer \
    BOLERO_LIBFUZZER_ARGS=$arguments "$program" "$4" --exact --nocapture --quiet --test-threads 1) >"$folder/log" 2>&1; then
    tail -n 40 "$folder/log" >&2
    die "$1 found a failure; its input is in $folder/crashes: mend the code, and add the input to $3/__fuzz__/$1/corpus"
  fi
  say "$(grep -o 'number_of_executed_units: *[0-9]*' "$folder/log"), $(find "$folder/corpus" -type f | wc -l) inputs found, no failure"
}

# Prints the path of the package's unit tests with counters. `--target` keeps the counters out of build scripts.
build_target() { # package
  local host
  host=$(rustc -vV | sed -n 's/^host: //p')
  cd "$ROOT" || return
  RUSTFLAGS=$COUNTERS cargo test --lib -p "$1" --profile fuzz --target "$host" --target-dir "$IDEM_DEV_DIR/fuzz-bytes/build" \
    --no-run --message-format json-render-diagnostics |
    sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1 | grep .
}
