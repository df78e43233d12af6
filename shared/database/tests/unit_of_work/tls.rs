//! TLS to PostgreSQL, on servers of their own.

use std::time::Duration;

use database::{Database, Error, Settings};
use diesel::QueryableByName;
use diesel::sql_types::{Bool, Nullable, Text};
use diesel_async::{RunQueryDsl, SimpleAsyncConnection};
use testkit::{Authority, Postgres, TestDatabase};
use tokio::runtime::Handle;

/// A server whose certificate is valid for `localhost`, and not for its address.
async fn server(authority: &Authority) -> Postgres {
    let (chain, key) = authority.sign("localhost");
    Postgres::with_tls(&chain, &key, authority.certificate()).await
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
    let server = server(&authority).await;
    let trusted = authority.file("trusted.pem", authority.certificate());
    assert!(session(&open(&url(&server, "localhost", &trusted))).await.ssl);

    let other = stranger.file("other.pem", stranger.certificate());
    let refused = refusal(&url(&server, "localhost", &other)).await;
    assert!(refused.contains("invalid peer certificate"), "{refused}");
    let refused = refusal(&url(&server, "127.0.0.1", &trusted)).await;
    assert!(refused.contains("not valid for name"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_refused() {
    let (authority, database) = (Authority::new(), TestDatabase::plain().await);
    let trusted = authority.file("trusted.pem", authority.certificate());
    let url = format!("{}?sslmode=verify-full&sslrootcert={trusted}", database.service_url(None));
    let refused = refusal(&url).await;
    assert!(refused.contains("server does not support TLS"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_shows_its_certificate() {
    let authority = Authority::new();
    let server = server(&authority).await;
    let trusted = authority.file("trusted.pem", authority.certificate());
    let (chain, key) = authority.sign("postgres");
    let (chain, key) = (authority.file("chain.pem", &chain), authority.file("key.pem", &key));
    let url = format!("{}&sslcert={chain}&sslkey={key}", url(&server, "localhost", &trusted));
    assert_eq!(session(&open(&url)).await.client_dn.as_deref(), Some("/CN=postgres"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_needs_no_restart() {
    let (authority, stranger) = (Authority::new(), Authority::new());
    let server = server(&authority).await;
    let trusted = authority.file("trusted.pem", stranger.certificate());
    let database = open(&url(&server, "localhost", &trusted));
    assert!(database.connection().await.is_err());
    authority.file("trusted.pem", authority.certificate());
    assert!(session(&database).await.ssl);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_read_is_named() {
    let refused =
        refusal("postgres://postgres@localhost:1/postgres?sslmode=verify-full&sslrootcert=/nowhere.pem")
            .await;
    assert!(refused.contains("/nowhere.pem"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_password_that_was_replaced_needs_no_restart() {
    let (server, files) = (Postgres::start().await, Authority::new());
    let mut owner = database::connect(&server.url()).await.unwrap();
    owner
        .batch_execute(
            "CREATE ROLE writer LOGIN PASSWORD 'first'; \
             DO $$ BEGIN \
               EXECUTE format('COPY (VALUES (''host all writer all scram-sha-256''), (''host all all all trust'')) TO %L', \
                              current_setting('hba_file')); \
             END $$; \
             SELECT pg_reload_conf()",
        )
        .await
        .unwrap();
    let password = files.file("password", "wrong");
    let url = format!("postgres://writer@127.0.0.1:{}/postgres?password_file={password}", server.port());
    testkit::eventually("the server asks for a password", async || database::connect(&url).await.err()).await;
    let database = open(&url);
    assert!(database.connection().await.is_err());
    files.file("password", "first\n");
    database.connection().await.unwrap();
}
