# shellcheck shell=bash
# Mutants: each patch of tests/mutants plants one mistake, and one test must then fail. Otherwise the mechanism is not tested.
#
# The first line of a patch names the crate, its test target and the test. Patches change this checkout in place, one at a time.

MUTANT_LOG=$LOG_DIR/mutants.log
# A mutant is built with another number of codegen units than everything else. Cargo then keeps its artifacts apart from those of the
# checkout, which stay valid.
MUTANT_CODEGEN_UNITS=255

command_mutants() {
  (($# == 0)) || usage_error "mutants takes no arguments"
  require_for postgres kafka
  check_mutants || die "mutants cannot be tried: see above"
  with_parts postgres kafka -- try_mutants
}

# Whether each patch applies.
check_mutants() {
  local patch status=0
  require git
  for patch in "$ROOT"/tests/mutants/*.patch; do
    if git -C "$ROOT" apply --check --reverse "$patch" 2>/dev/null; then
      say "${patch#"$ROOT"/} is applied: git apply --reverse takes it back"
      status=1
    elif ! git -C "$ROOT" apply --check "$patch"; then
      say "${patch#"$ROOT"/} does not apply: change it as the code has changed"
      status=1
    fi
  done
  return "$status"
}

# Tries all of them, so that one run reports every mutant that no test catches. In a shell of its own, which takes the patch back when it
# ends.
try_mutants() (
  local patches=("$ROOT"/tests/mutants/*.patch) patch name crate target test ended started failed=()
  planted=''
  trap take_back EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  export_servers
  cd "$ROOT" || exit
  say "running the tests without mutants"
  run_mutant_tests "${patches[@]}"
  for patch in "${patches[@]}"; do
    read -r crate target test <"$patch"
    ended=$(outcome_of "$test")
    [[ $ended == passed ]] || failed+=("$test $ended without any mutant")
  done
  ((${#failed[@]} == 0)) || give_up_mutants "${failed[@]}"

  for patch in "${patches[@]}"; do
    read -r crate target test <"$patch"
    name=$(basename "$patch" .patch) started=$SECONDS
    plant "$patch"
    run_mutant_tests --config "profile.dev.package.$crate.codegen-units=$MUTANT_CODEGEN_UNITS" "$patch"
    take_back
    ended=$(outcome_of "$test")
    if [[ $ended == failed ]]; then
      say "$name: caught by ${test##*::} ($((SECONDS - started))s)"
    else
      tail -n 30 "$MUTANT_LOG" >&2
      failed+=("$name: $target's $test $ended")
    fi
  done
  # Tests of a crate build its program too. Put the programs of the checkout back.
  cargo build "${EVERYTHING[@]}" --bins >"$MUTANT_LOG" 2>&1 || failed+=("the programs cannot be built again")
  ((${#failed[@]} == 0)) || give_up_mutants "${failed[@]}"
  say "all ${#patches[@]} mutants are caught"
)

plant() { # patch
  local file
  originals=$(mktemp -d)
  while IFS= read -r file; do
    mkdir -p "$originals/$(dirname "$file")" && cp -p "$file" "$originals/$file"
  done < <(files_of_mutant "$1")
  planted=$1
  git apply "$1"
}

# Takes the planted patch back. A file that is as it was gets its time back, too: otherwise cargo would compile its crate again.
take_back() {
  local file
  [[ -n $planted ]] || return 0
  git apply --reverse "$planted" || say "take it back by hand: git apply --reverse ${planted#"$ROOT"/}"
  while IFS= read -r file; do
    ! cmp -s "$originals/$file" "$file" || touch -r "$originals/$file" "$file"
  done < <(files_of_mutant "$planted")
  rm -rf "$originals"
  planted=''
}

files_of_mutant() { # patch
  sed -n 's|^+++ b/||p' "$1"
}

# Runs the tests of these mutants only. With --workspace, dependencies keep the features of ./dev test and are not
# compiled again.
run_mutant_tests() { # [--config setting] patches...
  local options=() patch crate target test targets=() tests=()
  if [[ $1 == --config ]]; then
    options=("$1" "$2")
    shift 2
  fi
  for patch in "$@"; do
    read -r crate target test <"$patch"
    targets+=(--test "$target")
    tests+=("$test")
  done
  cargo test ${options[@]+"${options[@]}"} --workspace --features "$FEATURES" "${targets[@]}" --no-fail-fast -- --exact "${tests[@]}" \
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
