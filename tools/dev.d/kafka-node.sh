#!/usr/bin/env bash
# Runs one Kafka broker in the foreground: kafka-node.sh DIR PORT CONTROLLER_PORT [NODE]
#
# Node 1, the default, is also the controller. Any other node joins the cluster of the controller at CONTROLLER_PORT.
#
# IDEM_KAFKA_HOME is the folder of the program; kafka.sh describes its layout, and ./dev makes it. DIR holds the data of
# this broker, and is formatted if it is new. The broker is ready when it answers a Metadata request. The script is
# replaced by the JVM, so signals reach the JVM: TERM shuts it down cleanly.
#
# IDEM_KAFKA_TLS=FOLDER makes the broker accept TLS alone: `broker.pem` (its key and its chain), `ca.pem`. Clients log in by
# SCRAM-SHA-512 or PLAIN as `idem` with the password of the file `password`; without that file they show a certificate.
# With a file `super_users` an authorizer refuses all other users what no rule allows.
# With a file `jwks.json` they may also log in by OAUTHBEARER, with a token for the audience `idem` that one of its keys has signed.
set -euo pipefail

# The settings of a small single node, on the loopback address only.
kafka_properties() { # data-folder port controller-port node
  local roles=broker protocol listeners
  protocol=$(client_protocol)
  listeners=$protocol://127.0.0.1:$2
  [[ $4 != 1 ]] || roles+=,controller listeners+=,CONTROLLER://127.0.0.1:$3
  cat <<PROPERTIES
process.roles=$roles
node.id=$4
controller.quorum.voters=1@127.0.0.1:$3
listeners=$listeners
advertised.listeners=$protocol://127.0.0.1:$2
listener.security.protocol.map=CONTROLLER:PLAINTEXT,$protocol:$protocol
controller.listener.names=CONTROLLER
inter.broker.listener.name=$protocol
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

client_protocol() {
  if [[ -z ${IDEM_KAFKA_TLS:-} ]]; then
    echo PLAINTEXT
  elif [[ -e $IDEM_KAFKA_TLS/password ]]; then
    echo SASL_SSL
  else
    echo SSL
  fi
}

# The certificates, and the password that a client and the broker itself log in with.
tls_properties() {
  local jaas=org.apache.kafka.common.security mechanisms=SCRAM-SHA-512,PLAIN user=idem password
  [[ ! -e $IDEM_KAFKA_TLS/jwks.json ]] || mechanisms+=,OAUTHBEARER
  cat <<PROPERTIES
ssl.keystore.type=PEM
ssl.keystore.location=$IDEM_KAFKA_TLS/broker.pem
ssl.truststore.type=PEM
ssl.truststore.location=$IDEM_KAFKA_TLS/ca.pem
PROPERTIES
  if [[ -e $IDEM_KAFKA_TLS/super_users ]]; then
    echo authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
    # The controller's listener, which only the broker uses, has no login.
    echo "super.users=User:ANONYMOUS;$(<"$IDEM_KAFKA_TLS/super_users")"
  fi
  if [[ $(client_protocol) == SSL ]]; then
    echo ssl.client.auth=required
    return
  fi
  password=$(<"$IDEM_KAFKA_TLS/password")
  cat <<PROPERTIES
sasl.enabled.mechanisms=$mechanisms
sasl.mechanism.inter.broker.protocol=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=$jaas.scram.ScramLoginModule required \\
  username="$user" password="$password";
listener.name.sasl_ssl.plain.sasl.jaas.config=$jaas.plain.PlainLoginModule required user_$user="$password";
PROPERTIES
  [[ -e $IDEM_KAFKA_TLS/jwks.json ]] || return 0
  cat <<PROPERTIES
listener.name.sasl_ssl.oauthbearer.sasl.jaas.config=$jaas.oauthbearer.OAuthBearerLoginModule required;
listener.name.sasl_ssl.oauthbearer.sasl.server.callback.handler.class=$jaas.oauthbearer.OAuthBearerValidatorCallbackHandler
sasl.oauthbearer.jwt.validator.class=$jaas.oauthbearer.BrokerJwtValidator
sasl.oauthbearer.expected.audience=idem
sasl.oauthbearer.jwks.endpoint.url=file://$IDEM_KAFKA_TLS/jwks.json
listener.name.sasl_ssl.oauthbearer.connections.max.reauth.ms=2000
PROPERTIES
}

# A new folder of data that knows the user `idem`; the template knows no user.
format_with_user() { # home properties
  (cd "$1" && "${java:-java}" -cp 'libs/*' kafka.tools.StorageTool format -t 5L6g3nShT-eMCtK--X86sw -c "$2" \
    --add-scram "SCRAM-SHA-512=[name=idem,password=$(<"$IDEM_KAFKA_TLS/password")]")
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
[[ -z ${IDEM_KAFKA_TLS:-} ]] || tls_properties >>"$dir/server.properties"
java=${JAVA:-${JAVA_HOME:+$JAVA_HOME/bin/java}}
if [[ ! -e $dir/data/meta.properties && $(client_protocol) == SASL_SSL ]]; then
  rm -rf "$dir/data"
  format_with_user "$IDEM_KAFKA_HOME" "$dir/server.properties"
elif [[ ! -e $dir/data/meta.properties ]]; then
  rm -rf "$dir/data" "$dir/data.new"
  cp -R "$IDEM_KAFKA_HOME/template" "$dir/data.new"
  if [[ $node != 1 ]]; then # a folder's id is unique in the cluster; the broker chooses one
    sed "s/^node.id=.*/node.id=$node/; /^directory.id=/d" "$IDEM_KAFKA_HOME/template/meta.properties" \
      >"$dir/data.new/meta.properties"
  fi
  mv "$dir/data.new" "$dir/data"
fi

options=(-Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData)
[[ ! -e ${IDEM_KAFKA_TLS:-}/jwks.json ]] ||
  options+=("-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls=file://$IDEM_KAFKA_TLS/jwks.json")
options+=("-Dlog4j2.configurationFile=log4j2.properties")
[[ -e $IDEM_KAFKA_HOME/kafka.jsa ]] && options+=(-XX:SharedArchiveFile=kafka.jsa)
# shellcheck disable=SC2206 # several options in one variable
options+=(${IDEM_KAFKA_JVM_OPTIONS:-})

cd "$IDEM_KAFKA_HOME" # the archive stores this class path, which is relative
exec "${java:-java}" "${options[@]}" -cp 'libs/*' kafka.Kafka "$dir/server.properties"
