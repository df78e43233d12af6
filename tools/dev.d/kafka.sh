# shellcheck shell=bash
# Kafka: one small KRaft node for this checkout.
#
# IDEM_KAFKA_HOME is the folder from which kafka-node.sh starts a broker:
#   libs/*.jar                                    Kafka and its log binding
#   template/{meta.properties,bootstrap.checkpoint}  a formatted log directory; fits any port
#   kafka.jsa                                     a class-data archive: Kafka is ready in 0.8 s instead of 1.9 s.
#                                                 It belongs to the JVM that kafka.jsa.jvm names.
#   log4j2.properties                             warnings to standard output

# shellcheck source=SCRIPTDIR/kafka-node.sh
source "$ROOT/tools/dev.d/kafka-node.sh" # for kafka_properties

kafka_home() { echo "$(servers_dir)/kafka"; }

# Makes the template and the archive. Each is written to a temporary name and moved, so an interrupted run is repeated.
prepare_kafka() {
  fetch_servers
  local home jvm
  home=$(kafka_home)
  cp "$ROOT/tools/dev.d/log4j2.properties" "$home/"
  [[ -d $home/template ]] || step "formatting Kafka's storage" make_kafka_template "$home" ||
    die "Kafka's storage tool failed: see above"
  jvm=$("$JAVA" -version 2>&1)
  if [[ ! -e $home/kafka.jsa.jvm || $(<"$home/kafka.jsa.jvm") != "$jvm" ]]; then
    step "making Kafka's class archive" make_kafka_archive "$home" ||
      say "Kafka has no class archive, and starts a second slower"
    printf '%s\n' "$jvm" >"$home/kafka.jsa.jvm"
  fi
}

make_kafka_template() { # home
  local work=$1/template.part
  rm -rf "$work" && mkdir -p "$work"
  kafka_properties "$work/data" 19092 19093 1 >"$work/server.properties"
  (cd "$1" && "$JAVA" -cp 'libs/*' kafka.tools.StorageTool format \
    -t 5L6g3nShT-eMCtK--X86sw -c "$work/server.properties") || return
  mv "$work/data" "$1/template"
  rm -rf "$work"
}

# Starts a broker, and stops it. The JVM writes the archive at its end.
make_kafka_archive() { # home
  local home=$1 work=$1/archive.part port controller pid
  rm -rf "$work" && mkdir -p "$work"
  rm -f "$home/kafka.jsa"
  port=$(port_of kafka) controller=$(($(port_of kafka) + 1))
  IDEM_KAFKA_HOME=$home IDEM_KAFKA_JVM_OPTIONS="-XX:ArchiveClassesAtExit=kafka.jsa.part" \
    "$ROOT/tools/dev.d/kafka-node.sh" "$work" "$port" "$controller" &
  pid=$!
  local deadline=$((SECONDS + 60))
  # This broker accepts plain text, also with --tls.
  until (unset "${!IDEM_KAFKA__PROPERTIES__@}" && devtool wait-kafka "127.0.0.1:$port" --timeout 1 2>/dev/null); do
    if ! kill -0 "$pid" 2>/dev/null || ((SECONDS >= deadline)); then break; fi
  done
  kill "$pid" 2>/dev/null
  wait "$pid"
  rm -rf "$work"
  mv "$home/kafka.jsa.part" "$home/kafka.jsa"
}

start_kafka() {
  prepare_kafka
  local folder=$IDEM_DEV_DIR/kafka tls=''
  [[ -z $IDEM_TLS ]] || folder+=-tls tls=$TLS_DIR
  IDEM_KAFKA_HOME=$(kafka_home) IDEM_KAFKA_TLS=$tls launch kafka "$ROOT/tools/dev.d/kafka-node.sh" \
    "$folder" "$(port_of kafka)" $(($(port_of kafka) + 1))
}

kafka_answers() {
  devtool wait-kafka "$KAFKA_BROKERS" --timeout 1 2>/dev/null
}
