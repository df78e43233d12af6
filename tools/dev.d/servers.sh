# shellcheck shell=bash
# Fetches Kafka and PostgreSQL once per version. tools/dev.d/pom.xml pins the versions; Maven verifies and caches them.
#
#   .dev/cache/servers-CHECKSUM/   CHECKSUM is of pom.xml, so a new version gets a new folder
#     kafka/      IDEM_KAFKA_HOME: see kafka.sh
#     postgres/   postgres-….txz: see postgres.sh

POM=$ROOT/tools/dev.d/pom.xml

servers_dir() {
  local sum
  sum=$(cksum <"$POM")
  echo "$CACHE_DIR/servers-${sum%% *}"
}

postgres_platform() {
  case $(uname -s)-$(uname -m) in
    Linux-x86_64) echo linux-amd64 ;;
    Linux-aarch64 | Linux-arm64) echo linux-arm64v8 ;;
    Darwin-x86_64) echo darwin-amd64 ;;
    Darwin-arm64) echo darwin-arm64v8 ;;
    *) die "there is no PostgreSQL to fetch for $(uname -s) on $(uname -m): start a server, and set IDEM_POSTGRES_URL" ;;
  esac
}

fetch_servers() {
  local home platform
  home=$(servers_dir)
  [[ -d $home ]] && return
  platform=$(postgres_platform) || exit
  rm -rf "$home.part"
  step "fetching Kafka and PostgreSQL (60 MB)" \
    mvn -q -B -f "$POM" "-Dservers.home=$home.part" "-Dpostgres.platform=$platform" generate-resources ||
    die "Maven could not fetch the servers: see above"
  mv "$home.part" "$home"
}
