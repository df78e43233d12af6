#!/usr/bin/env bash
# Creates the topics of an installation, and allows each service to write its own topics alone, by Kafka's tools (4.1, in the PATH):
#
#   deploy/production/kafka.sh idem-production --bootstrap-server kafka-1:9093 --command-config admin.properties
#
# The first argument is IDEM_DEPLOYMENT__NAME. The brokers need an authorizer that refuses what no rule allows. May be repeated: existing
# topics and rules are unchanged. The services log in by their names; for certificates, set PRINCIPAL='User:CN=%s,O=Example'.
set -euo pipefail

(($# > 2)) || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" && exit 2; } >&2
deployment=$1
shift
connection=("$@")
principal=${PRINCIPAL:-User:%s}
services=$(dirname "${BASH_SOURCE[0]}")/../../services

# Of three replicas, two have each message before its service counts it as published. 28 days are inbox.keep_days (35) without
# outbox.keep_days (7): within a week more a message can be published again, and the inbox still knows it.
create() { # topic partitions
  kafka-topics.sh "${connection[@]}" --create --if-not-exists --topic "$1" --partitions "$2" \
    --replication-factor "${REPLICATION_FACTOR:-3}" --config min.insync.replicas="${MIN_INSYNC_REPLICAS:-2}" \
    --config cleanup.policy=delete --config retention.ms=$((28 * 24 * 3600 * 1000))
}

allow() { # service operation resources...
  local who
  # shellcheck disable=SC2059 # a template
  who=$(printf "$principal" "$1")
  kafka-acls.sh "${connection[@]}" --add --force --allow-principal "$who" --operation "$2" "${@:3}"
}

for described in "$services"/*/service.toml; do
  service=$(basename "$(dirname "$described")")
  create "$deployment.$service.events" 6
  create "$deployment.$service.dlq" 1 # copies of parked messages, for people
  allow "$service" Write --topic "$deployment.$service.events" --topic "$deployment.$service.dlq"
  reads=(--group "$deployment.$service")
  for stream in $(sed -n 's/^reads = \[\(.*\)\]$/\1/p' "$described" | tr -d '",'); do
    reads+=(--topic "$deployment.$stream.events")
  done
  allow "$service" Read "${reads[@]}"
  # For `doctor`.
  allow "$service" DescribeConfigs --topic "$deployment.$service.events" --topic "$deployment.$service.dlq" "${reads[@]:2}"
done
