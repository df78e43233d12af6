# shellcheck shell=bash
# shellcheck disable=SC2034 # the other files read these variables
# The names of the parts, and the port, program and kind that belong to a name.
#
# One instance of each service (the default): inventory, payments, orders, each with its relay inside.
# Two instances (--instances 2): also inventory-2, payments-2 and orders-2 on their own ports. Relays are then processes
# of their own, such as orders-relay and orders-relay-2, of which one is active and the other is on standby.
#
# `prometheus` runs only if it is named.

# All names, in the order of starting: a part comes after the parts that it needs. A relay comes before its service.
# Because parts stop in reverse order, the relay then publishes the last events of the service.
PARTS=(
  postgres kafka provider
  inventory-relay inventory-relay-2 payments-relay payments-relay-2 orders-relay orders-relay-2
  inventory inventory-2 payments payments-2 orders orders-2
  prometheus
)

# The parts of this checkout: `up`, `status` and `logs` without names mean these.
choose_parts() { # reads IDEM_INSTANCES, sets ALL
  local name
  case $IDEM_INSTANCES in
    1) ALL=(postgres kafka provider inventory payments orders) ;;
    2) ALL=("${PARTS[@]:0:${#PARTS[@]}-1}") ;; # without prometheus
    *) usage_error "there can be 1 or 2 instances of each service, not '$IDEM_INSTANCES'" ;;
  esac
}

check_names() { # names...
  local name
  for name in "$@"; do
    [[ " ${PARTS[*]} " == *" $name "* ]] || usage_error "there is no part '$name': the parts are ${PARTS[*]}"
  done
}

is_server() { [[ $1 == postgres || $1 == kafka ]]; }

is_relay() { [[ $1 == *-relay || $1 == *-relay-2 ]]; }

# Whether the part is a service, which has an outbox and therefore a relay.
is_service() { ! is_server "$1" && [[ $1 != provider && $1 != prometheus ]]; }

# The service of a part, and with it the program and the database: orders-relay-2 belongs to orders.
service_of() { # name
  local name=${1%-2}
  echo "${name%-relay}"
}

# The program of a service or of the provider.
program_of() { # service
  if [[ $1 == provider ]]; then echo stripe-sim; else echo "$1"; fi
}

# The port of a relay is its admin port.
port_of() { # name
  local second=0
  [[ $1 != *-2 ]] || second=10
  case ${1%-2} in
    orders) echo $((IDEM_PORT_BASE + 1 + second)) ;;
    payments) echo $((IDEM_PORT_BASE + 2 + second)) ;;
    inventory) echo $((IDEM_PORT_BASE + 3 + second)) ;;
    provider) echo $((IDEM_PORT_BASE + 4)) ;;
    orders-relay) echo $((IDEM_PORT_BASE + 61 + second)) ;;
    payments-relay) echo $((IDEM_PORT_BASE + 62 + second)) ;;
    inventory-relay) echo $((IDEM_PORT_BASE + 63 + second)) ;;
    postgres) echo $((IDEM_PORT_BASE + 31)) ;;
    kafka) echo $((IDEM_PORT_BASE + 41)) ;;
    prometheus) echo $((IDEM_PORT_BASE + 81)) ;;
    *) return 1 ;;
  esac
}
