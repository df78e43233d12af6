# shellcheck shell=bash
# The diffs of docs/how-to: each adds one thing to this project, as docs/architecture.md explains. They are tried on a copy of this
# checkout, so that they stay true. The documents of the APIs and Cargo.lock are not in them, because programs write those.
#
#   .dev/how-to/   the copy, a git repository of its own

HOW_TO=$ROOT/docs/how-to
HOW_TO_COPY=$IDEM_DEV_DIR/how-to

command_how_to() { # [--compile | --in-turn | --open | --write] [names...]
  local mode=test names=() name
  while (($#)); do
    case $1 in
      --compile | --open | --write) mode=${1#--} ;;
      --in-turn) names+=("$(name_in_turn)") ;;
      -*) usage_error "how-to has no option $1" ;;
      *) names+=("$1") ;;
    esac
    shift
  done
  ((${#names[@]})) || while IFS= read -r name; do names+=("$name"); done < <(how_to_names)
  for name in "${names[@]}"; do
    [[ -e $HOW_TO/$name.diff ]] || usage_error "there is no diff '$name': the diffs are $(how_to_names | tr '\n' ' ')"
  done
  [[ $mode != open && $mode != write ]] || ((${#names[@]} == 1)) || usage_error "--$mode takes one name"
  case $mode in
    write) write_diff "${names[0]}" ;;
    open) open_diff "${names[0]}" ;;
    compile) copy_to_build && compile_diffs "${names[@]}" ;;
    test)
      require_for postgres kafka
      copy_to_build
      with_parts postgres kafka -- test_diffs "${names[@]}"
      ;;
  esac
}

how_to_names() {
  local file
  for file in "$HOW_TO"/*.diff; do basename "$file" .diff; done
}

# Prints the next name each time that CI asks, so that CI tries all diffs.
name_in_turn() {
  local names commits
  names=$(how_to_names)
  commits=$(git -C "$ROOT" rev-list --count HEAD 2>/dev/null || echo 0)
  # CI asks at every fourth commit.
  sed -n "$((commits / 4 % $(wc -l <<<"$names") + 1))p" <<<"$names"
}

copy_for_diffs() {
  require "${TO_BUILD[@]}" git
  copy_checkout "$HOW_TO_COPY"
  # Cargo compares times. A file that was compiled with a diff must be newer than that.
  local file
  cat "$HOW_TO"/*.diff | sed -n 's|^--- a/||p' | sort -u | while IFS= read -r file; do
    [[ ! -e $HOW_TO_COPY/$file ]] || touch "$HOW_TO_COPY/$file"
  done
}

copy_to_build() {
  copy_for_diffs
  set_own_version "$HOW_TO_COPY" || die "cargo could not lock the new versions: see above"
  commit_all "$HOW_TO_COPY" "A version of its own"
}

# All together, so that the workspace is compiled once. Each also applies alone.
compile_diffs() { # names...
  local name
  for name in "$@"; do
    in_copy git apply --check "$HOW_TO/$name.diff" || die "docs/how-to/$name.diff does not apply: ./dev how-to --open $name"
  done
  for name in "$@"; do
    in_copy git apply -C1 "$HOW_TO/$name.diff" || die "docs/how-to/$name.diff does not apply beside the others: see above"
  done
  in_copy ./dev check format lints || die "a diff does not compile: see above"
  say "these diffs apply and compile: $*"
}

# With the features of ./dev test: otherwise cargo would compile third-party crates once more.
test_diffs() { # names...
  local name target targets failed=''
  for name in "$@"; do
    say "== docs/how-to/$name.diff"
    in_copy git checkout --quiet . && in_copy git clean --quiet -fd
    in_copy git apply "$HOW_TO/$name.diff" || die "docs/how-to/$name.diff does not apply: ./dev how-to --open $name"
    targets=(--test architecture --test contract)
    for target in $(tests_of "$name"); do targets+=(--test "$target"); done
    in_copy ./dev openapi && in_copy ./dev check format file_sizes && with_our_servers ./dev test "${targets[@]}" || failed+=" $name"
  done
  [[ -z $failed ]] || die "these diffs are wrong:$failed"
  say "these diffs apply, compile and pass their tests: $*"
}

# The tests of the crates that a diff changes.
tests_of() { # name
  local folder path
  sed -n -E 's#^\+\+\+ b/((services/[a-z]+|shared/contracts))/.*#\1#p' "$HOW_TO/$1.diff" | sort -u | while IFS= read -r folder; do
    for path in "$HOW_TO_COPY/$folder"/tests/*; do
      [[ ! -e $path/main.rs && $path != *.rs ]] || basename "$path" .rs
    done
  done
}

# Other ports: the copy then sees that these servers are not its own.
with_our_servers() { # command...
  in_copy env IDEM_PORT_BASE=$((IDEM_PORT_BASE + 100)) IDEM_POSTGRES_URL="$POSTGRES_URL" IDEM_KAFKA_BROKERS="$KAFKA_BROKERS" "$@"
}

# In the target folder of this checkout, because third-party crates are the same.
in_copy() { # command...
  (cd "$HOW_TO_COPY" && CARGO_TARGET_DIR=$(dirname "$BIN_DIR") IDEM_DEV_DIR=$HOW_TO_COPY/.dev "$@")
}

# Opens a diff for a change: what does not apply is left beside its file as .rej.
open_diff() { # name
  copy_for_diffs
  in_copy git apply --reject "$HOW_TO/$1.diff" || say "mend what is in the .rej files, and remove them"
  say "change the files in $HOW_TO_COPY, then: ./dev how-to --write $1"
}

write_diff() { # name
  [[ -e $HOW_TO_COPY/.git ]] || die "nothing is open: ./dev how-to --open $1"
  in_copy git add --all
  in_copy git diff --cached --no-renames --unified=2 HEAD -- . ':!openapi/*.json' ':!Cargo.lock' >"$HOW_TO/$1.diff"
  say "written: docs/how-to/$1.diff"
}
