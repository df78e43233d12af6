# shellcheck shell=bash
# shellcheck disable=SC2034 # the other files read these variables
# The names of the parts, and the port, program and kind that belong to a name.
#
# One instance of each service (the default), each with its relay inside. Two instances (--instances 2): also orders-2 and so
# on, on their own ports. Relays are then processes of their own, such as orders-relay and orders-relay-2, of which one is
# active and the other is on standby.
#
# `prometheus` runs only if it is named.

# The services: each folder with a service.toml.
SERVICES=()
for service in "$ROOT"/services/*/service.toml; do
  service=${service%/service.toml}
  SERVICES+=("${service##*/}")
done

# The programs that run beside services, and stand for other systems: NAME PROGRAM PORT, as service.toml has them.
BESIDE=()
while IFS= read -r service; do BESIDE+=("$service"); done < <(
  sed -n 's/^\([a-z]*\) = { program = "\([a-z-]*\)", port = \([0-9]*\),.*/\1 \2 \3/p' "$ROOT"/services/*/service.toml
)

# All names, in the order of starting: a part comes after the parts that it needs. A relay comes before its service.
# Because parts stop in reverse order, the relay then publishes the last events of the service.
PARTS=(postgres kafka ${BESIDE[@]+"${BESIDE[@]%% *}"})
for service in "${SERVICES[@]}"; do PARTS+=("$service-relay" "$service-relay-2"); done
for service in "${SERVICES[@]}"; do PARTS+=("$service" "$service-2"); done
PARTS+=(prometheus)

# The parts of this checkout: `up`, `status` and `logs` without names mean these.
choose_parts() { # reads IDEM_INSTANCES, sets ALL
  local name
  case $IDEM_INSTANCES in
    1) ALL=(postgres kafka ${BESIDE[@]+"${BESIDE[@]%% *}"} "${SERVICES[@]}") ;;
    2) ALL=("${PARTS[@]:0:${#PARTS[@]}-1}") ;; # without prometheus
    *) usage_error "there can be 1 or 2 instances of each service, not '$IDEM_INSTANCES'" ;;
  esac
}

set_instances() { # number
  IDEM_INSTANCES=$1
  choose_parts
}

check_names() { # names...
  local name
  for name in "$@"; do
    [[ " ${PARTS[*]} " == *" $name "* ]] || usage_error "there is no part '$name': the parts are ${PARTS[*]}"
  done
}

is_server() { [[ $1 == postgres || $1 == kafka ]]; }

is_relay() { [[ $1 == *-relay || $1 == *-relay-2 ]]; }

# Whether the part is a process of a service.
is_service() { [[ " ${SERVICES[*]} " == *" $(service_of "$1") "* ]]; }

# The service of a part, and with it the program and the database: orders-relay-2 belongs to orders.
service_of() { # name
  local name=${1%-2}
  echo "${name%-relay}"
}

# The line in BESIDE of such a program. Fails if the part is none.
beside() { # name
  local line
  for line in ${BESIDE[@]+"${BESIDE[@]}"}; do
    [[ ${line%% *} != "$1" ]] || { echo "$line" && return; }
  done
  return 1
}

# The program of a service, or of a part beside one.
program_of() { # name
  local line
  line=$(beside "$1") || line="$1 $1"
  line=${line#* }
  echo "${line% *}"
}

# The sections of settings that only this program has.
sections_of() { # name
  sed -n 's/^'"$1"' = {.* sections = \[\(.*\)\] }$/\1/p' "$ROOT"/services/*/service.toml | tr -d '",'
  [[ ! -e $ROOT/services/$1/config.toml ]] || sed -n '/^\[http\]/d; s/^\[\([a-z_]*\)\].*/\1/p' "$ROOT/services/$1/config.toml" | tr '[:lower:]' '[:upper:]'
}

# NAME=VALUE of each setting that a description has for a part, unless the caller of ./dev sets it.
described_settings() { # name
  local name value
  sed -n '/^\[settings\.'"$1"'\]$/,/^\[/s/^\(IDEM_[A-Z_]*\) = "\(.*\)"$/\1 \2/p' "$ROOT"/services/*/service.toml | while read -r name value; do
    [[ ! $value =~ \{([a-z]+)\} ]] || value=${value/"${BASH_REMATCH[0]}"/$(port_of "${BASH_REMATCH[1]}")}
    echo "$name=${!name:-$value}"
  done
}

# The port of a relay is its admin port.
port_of() { # name
  local second=0 relay=0 offset
  [[ $1 != *-2 ]] || second=10
  ! is_relay "$1" || relay=60
  offset=$(port_offset "$(service_of "$1")") || return
  echo $((IDEM_PORT_BASE + offset + relay + second))
}

port_offset() { # name
  local line
  if line=$(beside "$1"); then echo "${line##* }" && return; fi
  case $1 in
    postgres) echo 31 ;;
    kafka) echo 41 ;;
    prometheus) echo 81 ;;
    *) port_of_description "$1" ;;
  esac
}

# The port in the description of a service. Fails if there is no such service.
port_of_description() { # service
  local file=$ROOT/services/$1/service.toml
  [[ -e $file ]] || return
  [[ $'\n'$(<"$file") =~ $'\nport'\ *=\ *([0-9]+) ]] || die "$file has no port"
  echo "${BASH_REMATCH[1]}"
}
