# shellcheck shell=bash
# Runs Stripe's own programs on both sides of the API: Stripe's libraries call the provider, and stripe-mock checks the
# requests of our client. Their versions are pinned, and they are installed under .dev/cache.

CLIENTS=$ROOT/tests/clients
STRIPE_MOCK_VERSION=v0.203.0

command_clients() {
  (($# == 0)) || usage_error "clients takes no arguments"
  require_for postgres
  require python3 node npm go
  require_venv
  require_node
  locked prepare_clients
  build_programs
  with_parts postgres -- run_clients
}

# Debian packs the module venv separately.
require_venv() {
  python3 -c 'import ensurepip, venv' 2>/dev/null || require python3-venv
}

# Stripe's library needs Node 20.
require_node() {
  local version
  version=$(node --version)
  if ! [[ $version =~ ^v([0-9]+) ]] || ((BASH_REMATCH[1] < 20)); then
    die "Node is $version, and Stripe's library needs 20 or newer: see https://nodejs.org"
  fi
}

# The folder's name has the checksum of the pinned versions, so that a new version gets a new folder.
clients_home() {
  local sum
  sum=$(cat "$CLIENTS/python/requirements.txt" "$CLIENTS/node/package-lock.json" | cksum)
  echo "$CACHE_DIR/clients-${sum%% *}-$STRIPE_MOCK_VERSION"
}

prepare_clients() {
  local home
  home=$(clients_home)
  if [[ ! -e $home/python/ready ]]; then
    step "installing Stripe's Python library" install_python "$home/python" || die "pip could not install it: see above"
  fi
  if [[ ! -e $home/node/ready ]]; then
    step "installing Stripe's Node library" install_node "$home/node" || die "npm could not install it: see above"
  fi
  if [[ ! -x $home/bin/stripe-mock ]]; then
    step "building stripe-mock $STRIPE_MOCK_VERSION" install_stripe_mock "$home/bin" ||
      die "go could not build stripe-mock: see above"
  fi
}

install_python() { # folder
  rm -rf "$1"
  python3 -m venv "$1" &&
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
      -r "$CLIENTS/python/requirements.txt" &&
    touch "$1/ready"
}

install_node() { # folder
  rm -rf "$1"
  mkdir -p "$1" && cp "$CLIENTS/node/package.json" "$CLIENTS/node/package-lock.json" "$1" &&
    (cd "$1" && npm ci --silent --no-audit --no-fund) && touch "$1/ready"
}

install_stripe_mock() { # folder
  GOBIN=$1 go install "github.com/stripe/stripe-mock@$STRIPE_MOCK_VERSION"
}

run_clients() {
  local home
  home=$(clients_home)
  export_servers
  cd "$ROOT" || exit
  say "== Stripe's libraries call the provider"
  IDEM_CLIENTS_PYTHON=$home/python/bin/python IDEM_CLIENTS_NODE=$home/node \
    test_ignored -p clients --test official -- || die "a check of a library failed: see above"
  say "== stripe-mock accepts every request of payments' client"
  ask_stripe_mock "$home/bin/stripe-mock" || die "stripe-mock refused a request: see above"
  say "clients passed: Stripe's libraries for Python and Node, and stripe-mock $STRIPE_MOCK_VERSION"
}

# In a subshell, so that stripe-mock ends with it, also on Ctrl-C.
ask_stripe_mock() ( # program
  port=$((IDEM_PORT_BASE + 51))
  ! port_is_open "$port" || die "port $port, for stripe-mock, is taken: set IDEM_PORT_BASE to another number"
  trap 'kill_process stripe-mock || true' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  launch stripe-mock "$1" -http-port "$port"
  await_ready stripe-mock 30 port_is_open "$port"
  IDEM_STRIPE_MOCK=http://127.0.0.1:$port \
    test_ignored -p payments --features payments/crash-points --test payments mock:: --
)

# Runs ignored tests, which need these programs. It fails if no test has the name.
test_ignored() { # cargo-arguments... --
  local output=$LOG_DIR/clients.log
  cargo test --quiet "$@" --ignored --nocapture 2>&1 | tee "$output" &&
    grep -q '^test result: ok\. [1-9]' "$output"
}
