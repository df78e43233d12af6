# shellcheck shell=bash
# Projects that ./dev new makes, tried as their owners would.
#
#   .dev/template/NAME/   a project

# The variants: the arguments of ./dev new behind the folder.
TEMPLATES=(
  "shop --name shop"
  "ticket-shop --name ticket-shop --without payments --service seats"
  "studio --name studio --without inventory --service bookings --service invoices"
)

command_template() { # [--quick] [names...]
  local variant folder arguments quick='' tried=()
  [[ ${1:-} != --quick ]] || { quick=yes && shift; }
  for folder in "$@"; do
    [[ " ${TEMPLATES[*]%% *} " == *" $folder "* ]] || usage_error "there is no project '$folder': the projects are ${TEMPLATES[*]%% *}"
  done
  perl "$ROOT/tools/dev.d/merge-words.t" || die "merge-words.pl merges otherwise than its examples say: see above"
  for variant in "${TEMPLATES[@]}"; do
    read -r folder arguments <<<"$variant"
    (($# == 0)) || [[ " $* " == *" $folder "* ]] || continue
    say "== ./dev new $folder $arguments"
    rm -rf "${IDEM_DEV_DIR:?}/template/$folder"
    # shellcheck disable=SC2086 # words
    command_new "$IDEM_DEV_DIR/template/$folder" $arguments ${quick:+--no-build}
    if [[ -n $quick ]]; then try_quickly "$folder" "$arguments"; else use_project "$folder"; fi || die "the project $folder is not sound: see above"
    tried+=("$folder")
  done
  say "these projects are sound: ${tried[*]}"
}

# Compiles a project with other services than here, and asks the rules of the architecture. Where a service is left out and another one
# added, plays its demo. In the target folder of this checkout, because third-party crates are the same.
try_quickly() { # folder arguments
  local checks=(format)
  [[ $2 != *--without* && $2 != *--service* ]] || checks+=(lints)
  (
    cd "$IDEM_DEV_DIR/template/$1" || exit
    CARGO_TARGET_DIR=$(dirname "$BIN_DIR")
    export CARGO_TARGET_DIR
    keep_only_the_ports "$1"
    set_own_version . || exit
    # Without the rules that read documents: the programs write them, and --no-build builds none.
    ./dev check "${checks[@]}" && cargo test --quiet --package architecture -- \
      --skip documents:: --skip the_texts_in_each_stored_response_are_documented || exit
    [[ $1 != ticket-shop ]] || { ./dev openapi && ./dev demo && refuses_an_edited_migration "$PROJECT_PREFIX"; }
  )
}

# An owner edits the migration of the new service, which the data of the demo has already.
refuses_an_edited_migration() { # prefix of the settings
  local edited printed status=0
  edited=$(echo migrations/seats/*/up.sql)
  echo '-- edited' >>"$edited"
  printed=$(env "$1_SKIP_BUILD=yes" ./dev up 2>&1) || status=$?
  ./dev down
  ((status != 0)) || { say "./dev up accepts an edited migration: $edited" && return 1; }
  [[ $printed == *"edited after this data had it: $edited"* ]] || { say "./dev up should name $edited, and prints: $printed" && return 1; }
}

# As the README says, with nothing of this checkout.
use_project() { # folder
  (
    cd "$IDEM_DEV_DIR/template/$1" || exit
    keep_only_the_ports "$1"
    ./dev check && ./dev test && ./dev demo
  )
}

# Forgets the settings of this checkout, all but the ports: those that are free.
keep_only_the_ports() { # name; sets PROJECT_PREFIX
  local variable base=$IDEM_PORT_BASE
  for variable in $(compgen -e IDEM_); do unset "$variable"; done
  PROJECT_PREFIX=$(tr 'a-z-' 'A-Z_' <<<"$1")
  export "${PROJECT_PREFIX}_PORT_BASE=$base"
}
