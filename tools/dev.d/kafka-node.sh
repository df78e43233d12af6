#!/usr/bin/env bash
# Runs one Kafka broker in the foreground: kafka-node.sh DIR PORT CONTROLLER_PORT [NODE]
#
# Node 1, the default, is also the controller. Any other node joins the cluster of the controller at CONTROLLER_PORT.
#
# IDEM_KAFKA_HOME is the folder of the program; kafka.sh describes its layout, and ./dev makes it. DIR holds the data of
# this broker, and is formatted if it is new. The broker is ready when it answers a Metadata request. The script is
# replaced by the JVM, so signals reach the JVM: TERM shuts it down cleanly.
set -euo pipefail

# The settings of a small single node, on the loopback address only.
kafka_properties() { # data-folder port controller-port node
  local roles=broker listeners=PLAINTEXT://127.0.0.1:$2
  [[ $4 != 1 ]] || roles+=,controller listeners+=,CONTROLLER://127.0.0.1:$3
  cat <<PROPERTIES
process.roles=$roles
node.id=$4
controller.quorum.voters=1@127.0.0.1:$3
listeners=$listeners
advertised.listeners=PLAINTEXT://127.0.0.1:$2
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs=$1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
# A killed broker can return after its session has ended: by default 9 s.
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
# Groups are small, so a group need not wait for further members.
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
# The default is 128 MB of resident memory.
log.cleaner.dedupe.buffer.size=16777216
log.cleaner.threads=1
# The default maps 20 MB per partition, and tests make hundreds of topics.
log.index.size.max.bytes=1048576
PROPERTIES
}

# kafka.sh sources this file for the settings alone.
[[ ${BASH_SOURCE[0]} == "$0" ]] || return 0

if [[ $# != [34] ]] || [[ -z ${IDEM_KAFKA_HOME:-} ]]; then
  echo "usage: IDEM_KAFKA_HOME=FOLDER kafka-node.sh DIR PORT CONTROLLER_PORT [NODE]" >&2
  exit 2
fi
node=${4:-1}

mkdir -p "$1"
dir=$(cd "$1" && pwd)
kafka_properties "$dir/data" "$2" "$3" "$node" >"$dir/server.properties"
if [[ ! -e $dir/data/meta.properties ]]; then
  rm -rf "$dir/data" "$dir/data.new"
  cp -R "$IDEM_KAFKA_HOME/template" "$dir/data.new"
  if [[ $node != 1 ]]; then # a folder's id is unique in the cluster; the broker chooses one
    sed "s/^node.id=.*/node.id=$node/; /^directory.id=/d" "$IDEM_KAFKA_HOME/template/meta.properties" \
      >"$dir/data.new/meta.properties"
  fi
  mv "$dir/data.new" "$dir/data"
fi

java=${JAVA:-${JAVA_HOME:+$JAVA_HOME/bin/java}}
options=(-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData)
options+=("-Dlog4j2.configurationFile=log4j2.properties")
[[ -e $IDEM_KAFKA_HOME/kafka.jsa ]] && options+=(-XX:SharedArchiveFile=kafka.jsa)
# shellcheck disable=SC2206 # several options in one variable
options+=(${IDEM_KAFKA_JVM_OPTIONS:-})

cd "$IDEM_KAFKA_HOME" # the archive stores this class path, which is relative
exec "${java:-java}" "${options[@]}" -cp 'libs/*' kafka.Kafka "$dir/server.properties"
