# shellcheck shell=bash
# Projects that ./dev new makes, tried as their owners would.
#
#   .dev/template/NAME/   a project

# The variants: the arguments of ./dev new behind the folder.
TEMPLATES=(
  "shop --name shop"
  "ticket-shop --name ticket-shop --service seats"
)

command_template() { # [--quick]
  local variant folder arguments quick=''
  [[ ${1:-} != --quick ]] || { quick=yes && shift; }
  (($# == 0)) || usage_error "template takes no other argument than --quick"
  for variant in "${TEMPLATES[@]}"; do
    read -r folder arguments <<<"$variant"
    say "== ./dev new $folder $arguments"
    rm -rf "${IDEM_DEV_DIR:?}/template/$folder"
    # shellcheck disable=SC2086 # words
    CARGO_TARGET_DIR=$(dirname "$BIN_DIR") command_new "$IDEM_DEV_DIR/template/$folder" $arguments
    if [[ -n $quick ]]; then try_rules "$folder"; else use_project "$folder"; fi || die "the project $folder is not sound: see above"
  done
  say "these projects are sound: ${TEMPLATES[*]%% *}"
}

# Compiles the rules of the architecture and asks them; ./dev new has compiled the program of a new service. In the target folder of this
# checkout, because third-party crates are the same.
try_rules() { # folder
  (
    cd "$IDEM_DEV_DIR/template/$1" || exit
    CARGO_TARGET_DIR=$(dirname "$BIN_DIR")
    export CARGO_TARGET_DIR
    forget_this_checkout
    ./dev check format && cargo test --quiet --package architecture
  )
}

# As the README says, with nothing of this checkout.
use_project() { # folder
  (
    cd "$IDEM_DEV_DIR/template/$1" || exit
    forget_this_checkout
    ./dev check && ./dev test && ./dev demo
  )
}

# The settings of this checkout have its own prefix.
forget_this_checkout() {
  local variable
  for variable in $(compgen -e IDEM_); do unset "$variable"; done
}
