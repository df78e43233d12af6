//! A database for one test, with an owner and a service role as in production.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Weak};

use database::{Database, Settings};
use diesel::QueryableByName;
use diesel::migration::MigrationSource;
use diesel::pg::Pg;
use diesel::sql_types::BigInt;
use diesel_async::{AsyncConnection, AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};
use diesel_migrations::EmbeddedMigrations;
use tokio::runtime::Handle;
use tokio::sync::Mutex;
use uuid::Uuid;

use crate::given;

/// Makes the roles once for a server. The lock lets only one test at a time try.
const ROLES: &str = r"
DO $$ BEGIN
    PERFORM pg_advisory_xact_lock(7237);
    IF to_regrole('idem_service') IS NULL THEN CREATE ROLE idem_service NOLOGIN; END IF;
    IF to_regrole('test_owner') IS NULL THEN CREATE ROLE test_owner LOGIN PASSWORD 'test_owner'; END IF;
    GRANT pg_read_all_stats TO test_owner;
    IF to_regrole('test_service') IS NULL THEN
        CREATE ROLE test_service LOGIN PASSWORD 'test_service' IN ROLE idem_service;
    END IF;
END $$";

/// The migrated databases that tests copy, because a copy costs less than the migrations, by the names of these. Tests that run at the
/// same time share a template, and the last of them drops it.
static TEMPLATES: Mutex<BTreeMap<Vec<String>, Weak<OwnDatabase>>> = Mutex::const_new(BTreeMap::new());

/// An empty, migrated database; dropped when the test ends. Derefs to the service's [`Database`].
pub struct TestDatabase {
    own: OwnDatabase,
    database: Database,
    /// The session of `count`, which tests call again and again.
    counts: Mutex<Option<AsyncPgConnection>>,
    _template: Option<Arc<OwnDatabase>>,
}

/// Dropped on the server when it is dropped here.
struct OwnDatabase {
    /// A superuser's URL of the server.
    server: String,
    name: String,
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

impl TestDatabase {
    /// The reliability tables and these migrations.
    pub async fn with(migrations: Vec<EmbeddedMigrations>) -> Self {
        let server = given("IDEM_POSTGRES_URL");
        let template = template(&server, migrations).await;
        let own = OwnDatabase::create(&server, &format!("TEMPLATE {}", template.name)).await;
        Self::of(own, Some(template))
    }

    /// No tables: for a program that migrates by itself.
    pub async fn empty() -> Self {
        Self::empty_on(&given("IDEM_POSTGRES_URL")).await
    }

    /// The same on another server, by a superuser's URL. The server must outlive the database.
    pub async fn empty_on(server: &str) -> Self {
        Self::of(OwnDatabase::create(server, "").await, None)
    }

    /// The reliability tables alone.
    pub async fn plain() -> Self {
        Self::with(Vec::new()).await
    }

    /// The same on another server, by a superuser's URL. The server must outlive the database.
    pub async fn plain_on(server: &str) -> Self {
        let database = Self::empty_on(server).await;
        database.own.migrate(Vec::new()).await;
        database
    }

    fn of(own: OwnDatabase, template: Option<Arc<OwnDatabase>>) -> Self {
        let url = url_of("test_service", &own.name, &address_of(&own.server));
        let database = Database::new(&Settings::new(url), Handle::current()).unwrap();
        Self { own, database, counts: Mutex::new(None), _template: template }
    }

    /// The URL of the service's role, through another address (a proxy's) if one is given.
    pub fn service_url(&self, through: Option<std::net::SocketAddr>) -> String {
        let host = through.map_or_else(|| address_of(&self.own.server), |address| address.to_string());
        url_of("test_service", &self.own.name, &host)
    }

    /// The owner's URL, for migrations and for changes that the service may not make.
    pub fn owner_url(&self) -> String {
        self.own.owner_url()
    }

    /// A connection as the owner.
    pub async fn owner(&self) -> AsyncPgConnection {
        AsyncPgConnection::establish(&self.owner_url()).await.unwrap()
    }

    /// The number that a query selects, as the owner.
    pub async fn count(&self, sql: &str) -> i64 {
        let select = format!("SELECT ({sql})::bigint AS number");
        let mut counts = self.counts.lock().await;
        if let Some(session) = counts.as_mut()
            && let Ok(count) = diesel::sql_query(&select).get_result::<Count>(session).await
        {
            return count.number;
        }
        // The first one, or the server has stopped meanwhile.
        let session = counts.insert(self.owner().await);
        diesel::sql_query(select).get_result::<Count>(session).await.unwrap().number
    }

    /// The URL of a superuser, to dump and to restore.
    pub fn superuser_url(&self) -> String {
        format!("postgres://postgres@{}/{}", address_of(&self.own.server), self.own.name)
    }

    /// A second pool on the same database, as another instance of the service has it.
    pub fn second_instance(&self) -> Database {
        Database::new(&Settings::new(self.service_url(None)), Handle::current()).unwrap()
    }
}

impl Deref for TestDatabase {
    type Target = Database;
    fn deref(&self) -> &Database {
        &self.database
    }
}

/// `postgres://role:role@host:port/name`.
fn url_of(role: &str, name: &str, host: &str) -> String {
    format!("postgres://{role}:{role}@{host}/{name}")
}

/// The shared server's `host:port`.
pub(crate) fn server() -> String {
    address_of(&given("IDEM_POSTGRES_URL"))
}

/// The `host:port` of a server's URL.
fn address_of(url: &str) -> String {
    let rest = url.split_once("://").expect("a URL").1;
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    host.split('/').next().unwrap().to_owned()
}

/// Returns the template with these migrations; makes it if no test uses one now.
async fn template(server: &str, migrations: Vec<EmbeddedMigrations>) -> Arc<OwnDatabase> {
    let of_each = migrations.iter().map(|set| MigrationSource::<Pg>::migrations(set).unwrap());
    let names = of_each.flatten().map(|migration| migration.name().to_string()).collect();
    let mut templates = TEMPLATES.lock().await;
    if let Some(template) = templates.get(&names).and_then(Weak::upgrade) {
        return template;
    }
    let template = Arc::new(OwnDatabase::create(server, "").await);
    template.migrate(migrations).await;
    templates.insert(names, Arc::downgrade(&template));
    template
}

impl OwnDatabase {
    async fn create(server: &str, options: &str) -> Self {
        let name = format!("test_{}", Uuid::new_v4().simple());
        let mut admin = AsyncPgConnection::establish(server).await.expect("PostgreSQL");
        admin.batch_execute(ROLES).await.unwrap();
        admin.batch_execute(&format!("CREATE DATABASE {name} OWNER test_owner {options}")).await.unwrap();
        Self { server: server.to_owned(), name }
    }

    /// Makes the reliability tables, and applies these migrations.
    async fn migrate(&self, migrations: Vec<EmbeddedMigrations>) {
        let sets = std::iter::once(database::RELIABILITY).chain(migrations).collect();
        database::migrate(&self.owner_url().into(), sets).await.unwrap();
    }

    fn owner_url(&self) -> String {
        url_of("test_owner", &self.name, &address_of(&self.server))
    }
}

impl Drop for OwnDatabase {
    fn drop(&mut self) {
        let (server, name) = (self.server.clone(), self.name.clone());
        // A thread of its own: drop may run on a runtime that is already stopping.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let mut admin = AsyncPgConnection::establish(&server).await.unwrap();
                admin.batch_execute(&format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)")).await.unwrap();
            });
        });
        let dropped = dropped.join();
        assert!(std::thread::panicking() || dropped.is_ok(), "the database {} was left", self.name);
    }
}
