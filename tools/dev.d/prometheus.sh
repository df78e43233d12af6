# shellcheck shell=bash
# Prometheus: docs/alerts.md is written from the rules, promtool checks them and runs their tests, and `./dev up prometheus` scrapes the
# services.
#
#   .dev/cache/prometheus/   Debian's package, unpacked and not installed, because an installed one starts a server

check_alerts() {
  local promtool
  tools/dev.d/alerts-page.pl | cmp -s - docs/alerts.md ||
    { say "docs/alerts.md differs from the rules and their tests: tools/dev.d/alerts-page.pl --write" && return 1; }
  promtool=$(prometheus_program promtool) || return 0
  prometheus_config >"$IDEM_DEV_DIR/prometheus.yml"
  "$promtool" check config "$IDEM_DEV_DIR/prometheus.yml" &&
    "$promtool" test rules deploy/prometheus/alerts_test.yml services/*/alerts_test.yml
}

# Prints the path of promtool or prometheus; fails on a machine that has neither them nor Debian's packages.
prometheus_program() { # name
  local program=$CACHE_DIR/prometheus/usr/bin/$1
  if command -v "$1"; then return; fi
  if [[ ! -x $program ]]; then
    can_use apt-get dpkg-deb || return
    locked fetch_prometheus || die "Prometheus could not be fetched: see above"
  fi
  echo "$program"
}

# Prints deploy/prometheus/prometheus.yml for the processes of this checkout, with the jobs of the services in it: Debian's Prometheus
# does not know scrape_config_files yet.
prometheus_config() {
  local service
  sed -e '/^scrape_config_files:/,$d' -e "s|- alerts.yml|- $ROOT/deploy/prometheus/alerts.yml|; s|- \.\./\.\.|- $ROOT|" "$ROOT/deploy/prometheus/prometheus.yml"
  echo "scrape_configs:"
  for service in "${SERVICES[@]}"; do
    sed -n "/^  - /,\$ s/\"$service:[0-9]*\"/\"127.0.0.1:$(($(port_of "$service") + 1000))\"/; /^  - /,\$ p" "$ROOT/services/$service/prometheus.yml"
  done
}

# Scrapes every second, so that a graph of the demo has points.
start_prometheus() {
  local home=$IDEM_DEV_DIR/prometheus program
  program=$(prometheus_program prometheus) || die "there is no Prometheus: install it"
  mkdir -p "$home"
  prometheus_config | sed 's/_interval: .*/_interval: 1s/' >"$home/prometheus.yml"
  launch prometheus "$program" --config.file="$home/prometheus.yml" --storage.tsdb.path="$home/data" \
    --web.listen-address="127.0.0.1:$(port_of prometheus)" --log.level=warn
}

# Plays the demo beside Prometheus, and then asks it the queries of every board: each has data.
command_boards() {
  require_for "${ALL[@]}"
  build_programs
  with_parts "${ALL[@]}" prometheus -- boards_after_the_demo
}

boards_after_the_demo() {
  local promtool query number=0 empty=0
  promtool=$(prometheus_program promtool)
  run_demo || return
  while IFS= read -r query; do
    number=$((number + 1))
    if [[ -z $("$promtool" query instant "http://127.0.0.1:$(port_of prometheus)" "$query") ]]; then
      empty=$((empty + 1))
      say "no data: $query"
    fi
  done < <(sed -n 's/^ *"expr": "\(.*\)",$/\1/p' "$ROOT"/{deploy/grafana/boards/*,services/*/board}.json | sed 's/\\"/"/g')
  ((number > 0 && empty == 0)) || die "$empty of $number queries of the boards have no data: see above"
  say "boards passed: each of $number queries has data"
}

# Brings faults about beside Prometheus: each fires its alert, and its cure ends it.
command_alerts() { # arguments of cargo test...
  require_for postgres kafka
  build_programs
  IDEM_PROMETHEUS=$(prometheus_program prometheus) || die "there is no Prometheus: install it"
  export IDEM_PROMETHEUS
  with_parts postgres kafka -- run_tests --test alerts "$@" -- --ignored
}

fetch_prometheus() {
  local home=$CACHE_DIR/prometheus
  say "fetching Prometheus"
  rm -rf "$home.part"
  mkdir -p "$home.part"
  # A new machine has no list of packages yet.
  apt-cache show prometheus >/dev/null 2>&1 || apt-get update -qq >&2 || return
  (cd "$home.part" && apt-get download -qq prometheus >&2 && dpkg-deb -x prometheus_*.deb . && rm prometheus_*.deb) || return
  rm -rf "$home"
  mv "$home.part" "$home"
}
