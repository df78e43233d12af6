//! The files with which a broker accepts TLS, and the parameters of its clients.

use std::path::{Path, PathBuf};

use crate::{Authority, identity};

/// How a broker accepts TLS. The files are the authority's, and are removed with it. `tools/dev.d/kafka-node.sh` reads them.
pub struct BrokerTls {
    folder: PathBuf,
    parameters: String,
}

impl BrokerTls {
    /// Clients log in as `idem` by `SCRAM-SHA-512` or `PLAIN`, with the password in the file `password`. A broker that starts
    /// again accepts the password that the file has then, by `PLAIN`.
    pub fn with_login(authority: &Authority, mechanism: &str) -> Self {
        let password = authority.file("password", "first");
        Self::new(authority, &format!("sasl={mechanism}&user=idem&password_file={password}"))
    }

    /// Clients log in by the token in the file `token`. The broker ends a connection after 2 s, unless its client logs in again.
    pub fn with_token(authority: &Authority, token: &str) -> Self {
        authority.file("password", "of the broker itself");
        authority.file("jwks.json", &identity::jwks());
        let token = authority.file("token", token);
        Self::new(authority, &format!("sasl=OAUTHBEARER&token_file={token}"))
    }

    /// Clients show a certificate of the authority.
    pub fn with_client_certificates(authority: &Authority) -> Self {
        let (chain, key) = authority.sign("idem");
        let (chain, key) = (authority.file("client.pem", &chain), authority.file("client.key", &key));
        Self::new(authority, &format!("sslcert={chain}&sslkey={key}"))
    }

    fn new(authority: &Authority, client: &str) -> Self {
        let (chain, key) = authority.sign("127.0.0.1");
        authority.file("broker.pem", &format!("{key}{chain}"));
        let trusted = authority.file("ca.pem", authority.certificate());
        Self { folder: authority.folder().to_owned(), parameters: format!("?sslrootcert={trusted}&{client}") }
    }

    /// The folder of the files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The parameters, with the question mark, for the address of a client that the broker accepts.
    pub fn parameters(&self) -> &str {
        &self.parameters
    }
}
