# shellcheck shell=bash
# Mutants: a feature of a crate removes one of its mechanisms, and one test must then fail. Otherwise the mechanism is
# not tested.

# The feature, the crate's test target, the test.
MUTANTS=(
  "idem-inbox/mutant-no-inbox inbox once::effects_events_and_ids_commit_together"
  "idem-inbox/mutant-no-sequence-guard inbox order::swapped_messages_of_an_aggregate_are_applied_in_order"
  "idem-outbox/mutant-id-only-cursor outbox window::a_late_commit_with_a_smaller_id_is_not_lost_and_does_not_block"
  "idem-outbox/mutant-no-fence outbox election::a_replaced_relay_cannot_move_the_cursor"
  "idem-idempotency/mutant-no-fingerprint idempotency replay::another_request_with_the_same_key_is_refused"
  "payments/mutant-key-per-attempt payments charges::a_lost_response_leads_to_a_retry_with_the_same_key_and_the_same_bytes"
)

MUTANT_LOG=$LOG_DIR/mutants.log

command_mutants() {
  (($# == 0)) || usage_error "mutants takes no arguments"
  require_for postgres kafka
  with_parts postgres kafka -- try_mutants
}

# Tries all of them, so that one run reports every mutant that no test catches.
try_mutants() {
  local mutant feature target test ended started failed=()
  export_servers
  cd "$ROOT" || exit
  say "running the tests without mutants"
  run_mutant_tests "$FEATURES" "${MUTANTS[@]}"
  for mutant in "${MUTANTS[@]}"; do
    read -r feature target test <<<"$mutant"
    ended=$(outcome_of "$test")
    [[ $ended == passed ]] || failed+=("$test $ended without any mutant")
  done
  ((${#failed[@]} == 0)) || give_up_mutants "${failed[@]}"

  for mutant in "${MUTANTS[@]}"; do
    read -r feature target test <<<"$mutant"
    started=$SECONDS
    run_mutant_tests "$FEATURES,$feature" "$mutant"
    ended=$(outcome_of "$test")
    if [[ $ended == failed ]]; then
      say "$feature: caught by ${test##*::} ($((SECONDS - started))s)"
    else
      tail -n 30 "$MUTANT_LOG" >&2
      failed+=("$feature: $target's $test $ended")
    fi
  done
  # Tests of a crate build its program too. Build the programs again, because these are mutants.
  cargo build "${EVERYTHING[@]}" --bins >"$MUTANT_LOG" 2>&1 || failed+=("the programs cannot be built again")
  ((${#failed[@]} == 0)) || give_up_mutants "${failed[@]}"
  say "all ${#MUTANTS[@]} mutants are caught"
}

# Runs the tests of these mutants only. With --workspace, dependencies keep the features of ./dev test and are not
# compiled again.
run_mutant_tests() { # features mutants...
  local built_with=$1 mutant feature target test targets=() tests=()
  shift
  for mutant in "$@"; do
    read -r feature target test <<<"$mutant"
    targets+=(--test "$target")
    tests+=("$test")
  done
  cargo test --workspace --features "$built_with" "${targets[@]}" --no-fail-fast -- --exact "${tests[@]}" \
    >"$MUTANT_LOG" 2>&1 || true # the log has the outcome of each test
}

# Only a test that ran counts as failed. A mutant that does not compile is not caught.
outcome_of() { # test
  if grep -qx "test $1 \.\.\. ok" "$MUTANT_LOG"; then
    echo passed
  elif grep -qx "test $1 \.\.\. FAILED" "$MUTANT_LOG"; then
    echo failed
  elif grep -q "could not compile" "$MUTANT_LOG"; then
    echo "does not compile"
  else
    echo "did not run"
  fi
}

give_up_mutants() { # reasons...
  printf '%s\n' "$@" >&2
  die "not all mutants are caught; the last test's output: $MUTANT_LOG"
}
