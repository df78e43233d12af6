# shellcheck shell=bash
# The rules of deploy/prometheus: promtool checks them, and runs their tests.
#
#   .dev/cache/prometheus/   Debian's package, unpacked and not installed, because an installed one starts a server

check_alerts() {
  local promtool
  if ! promtool=$(command -v promtool); then
    promtool=$CACHE_DIR/prometheus/usr/bin/promtool
    if [[ ! -x $promtool ]]; then
      can_use apt-get dpkg-deb || return 0
      locked fetch_prometheus || die "Prometheus could not be fetched: see above"
    fi
  fi
  "$promtool" check config deploy/prometheus/prometheus.yml &&
    (cd deploy/prometheus && "$promtool" test rules alerts_test.yml)
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
