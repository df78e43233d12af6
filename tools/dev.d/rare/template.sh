# shellcheck shell=bash
# A project that ./dev new makes, changed as its owner would, and brought to this checkout by ./dev update; and others
# without one of the services.
#
#   .dev/template/idem/          the origin: this checkout with its history
#   .dev/template/ticket-shop/   the first project
#   .dev/template/without-NAME/  the others

TEMPLATE=$IDEM_DEV_DIR/template
PROJECT=$TEMPLATE/ticket-shop
# They are made by the ./dev new of this commit: a younger one, when an owner's change of below conflicts with what came since.
MADE_FROM=9f8d4dcede46960a510ebcf3105be798c61ed0d2

command_template() { # [--quick]
  local projects=("$PROJECT" "$TEMPLATE"/without-{inventory,payments}) try=use_project project
  if [[ ${1:-} == --quick ]]; then
    # Each commit tries the next project, so that CI tries all of them in three runs.
    projects=("${projects[$(git -C "$ROOT" rev-list --count HEAD) % 3]}") try=try_quickly
    shift
  fi
  (($# == 0)) || usage_error "template takes no arguments but --quick"
  require git perl "${TO_BUILD[@]}"
  rm -rf "${TEMPLATE:?}" && mkdir -p "$TEMPLATE"
  { clone_checkout "$TEMPLATE/idem" && make_older_project && change_as_owner && update_project && make_without inventory && make_without payments &&
    conflicts_are_those_of_git && a_drop_leaves_what_does_not_fit; } || die "the projects in $TEMPLATE could not be made: see above"
  for project in "${projects[@]}"; do "$try" "$project" || die "the project in $project is not sound: see above"; done
  say "sound: ${projects[*]}"
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

# The owner's field is beside lines that the patches of payments remove. So a piece of the drop does not fit.
a_drop_leaves_what_does_not_fit() {
  if (cd "$PROJECT" && ./dev drop payments --no-build); then say "./dev drop fits everything" && return 1; fi
  [[ -e $PROJECT/services/orders/src/store/orders.rs.rej && ! -e $PROJECT/services/payments ]] || { say "a piece should be left, and payments gone" && return 1; }
  git -C "$PROJECT" reset --quiet --hard
  [[ -z $(git -C "$PROJECT" status --porcelain) ]] || { say "git reset --hard leaves files of the drop" && return 1; }
}

# Compiles the project, asks the rules of the architecture, runs the tests of all services but payments, whose tests take minutes, and plays
# the demo. In the target folder of this checkout, because third-party crates are the same.
try_quickly() ( # project
  cd "$1" || exit
  local service tests=()
  CARGO_TARGET_DIR=$(dirname "$BIN_DIR")
  export CARGO_TARGET_DIR
  keep_only_the_ports
  set_own_version . || exit
  for service in services/*/service.toml; do
    service=$(basename "$(dirname "$service")")
    [[ $service == payments ]] || tests+=(-p "$service")
  done
  # The rules that read documents come after the programs have written them.
  ./dev check format lints && ./dev openapi && cargo test --quiet --package architecture && ./dev test "${tests[@]}" && ./dev demo &&
    refuses_an_edited_migration
)

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

# Without a change of the owner's.
make_without() { # service
  local folder=$TEMPLATE/without-$1
  "$TEMPLATE/older/dev" new "$folder" --name ticket-shop --without "$1" --service seats --no-build &&
    (cd "$folder" && ./dev update "$TEMPLATE/idem") && commit_all "$folder" "What the origin has learnt"
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
