//! Tests with a real PostgreSQL; `./dev test` names it.

use super::*;
use diesel::ConnectionResult;

/// A database of one test with its two roles; removed at the end.
struct Fixture {
    admin_url: String,
    name: String,
}

impl Fixture {
    async fn run(test: impl AsyncFnOnce(&Fixture)) {
        let admin_url = std::env::var("IDEM_POSTGRES_URL").expect("IDEM_POSTGRES_URL is set by ./dev test");
        let fixture = Self { admin_url, name: format!("devtool \"{}", uuid::Uuid::now_v7().simple()) };
        fixture.make().await;
        test(&fixture).await;
        fixture.remove().await;
    }

    async fn make(&self) {
        make(&self.admin_url, std::slice::from_ref(&self.name)).await.unwrap();
    }

    async fn remove(&self) {
        let mut admin = database::connect(&self.admin_url).await.unwrap();
        execute(&mut admin, "DROP DATABASE %I WITH (FORCE)", &self.name, "").await.unwrap();
        for role in ["owner", "service"] {
            execute(&mut admin, "DROP ROLE %I", &self.role(role), "").await.unwrap();
        }
    }

    fn role(&self, role: &str) -> String {
        format!("{}_{role}", self.name)
    }

    async fn connect(&self, role: &str, database: &str) -> ConnectionResult<AsyncPgConnection> {
        let server = self.admin_url.rsplit_once('@').unwrap().1.split(['/', '?']).next().unwrap();
        let role = self.role(role).replace(' ', "%20").replace('"', "%22");
        let database = database.replace(' ', "%20").replace('"', "%22");
        database::connect(&format!("postgres://{role}:{role}@{server}/{database}")).await
    }

    async fn connect_home(&self, role: &str) -> AsyncPgConnection {
        self.connect(role, &self.name).await.unwrap()
    }
}

#[tokio::test]
async fn a_second_run_changes_nothing() {
    Fixture::run(async |fixture| {
        let mut owner = fixture.connect_home("owner").await;
        owner.batch_execute("CREATE TABLE kept (id int)").await.unwrap();
        fixture.make().await;
        owner.batch_execute("SELECT FROM kept").await.unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_service_role_uses_what_is_granted_to_the_group() {
    Fixture::run(async |fixture| {
        let mut owner = fixture.connect_home("owner").await;
        owner.batch_execute("CREATE TABLE t (id int); GRANT SELECT ON t TO idem_service").await.unwrap();
        let mut service = fixture.connect_home("service").await;
        service.batch_execute("SELECT FROM t").await.unwrap();
        let refused = service.batch_execute("INSERT INTO t VALUES (1)").await.unwrap_err();
        assert!(refused.to_string().contains("permission denied"), "{refused}");
    })
    .await;
}

#[tokio::test]
async fn a_service_role_cannot_create_tables() {
    Fixture::run(async |fixture| {
        let mut service = fixture.connect_home("service").await;
        for statement in ["CREATE TABLE t (id int)", "CREATE TEMPORARY TABLE t (id int)", "CREATE SCHEMA s"] {
            let refused = service.batch_execute(statement).await.unwrap_err();
            assert!(refused.to_string().contains("permission denied"), "{statement}: {refused}");
        }
    })
    .await;
}

#[tokio::test]
async fn a_service_role_connects_to_its_own_database_only() {
    Fixture::run(async |one| {
        Fixture::run(async |other| {
            let refused = one.connect("service", &other.name).await.err().unwrap();
            assert!(refused.to_string().contains("permission denied for database"), "{refused}");
            assert!(one.connect("owner", &other.name).await.is_err());
        })
        .await;
    })
    .await;
}
