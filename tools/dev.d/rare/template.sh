# shellcheck shell=bash
# A project that ./dev new makes, tried as its owner would.
#
#   .dev/template/ticket-shop/   the project

TEMPLATE=$IDEM_DEV_DIR/template/ticket-shop

command_template() { # [--quick]
  local try=use_project
  [[ ${1:-} != --quick ]] || { try=try_quickly && shift; }
  (($# == 0)) || usage_error "template takes no arguments but --quick"
  rm -rf "${TEMPLATE:?}"
  command_new "$TEMPLATE" --name ticket-shop --service seats --no-build
  "$try" || die "the project in $TEMPLATE is not sound: see above"
  say "the project in $TEMPLATE is sound"
}

# Compiles the project, asks the rules of the architecture, and plays the demo. In the target folder of this checkout, because third-party
# crates are the same.
try_quickly() {
  (
    cd "$TEMPLATE" || exit
    CARGO_TARGET_DIR=$(dirname "$BIN_DIR")
    export CARGO_TARGET_DIR
    keep_only_the_ports
    set_own_version . || exit
    # The rules that read documents come after the programs have written them.
    ./dev check format lints && ./dev openapi && cargo test --quiet --package architecture && ./dev demo && refuses_an_edited_migration
  )
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
use_project() {
  (
    cd "$TEMPLATE" || exit
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
