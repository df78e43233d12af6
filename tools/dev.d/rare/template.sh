# shellcheck shell=bash
# A project that ./dev new makes, changed as its owner would, and brought to this checkout by ./dev update; and one without payments.
#
#   .dev/template/idem/          the origin: this checkout with its history
#   .dev/template/ticket-shop/   the first project
#   .dev/template/seat-shop/     the second one

TEMPLATE=$IDEM_DEV_DIR/template
PROJECT=$TEMPLATE/ticket-shop
WITHOUT=$TEMPLATE/seat-shop
# The project is made by the ./dev new of this commit: a younger one, when an owner's change of below conflicts with what came since.
MADE_FROM=6974fe1e82e991611f15c05911f641d2c8b21f47

command_template() { # [--quick]
  local updated=use_project without=use_project
  [[ ${1:-} != --quick ]] || { updated=try_updated without=try_without && shift; }
  (($# == 0)) || usage_error "template takes no arguments but --quick"
  require git perl "${TO_BUILD[@]}"
  rm -rf "${TEMPLATE:?}" && mkdir -p "$TEMPLATE"
  { clone_checkout "$TEMPLATE/idem" && make_older_project && change_as_owner && update_project && conflicts_are_those_of_git && "$updated" "$PROJECT"; } ||
    die "the project in $PROJECT is not sound: see above"
  { "$TEMPLATE/idem/dev" new "$WITHOUT" --name ticket-shop --without payments --service seats --no-build && "$without" "$WITHOUT"; } ||
    die "the project in $WITHOUT is not sound: see above"
  say "the projects in $TEMPLATE are sound"
}

# A shallow clone may lack the older commit: the project is then made from the newest one, and the first update finds nothing.
make_older_project() {
  local made_from=$MADE_FROM
  if ! git -C "$ROOT" cat-file -e "$made_from^{commit}" 2>/dev/null; then
    say "this clone does not have the commit $made_from: git fetch --unshallow"
    [[ $(git -C "$ROOT" rev-parse --is-shallow-repository) == true ]] || return
    made_from=HEAD
  fi
  git -C "$TEMPLATE/idem" worktree add --quiet --detach "$TEMPLATE/older" "$made_from" &&
    "$TEMPLATE/older/dev" new "$PROJECT" --name ticket-shop --service seats --no-build
}

# A field, and a new form of an event, as the how-tos in the project have them.
change_as_owner() {
  git -C "$PROJECT" apply docs/how-to/a-field.diff docs/how-to/an-event-version.diff && commit_all "$PROJECT" "A field, and an event"
}

update_project() { (cd "$PROJECT" && ./dev update "$TEMPLATE/idem") && commit_all "$PROJECT" "What the origin has learnt"; }

# The origin and the owner write another first line.
conflicts_are_those_of_git() {
  local file=docs/glossary.md
  edit_lines "$TEMPLATE/idem/$file" 's/.*/# Words/ if $. == 1' && commit_all "$TEMPLATE/idem" "Another title" &&
    edit_lines "$PROJECT/$file" 's/.*/# Our words/ if $. == 1' && commit_all "$PROJECT" "Our title" || return
  ! (cd "$PROJECT" && ./dev update "$TEMPLATE/idem") || { say "./dev update finds no conflict" && return 1; }
  [[ $(git -C "$PROJECT" status --porcelain | grep '^UU') == "UU $file" ]] || { say "$file alone should have a conflict" && return 1; }
  git -C "$PROJECT" reset --quiet --hard
}

# Compiles the project, asks the rules of the architecture, and runs the tests of the services that the owner has changed.
try_updated() { (try_quickly "$1" 998 -p orders -p inventory -p seats); } # project

# The same of the services that payments leaves, and the demo.
try_without() { (try_quickly "$1" 999 -p orders -p inventory -p seats && ./dev demo && refuses_an_edited_migration); } # project

# In the target folder of this checkout, because third-party crates are the same.
try_quickly() { # project version tests...
  cd "$1" || return
  CARGO_TARGET_DIR=$(dirname "$BIN_DIR")
  export CARGO_TARGET_DIR
  keep_only_the_ports
  set_own_version . "$2" && shift 2 || return
  # The rules that read documents come after the programs have written them.
  ./dev check format lints && ./dev openapi && cargo test --quiet --package architecture && ./dev test "$@"
}

# An owner edits the migration of the new service, which the data of the demo has already.
refuses_an_edited_migration() {
  local edited printed status=0
  edited=$(echo migrations/seats/*/up.sql)
  echo '-- edited' >>"$edited"
  printed=$(env TICKET_SHOP_SKIP_BUILD=yes ./dev up 2>&1) || status=$?
  ./dev down
  ((status != 0)) || { say "./dev up accepts an edited migration: $edited" && return 1; }
  [[ $printed == *"edited after this data had it: $edited"* ]] || { say "./dev up should name $edited, and prints: $printed" && return 1; }
}

# As the README says, with nothing of this checkout.
use_project() { # project
  (
    cd "$1" || exit
    keep_only_the_ports
    ./dev openapi && ./dev check && ./dev test && ./dev demo
  )
}

# Forgets the settings of this checkout, all but the ports: those that are free.
keep_only_the_ports() {
  local variable
  export TICKET_SHOP_PORT_BASE=$IDEM_PORT_BASE
  for variable in $(compgen -e IDEM_); do unset "$variable"; done
}
