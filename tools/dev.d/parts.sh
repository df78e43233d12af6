# shellcheck shell=bash
# shellcheck disable=SC2034 # read by the other subjects
# The names of the parts, and what a name says.
#
# One instance of each service (the default): inventory, payments, orders, each with its relay inside.
# Two (--instances 2): a second one, orders-2, on ports of its own; and the relays apart, as processes that do
# nothing else, orders-relay and orders-relay-2, of which one is active and the other stands by.

# Every name there is. A part comes after those it needs; a relay comes before its service, so that it stops after
# it and carries away what the service has said.
PARTS=(
  postgres kafka provider
  inventory-relay inventory-relay-2 payments-relay payments-relay-2 orders-relay orders-relay-2
  inventory inventory-2 payments payments-2 orders orders-2
)

# Those of this checkout's stack: what `up`, `status` and `logs` mean when they are given no name.
choose_parts() { # reads IDEM_INSTANCES, sets ALL
  local name
  case $IDEM_INSTANCES in
    1) ALL=(postgres kafka provider inventory payments orders) ;;
    2) ALL=("${PARTS[@]}") ;;
    *) usage_error "there may be 1 or 2 instances of each service, and not '$IDEM_INSTANCES'" ;;
  esac
}

check_names() { # names...
  local name
  for name in "$@"; do
    [[ " ${PARTS[*]} " == *" $name "* ]] || usage_error "no part is called '$name': there are ${PARTS[*]}"
  done
}

is_server() { [[ $1 == postgres || $1 == kafka ]]; }

is_relay() { [[ $1 == *-relay || $1 == *-relay-2 ]]; }

# Whether there is an outbox with a relay, and therefore the question of where that runs.
is_service() { ! is_server "$1" && [[ $1 != provider ]]; }

# Whose program and database it is: orders-relay-2 is one of orders.
service_of() { # name
  local name=${1%-2}
  echo "${name%-relay}"
}

# The program of a service or of the provider.
program_of() { # service
  if [[ $1 == provider ]]; then echo stripe-sim; else echo "$1"; fi
}

# Relays have none.
port_of() { # name
  local second=0
  ! is_relay "$1" || return 1
  [[ $1 != *-2 ]] || second=10
  case ${1%-2} in
    orders) echo $((IDEM_PORT_BASE + 1 + second)) ;;
    payments) echo $((IDEM_PORT_BASE + 2 + second)) ;;
    inventory) echo $((IDEM_PORT_BASE + 3 + second)) ;;
    provider) echo $((IDEM_PORT_BASE + 4)) ;;
    postgres) echo $((IDEM_PORT_BASE + 31)) ;;
    kafka) echo $((IDEM_PORT_BASE + 41)) ;;
    *) return 1 ;;
  esac
}
