# shellcheck shell=bash
# TLS between all parts and the servers of this checkout: `./dev demo --tls`. The processor is on this machine, in plain text.
#
# PostgreSQL then refuses plain text, and Kafka knows no other listener. Kafka's data are in a folder of their own, because
# the user of its clients is in them.

TLS_DIR=$IDEM_DEV_DIR/tls # see `devtool certificates`

set_tls() {
  IDEM_TLS=yes
  locate_servers
}

# The query of a database's URL.
tls_query() {
  [[ -z $IDEM_TLS ]] || printf '?sslmode=verify-full&sslrootcert=%s' "$TLS_DIR/ca.pem"
}

# The properties by which every program reaches the broker of this checkout.
export_kafka_properties() {
  [[ -n $IDEM_TLS ]] && ! is_given kafka || return 0
  export IDEM_KAFKA__PROPERTIES__SECURITY_PROTOCOL=SASL_SSL
  export IDEM_KAFKA__PROPERTIES__SSL_CA_LOCATION=$TLS_DIR/ca.pem
  export IDEM_KAFKA__PROPERTIES__SASL_MECHANISM=SCRAM-SHA-512
  export IDEM_KAFKA__PROPERTIES__SASL_USERNAME=idem
  export IDEM_KAFKA__PROPERTIES__SASL_PASSWORD_FILE=$TLS_DIR/password
}

prepare_certificates() {
  devtool certificates "$TLS_DIR" || die "the certificates could not be made: see above"
}

# PostgreSQL reads only a key file that it owns. The host rules refuse every connection without TLS.
copy_certificates_to_postgres() { # data; sets POSTGRES_TLS
  local file
  for file in postgres.pem postgres.key; do
    install -m 0600 "$TLS_DIR/$file" "$1/$file"
    ((EUID != 0)) || chown nobody "$1/$file"
  done
  printf '%s\n' 'hostssl all postgres 127.0.0.1/32 trust' 'hostssl all all 127.0.0.1/32 scram-sha-256' >"$1/tls_hba.conf"
  # shellcheck disable=SC2034 # start_postgres reads it
  POSTGRES_TLS=(-c ssl=on -c ssl_cert_file=postgres.pem -c ssl_key_file=postgres.key -c "hba_file=$1/tls_hba.conf")
}

# Refuses the other mode while parts run.
refuse_other_tls() {
  [[ -n $(running_names) && -r $RUN_DIR/environment ]] || return 0
  grep -qx "IDEM_TLS=$IDEM_TLS" "$RUN_DIR/environment" ||
    die "this checkout runs with $(grep '^IDEM_TLS=' "$RUN_DIR/environment"): ./dev down first"
}
