//! Databases of this run alone, with the two roles that every service has.

use std::sync::{Mutex, PoisonError};

use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls, Row};

use crate::trouble::{Doing, Trouble};

/// A connection, and the task that drives it.
pub(crate) struct Session {
    client: Client,
    _driver: JoinSet<()>,
}

impl Session {
    pub(crate) async fn open(url: &str) -> Result<Self, Trouble> {
        let (client, connection) =
            tokio_postgres::connect(url, NoTls).await.doing("connect to PostgreSQL")?;
        let mut driver = JoinSet::new();
        driver.spawn(async move { drop(connection.await) });
        Ok(Self { client, _driver: driver })
    }

    /// One row of a fixed query.
    pub(crate) async fn one(&self, query: &str) -> Result<Row, Trouble> {
        self.client.query_one(query, &[]).await.doing(format!("ask `{query}`"))
    }

    /// Runs fixed text.
    pub(crate) async fn run(&self, text: &str) -> Result<(), Trouble> {
        self.client.batch_execute(text).await.doing(format!("run `{text}`"))
    }

    /// Runs a statement about roles and databases: those take no parameters, so PostgreSQL itself puts the names in.
    async fn run_for(&self, template: &str, names: &[&str]) -> Result<(), Trouble> {
        let question = "SELECT format($1::text, VARIADIC $2::text[])";
        let row = self.client.query_one(question, &[&template, &names]).await;
        let statement: String = row.doing(format!("quote the names in `{template}`"))?.get(0);
        self.run(&statement).await
    }
}

impl std::ops::Deref for Session {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}

/// The server, and what was made on it.
pub(crate) struct Postgres {
    admin: Session,
    server: String,
    run: String,
    made: Mutex<Vec<String>>,
    group_is_ours: bool,
}

impl Postgres {
    /// Makes this run's roles.
    pub(crate) async fn prepare(admin: Session, url: &str, run: &str) -> Result<Self, Trouble> {
        let group: bool =
            admin.one("SELECT to_regrole('idem_service') IS NULL").await.map(|row| row.get(0))?;
        if group {
            admin.run("CREATE ROLE idem_service NOLOGIN").await?;
        }
        let (owner, service) = (format!("bench_{run}_owner"), format!("bench_{run}_service"));
        admin.run_for("CREATE ROLE %I LOGIN PASSWORD %L", &[&owner, &owner]).await?;
        admin.run_for("CREATE ROLE %I LOGIN PASSWORD %L IN ROLE idem_service", &[&service, &service]).await?;
        let made = Mutex::new(Vec::new());
        Ok(Self { admin, server: server_of(url), run: run.to_owned(), made, group_is_ours: group })
    }

    /// An empty database of this run.
    pub(crate) async fn database(&self, name: &str) -> Result<TestBed, Trouble> {
        let name = format!("bench_{}_{name}", self.run);
        let (owner, service) = (format!("bench_{}_owner", self.run), format!("bench_{}_service", self.run));
        self.admin.run_for("CREATE DATABASE %I OWNER %I", &[&name, &owner]).await?;
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(name.clone());
        let url = |role: &str| format!("postgres://{role}:{role}@{}/{name}", self.server);
        Ok(TestBed { service_url: url(&service), owner_url: url(&owner) })
    }

    /// CPU seconds of the server's processes so far; `None` if it runs elsewhere.
    pub(crate) async fn cpu_seconds(&self) -> Result<Option<f64>, Trouble> {
        let rows = self.admin.query("SELECT pid FROM pg_stat_activity", &[]).await;
        let rows = rows.doing("list the server's processes")?;
        let seconds: Option<Vec<f64>> =
            rows.iter().map(|row| super::cpu_seconds(u32::try_from(row.get::<_, i32>(0)).ok()?)).collect();
        Ok(seconds.map(|seconds| seconds.iter().sum()))
    }

    /// Bytes of WAL written so far.
    pub(crate) async fn wal_bytes(&self) -> Result<f64, Trouble> {
        let row =
            self.admin.one("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8").await?;
        Ok(row.get(0))
    }

    /// Drops what was made.
    pub(crate) async fn clean(&self) -> Result<(), Trouble> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).split_off(0);
        for name in made {
            self.admin.run_for("DROP DATABASE %I WITH (FORCE)", &[&name]).await?;
        }
        for role in ["owner", "service"] {
            self.admin.run_for("DROP ROLE %I", &[&format!("bench_{}_{role}", self.run)]).await?;
        }
        if self.group_is_ours {
            self.admin.run("DROP ROLE idem_service").await?;
        }
        Ok(())
    }
}

/// `host:port` of a URL.
fn server_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    host.split(['/', '?']).next().unwrap_or(host).to_owned()
}

/// One database, reached by either role.
#[derive(Clone)]
pub(crate) struct TestBed {
    pub(crate) service_url: String,
    pub(crate) owner_url: String,
}

impl TestBed {
    /// A session of the owner, who may do what no service may.
    pub(crate) async fn owner(&self) -> Result<Session, Trouble> {
        Session::open(&self.owner_url).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_is_what_stands_between_user_and_database() {
        assert_eq!(server_of("postgres://postgres@127.0.0.1:9111/postgres?a=b"), "127.0.0.1:9111");
        assert_eq!(server_of("postgresql://u:p@db.example:5432/x"), "db.example:5432");
    }
}
