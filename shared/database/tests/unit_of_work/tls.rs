//! TLS to PostgreSQL, on servers of their own.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use database::{Database, Error, Settings};
use diesel::QueryableByName;
use diesel::sql_types::{Bool, Nullable, Text};
use diesel_async::RunQueryDsl;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use testkit::{Postgres, TestDatabase};
use tokio::runtime::Handle;

/// An authority, and the files of one test, which are removed with it.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
    folder: PathBuf,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        let folder = std::env::temp_dir().join(format!("idem-tls-{}", uuid::Uuid::new_v4().simple()));
        fs::create_dir(&folder).unwrap();
        Self { issuer: Issuer::new(params, key), certificate, folder }
    }

    /// A certificate for a host and for the role of the same name, and its key.
    fn sign(&self, name: &str) -> (String, String) {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    /// A server whose certificate is valid for `localhost`, and not for its address.
    async fn server(&self) -> Postgres {
        let (chain, key) = self.sign("localhost");
        Postgres::with_tls(&chain, &key, &self.certificate).await
    }

    /// Writes a file; returns its path.
    fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Authority {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The URL of a server under a name, with the certificate checked against the authorities in this file.
fn url(server: &Postgres, host: &str, authorities: &str) -> String {
    format!(
        "postgres://postgres@{host}:{}/postgres?sslmode=verify-full&sslrootcert={authorities}",
        server.port()
    )
}

fn open(url: &str) -> Database {
    let settings = Settings { pool_wait: Duration::from_secs(10), ..Settings::new(url) };
    Database::new(&settings, Handle::current()).unwrap()
}

/// Why no connection is opened.
async fn refusal(url: &str) -> String {
    match open(url).connection().await {
        Err(Error::Unavailable(why)) => why,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("{url} is reached"),
    }
}

#[derive(QueryableByName)]
struct Session {
    #[diesel(sql_type = Bool)]
    ssl: bool,
    #[diesel(sql_type = Nullable<Text>)]
    client_dn: Option<String>,
}

/// The session as the server describes it.
async fn session(database: &Database) -> Session {
    let mut connection = database.connection().await.unwrap();
    let query = diesel::sql_query("SELECT ssl, client_dn FROM pg_stat_ssl WHERE pid = pg_backend_pid()");
    query.get_result(&mut connection).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_is_encrypted_and_the_certificate_of_the_server_is_checked() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let server = authority.server().await;
    let trusted = authority.file("trusted.pem", &authority.certificate);
    assert!(session(&open(&url(&server, "localhost", &trusted))).await.ssl);

    let other = stranger.file("other.pem", &stranger.certificate);
    let refused = refusal(&url(&server, "localhost", &other)).await;
    assert!(refused.contains("invalid peer certificate"), "{refused}");
    let refused = refusal(&url(&server, "127.0.0.1", &trusted)).await;
    assert!(refused.contains("not valid for name"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_refused() {
    let (authority, database) = (Authority::new(), TestDatabase::plain().await);
    let trusted = authority.file("trusted.pem", &authority.certificate);
    let url = format!("{}?sslmode=verify-full&sslrootcert={trusted}", database.service_url(None));
    let refused = refusal(&url).await;
    assert!(refused.contains("server does not support TLS"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_shows_its_certificate() {
    let authority = Authority::new();
    let server = authority.server().await;
    let trusted = authority.file("trusted.pem", &authority.certificate);
    let (chain, key) = authority.sign("postgres");
    let (chain, key) = (authority.file("chain.pem", &chain), authority.file("key.pem", &key));
    let url = format!("{}&sslcert={chain}&sslkey={key}", url(&server, "localhost", &trusted));
    assert_eq!(session(&open(&url)).await.client_dn.as_deref(), Some("/CN=postgres"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_needs_no_restart() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let server = authority.server().await;
    let trusted = authority.file("trusted.pem", &stranger.certificate);
    let database = open(&url(&server, "localhost", &trusted));
    assert!(database.connection().await.is_err());
    authority.file("trusted.pem", &authority.certificate);
    assert!(session(&database).await.ssl);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_read_is_named() {
    let refused =
        refusal("postgres://postgres@localhost:1/postgres?sslmode=verify-full&sslrootcert=/nowhere.pem")
            .await;
    assert!(refused.contains("/nowhere.pem"), "{refused}");
}
