# shellcheck shell=bash
# The upgrade: the programs of the commit in tests/upgrade/BASE and those of this checkout in one installation, under load.
#
#   .dev/upgrade/COMMIT/source/   that commit
#   .dev/upgrade/COMMIT/bin/      its programs

command_upgrade() {
  local base
  require_for postgres kafka
  require git
  base=$(upgrade_base)
  locked build_base_programs "$base"
  build_programs
  export IDEM_BASE_BIN_DIR=$IDEM_DEV_DIR/upgrade/$base/bin
  with_parts postgres kafka -- run_tests --test upgrade -- --ignored --nocapture
}

# Fails if this clone does not have the commit.
upgrade_base() {
  local base
  [[ -e $ROOT/tests/upgrade/BASE ]] || die "nothing is released: tests/upgrade/README.md says when tests/upgrade/BASE comes"
  base=$(<"$ROOT/tests/upgrade/BASE")
  git -C "$ROOT" cat-file -e "$base^{commit}" 2>/dev/null ||
    die "this clone does not have the commit $base of tests/upgrade/BASE: git fetch --unshallow"
  echo "$base"
}

# Builds them in the same target folder, because most crates are the same. The programs of this checkout are linked again after it.
build_base_programs() { # commit
  local folder=$IDEM_DEV_DIR/upgrade/$1 program packages=()
  [[ ! -e $folder/bin/ready ]] || return 0
  rm -rf "$folder" && mkdir -p "$folder/source" "$folder/bin"
  git -C "$ROOT" archive "$1" | tar -x -C "$folder/source" || die "the commit $1 could not be unpacked: see above"
  for program in "${SERVICES[@]}"; do packages+=(-p "$program"); done
  say "building the programs of $1"
  (cd "$folder/source" && CARGO_TARGET_DIR=${BIN_DIR%/debug} cargo build --bins "${packages[@]}" 9>&-) >&2 ||
    die "the programs of $1 could not be built: see above"
  for program in "${SERVICES[@]}"; do cp "$BIN_DIR/$program" "$folder/bin/" || die "$BIN_DIR/$program is not there"; done
  touch "$folder/bin/ready"
}

# The migrations that are newer than the base, judged by squawk: each must let the programs of the base go on. Those of the base are
# applied somewhere, so a change of them would reach no database.
check_migrations() {
  local base file changed failed=0
  require git python3
  require_venv
  if [[ ! -e tests/upgrade/BASE ]]; then
    say "nothing is released, so migrations may change"
    return
  fi
  base=$(<tests/upgrade/BASE)
  if ! git cat-file -e "$base^{commit}" 2>/dev/null; then
    say "this clone does not have the commit $base of tests/upgrade/BASE: skipped"
    return
  fi
  changed=$(git diff --name-only --diff-filter=MDR "$base" -- 'migrations/*/up.sql')
  if [[ -n $changed ]]; then
    say "changed since the commit in tests/upgrade/BASE: $changed: write a new migration"
    failed=1
  fi
  locked prepare_squawk
  while IFS= read -r file; do
    lint_migration "$file" || failed=1
  done < <(git diff --name-only --diff-filter=A "$base" -- 'migrations/*/up.sql' && git ls-files --others --exclude-standard -- 'migrations/*/up.sql')
  return "$failed"
}

# Each migration has a lock timeout: `migrate` sets it. Small numbers stay integer, as the older tables have them.
SQUAWK_EXCLUDED=prefer-robust-stmts,require-lock-timeout,require-statement-timeout,prefer-bigint-over-int,prefer-bigint-over-smallint

lint_migration() { # up.sql
  local transaction=(--assume-in-transaction)
  ! grep -qs '^run_in_transaction = false' "${1%/*}/metadata.toml" || transaction=()
  "$(squawk_home)/bin/squawk" --exclude "$SQUAWK_EXCLUDED" ${transaction[@]+"${transaction[@]}"} "$1"
}

squawk_home() { cache_for squawk "$ROOT/tests/upgrade/requirements.txt"; }

prepare_squawk() {
  local home
  home=$(squawk_home)
  [[ -e $home/ready ]] || step "installing squawk" install_python "$home" "$ROOT/tests/upgrade/requirements.txt" ||
    die "pip could not install it: see above"
}
