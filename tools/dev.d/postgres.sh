# shellcheck shell=bash
# PostgreSQL: one cluster for this checkout, with durable commits, on the loopback address only.
#
# PostgreSQL refuses to run as root. Root therefore runs it as `nobody`, who must be able to enter every folder above the
# data. If `nobody` cannot (a checkout under /root), program and data are under /var/lib/idem-dev, and .dev/postgres is a
# link.
#
#   .dev/postgres/CHECKSUM/   the program, unpacked
#   .dev/postgres/data/       the cluster

POSTGRES_DIR=$IDEM_DEV_DIR/postgres
CLOCK_VARIABLES=() # `./dev bench --only days` moves the clock

# The prefix of commands that run as the owner of the cluster.
if ((EUID == 0)); then
  AS_POSTGRES=(setpriv "--reuid=$(id -u nobody)" "--regid=$(id -g nobody)" --clear-groups --)
else
  AS_POSTGRES=(env)
fi

postgres_program() { echo "$POSTGRES_DIR/$(basename "$(servers_dir)")"; }

place_postgres() {
  if "${AS_POSTGRES[@]}" test -x "$IDEM_DEV_DIR"; then
    mkdir -p "$POSTGRES_DIR"
  elif [[ ! -e $POSTGRES_DIR ]]; then
    place_postgres_elsewhere
  fi
  POSTGRES_DIR=$(cd -P "$POSTGRES_DIR" && pwd) # without the link, which `nobody` could not follow
}

place_postgres_elsewhere() {
  local sum elsewhere
  sum=$(cksum <<<"$IDEM_DEV_DIR")
  elsewhere=/var/lib/idem-dev/${sum%% *}
  mkdir -p "$elsewhere"
  "${AS_POSTGRES[@]}" test -x "$elsewhere" ||
    die "PostgreSQL's user can enter none of these folders: set IDEM_DEV_DIR to another one, or IDEM_POSTGRES_URL to a server"
  ln -sfn "$elsewhere" "$POSTGRES_DIR"
  say "PostgreSQL is in $elsewhere, because its user cannot enter $IDEM_DEV_DIR"
}

prepare_postgres() {
  fetch_servers
  place_postgres
  local program
  program=$(postgres_program)
  if [[ ! -d $program ]]; then
    rm -rf "$program.part" && mkdir "$program.part"
    step "unpacking PostgreSQL" tar -xJf "$(servers_dir)"/postgres/*.txz -C "$program.part" ||
      die "PostgreSQL's archive could not be unpacked: see above"
    mv "$program.part" "$program"
  fi
  if [[ ! -d $POSTGRES_DIR/data ]]; then
    rm -rf "$POSTGRES_DIR/data.part" && mkdir -m 0700 "$POSTGRES_DIR/data.part"
    ((EUID != 0)) || chown nobody "$POSTGRES_DIR/data.part"
    step "making PostgreSQL's cluster" "${AS_POSTGRES[@]}" "$program/bin/initdb" -D "$POSTGRES_DIR/data.part" \
      -U postgres -A trust --no-locale -E UTF8 || die "initdb failed: see above"
    mv "$POSTGRES_DIR/data.part" "$POSTGRES_DIR/data"
  fi
}

# Removes the lock file of a killed server. The file may name a zombie process, which PostgreSQL takes for a running
# server. In a container without init a zombie stays forever.
forget_dead_server() {
  local lock=$POSTGRES_DIR/data/postmaster.pid pid deadline=$((SECONDS + 3))
  [[ -r $lock ]] || return 0
  read -r pid <"$lock" || return 0
  [[ -z $(process_identity "$pid") ]] || return 0
  while kill -0 "$pid" 2>/dev/null; do
    if ((SECONDS >= deadline)); then
      rm -f "$lock"
      break
    fi
    sleep 0.05
  done
}

start_postgres() {
  prepare_postgres
  forget_dead_server
  local POSTGRES_TLS=()
  [[ -z $IDEM_TLS ]] || copy_certificates_to_postgres "$POSTGRES_DIR/data"
  # No socket, because its path may be too long for the system. 800 connections serve the pools of two installations with two of each service
  # and separate relays, as tests run them.
  launch postgres "${AS_POSTGRES[@]}" env ${CLOCK_VARIABLES[@]+"${CLOCK_VARIABLES[@]}"} "$(postgres_program)/bin/postgres" -D "$POSTGRES_DIR/data" \
    -p "$(port_of postgres)" -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
    -c max_connections=800 -c timezone=UTC ${POSTGRES_TLS[@]+"${POSTGRES_TLS[@]}"} \
    -c shared_preload_libraries=pg_stat_statements -c pg_stat_statements.track=none # `./dev bench --only growth` counts
}

postgres_answers() {
  devtool wait-postgres "$POSTGRES_URL" --timeout 1 2>/dev/null
}

# The URL of a role and a database on the same server. In development a role's password is its name.
database_url() { # role database
  local server=${POSTGRES_URL#*://} query=''
  server=${server#*@}
  [[ $server != *\?* ]] || query="?${server#*\?}"
  echo "postgres://$1:$1@${server%%[/?]*}/$2$query"
}
