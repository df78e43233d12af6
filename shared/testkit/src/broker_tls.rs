//! The files with which a broker accepts TLS, and the properties of its clients.

use std::path::{Path, PathBuf};

use crate::{Authority, identity};

/// How a broker accepts TLS. The files are the authority's, and are removed with it. `tools/dev.d/kafka-node.sh` reads them.
#[derive(Clone)]
pub struct BrokerTls {
    folder: PathBuf,
    properties: Vec<(&'static str, String)>,
}

impl BrokerTls {
    /// Clients log in as `idem` by `SCRAM-SHA-512` or `PLAIN`, with the password in the file `password`. A broker that starts
    /// again accepts the password that the file has then, by `PLAIN`.
    pub fn with_login(authority: &Authority, mechanism: &str) -> Self {
        let password = authority.file("password", "first");
        let login = [
            ("sasl.mechanism", mechanism.to_owned()),
            ("sasl.username", "idem".to_owned()),
            ("sasl.password.file", password),
        ];
        Self::new(authority, "SASL_SSL", login)
    }

    /// Clients log in by the token in the file `token`. The broker ends a connection after 2 s, unless its client logs in again.
    pub fn with_token(authority: &Authority, token: &str) -> Self {
        authority.file("password", "of the broker itself");
        authority.file("jwks.json", &identity::jwks());
        let token = authority.file("token", token);
        let login = [("sasl.mechanism", "OAUTHBEARER".to_owned()), ("sasl.oauthbearer.token.file", token)];
        Self::new(authority, "SASL_SSL", login)
    }

    /// Clients show a certificate of the authority.
    pub fn with_client_certificates(authority: &Authority) -> Self {
        let (chain, key) = authority.sign("idem");
        let (chain, key) = (authority.file("client.pem", &chain), authority.file("client.key", &key));
        Self::new(authority, "SSL", [("ssl.certificate.location", chain), ("ssl.key.location", key)])
    }

    fn new(
        authority: &Authority,
        protocol: &str,
        client: impl IntoIterator<Item = (&'static str, String)>,
    ) -> Self {
        let (chain, key) = authority.sign("127.0.0.1");
        authority.file("broker.pem", &format!("{key}{chain}"));
        let trusted = authority.file("ca.pem", authority.certificate());
        let server = [("security.protocol", protocol.to_owned()), ("ssl.ca.location", trusted)];
        let properties = server.into_iter().chain(client).collect();
        Self { folder: authority.folder().to_owned(), properties }
    }

    /// The folder of the files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The properties of a client that the broker accepts.
    pub fn properties(&self) -> &[(&'static str, String)] {
        &self.properties
    }
}
