# shellcheck shell=bash
# The checks that need no server: format, lints, documentation, third-party crates and their advisories, packages, OpenAPI, manifests, alerts, migrations, shell scripts, markers,
# file sizes, sizes of the whole, patches of mutants, and of services that can be dropped.
# All of them run, so that one run reports every failure.

MAX_LINES=350 # a longer .rs file has two subjects
MAX_PATCH_LINES=600 # no compiler reads a patch
CARGO_DENY_VERSION=0.20.2

CHECKS=(format lints documentation third_parties advisories packages openapi kubernetes alerts migrations shell no_markers file_sizes sizes mutants drops)

check() { # [names...]
  local failed=() rule
  (($#)) || set -- "${CHECKS[@]}"
  for rule in "$@"; do
    [[ " ${CHECKS[*]} " == *" $rule "* ]] || usage_error "there is no check '$rule': the checks are ${CHECKS[*]}"
  done
  require perl "${TO_BUILD[@]}"
  [[ ${CI:-} != true ]] || require shellcheck
  cd "$ROOT" || exit
  for rule in "$@"; do
    say "== $rule"
    "check_$rule" || failed+=("$rule")
  done
  ((${#failed[@]} == 0)) || die "check failed: ${failed[*]}"
  say "check passed"
}

check_format() {
  cargo fmt --all --check || { say "cargo fmt --all writes it so" && return 1; }
  e2e_sources | xargs -0 rustfmt --check || { say "rustfmt writes it so" && return 1; }
}

# Cargo does not see them, because build scripts find them.
e2e_sources() { find services skeleton -path '*/e2e/*.rs' -print0 2>/dev/null; }

# Fails if clippy.toml bans a path that does not exist. Clippy only warns about it, even with -D warnings.
check_lints() {
  local output=$LOG_DIR/clippy.log
  cargo clippy --workspace --all-targets --features "$FEATURES" -- -D warnings 2>&1 | tee "$output" || return
  if grep -q "does not refer to a reachable function" "$output"; then
    say "clippy.toml bans a function that does not exist: see above"
    return 1
  fi
}

# Libraries, and devtool, which has none. A program with the name of its library would overwrite the library's pages.
check_documentation() {
  RUSTDOCFLAGS="-D warnings" cargo doc --no-deps "${EVERYTHING[@]}" --lib --bin devtool
}

# The licenses, bans and sources of deny.toml.
check_third_parties() {
  cargo_deny check --hide-inclusion-graph bans licenses sources
}

# Known vulnerabilities, and deny.toml's reasons to accept some. Their list is a repository outside of the registries.
check_advisories() {
  local output=$LOG_DIR/advisories.log
  cargo_deny --version >"$output" || return # builds it
  if ! cargo_deny fetch db >"$output" 2>&1; then
    say "not checked, because the list of advisories cannot be fetched: $output"
    return 0
  fi
  cargo_deny --offline check --hide-inclusion-graph advisories
}

cargo_deny() { # arguments...
  local home=$CACHE_DIR/cargo-deny-$CARGO_DENY_VERSION
  if [[ ! -x $home/bin/cargo-deny ]]; then
    say "building cargo-deny $CARGO_DENY_VERSION"
    # A debug build runs in 3 s, and builds faster.
    locked cargo install cargo-deny --quiet --locked --debug --version "$CARGO_DENY_VERSION" --root "$home" --no-track || return
  fi
  "$home/bin/cargo-deny" --locked "$@"
}

# A function of one file would replace that of another.
check_shell() {
  local twice
  twice=$(grep -hoE '^[a-z_]+\(\)' dev tools/dev.d/*.sh tools/dev.d/rare/*.sh | sort | uniq -d)
  [[ -z $twice ]] || { say "two files of tools/dev.d define $twice" && return 1; }
  if command -v shellcheck >/dev/null; then
    find services -path '*/drop/rules.sh' -print0 | xargs -0 shellcheck -x dev tools/dev.d/*.sh tools/dev.d/rare/*.sh .ci/run deploy/production/*.sh
  else
    say "shellcheck is not installed: skipped"
  fi
}

# Open work belongs in an issue, not in a comment.
check_no_markers() {
  local pattern='TO''DO|FIX''ME'
  if sources | xargs -0 grep -nIwE "$pattern" /dev/null; then
    say "remove these, or open an issue for each"
    return 1
  fi
}

check_file_sizes() {
  local file lines most long=0
  while IFS= read -r -d '' file; do
    case $file in
      *.rs) most=$MAX_LINES ;;
      *.diff | *.patch) most=$MAX_PATCH_LINES ;;
      *) continue ;;
    esac
    lines=$(wc -l <"$file")
    if ((lines > most)); then
      say "$file has $((lines)) lines, and at most $most are allowed: it has two subjects"
      long=1
    fi
  done < <(sources)
  return "$long"
}

# Core, tools and words may not exceed the figures of sizes.txt, and a figure may not stay far above what it limits. A new project has no
# such file.
check_sizes() {
  local list=tools/dev.d/sizes.txt counted name most slack is status=0
  [[ -e $list ]] || return 0
  counted=$(command_lines) || return
  while read -r name most slack; do
    [[ -n $name && $name != \#* ]] || continue
    is=$(awk -v name="$name" '$1 == name { print $2 }' <<<"$counted")
    [[ -n $is ]] || { say "$list limits '$name', which ./dev lines does not count" && status=1 && continue; }
    if ((is > most)); then
      say "$name: $is, and $list allows $most: make something smaller, or raise the figure and say there why"
      status=1
    elif ((is < most - slack)); then
      say "$name: $is, and $list allows $most: lower the figure there"
      status=1
    fi
  done <"$list"
  return "$status"
}

# Every file that people wrote, names ended by NUL.
sources() {
  find . \( -name target -o -name '.dev*' -o -name .git \) -prune -o -type f -print0
}

# The rules and patches that drop a service fit the files as they are now.
check_drops() {
  local folder=$IDEM_DEV_DIR/drop rules service status=0
  for rules in services/*/drop/rules.sh; do
    service=$(basename "${rules%/drop/rules.sh}")
    [[ ! -e $rules ]] || { copy_checkout "$folder" && drop_service "$folder" "$service" && rm -rf "$folder"; } || status=1
  done
  return "$status"
}
