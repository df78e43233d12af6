//! The databases of this run, with the two roles of every service.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_postgres::{Client, NoTls, Row};

use harness::process::{cpu_time, cpu_time_with_ended_children, parent};
use harness::{Context, Result, host_of};

/// A connection, and the task that drives it.
pub(crate) struct Session {
    client: Client,
    _driver: JoinSet<()>,
}

impl Session {
    pub(crate) async fn open(url: &str) -> Result<Self> {
        let (client, connection) =
            tokio_postgres::connect(url, NoTls).await.context("connect to PostgreSQL")?;
        let mut driver = JoinSet::new();
        driver.spawn(async move { drop(connection.await) });
        Ok(Self { client, _driver: driver })
    }

    /// The row of a constant query.
    pub(crate) async fn one(&self, query: &str) -> Result<Row> {
        self.client.query_one(query, &[]).await.context(format!("ask `{query}`"))
    }

    /// The present time of the server, in seconds since 1970.
    pub(crate) async fn now(&self) -> Result<f64> {
        Ok(self.one("SELECT extract(epoch FROM clock_timestamp())::float8").await?.get(0))
    }

    /// Runs constant SQL.
    pub(crate) async fn run(&self, text: &str) -> Result<()> {
        self.client.batch_execute(text).await.context(format!("run `{text}`"))
    }

    /// Runs a statement about roles and databases. It takes no parameters, so PostgreSQL itself quotes the names.
    async fn run_for(&self, template: &str, names: &[&str]) -> Result<()> {
        let question = "SELECT format($1::text, VARIADIC $2::text[])";
        let row = self.client.query_one(question, &[&template, &names]).await;
        let statement: String = row.context(format!("quote the names in `{template}`"))?.get(0);
        self.run(&statement).await
    }
}

impl std::ops::Deref for Session {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}

/// The server, and the databases of the run.
pub(crate) struct Postgres {
    admin: Session,
    server: String,
    /// The URL of the superuser, without a database.
    superuser: String,
    run: String,
    made: Mutex<Vec<String>>,
    group_is_ours: bool,
}

impl Postgres {
    /// Creates the roles of this run.
    pub(crate) async fn prepare(admin: Session, url: &str, run: &str) -> Result<Self> {
        let group: bool =
            admin.one("SELECT to_regrole('idem_service') IS NULL").await.map(|row| row.get(0))?;
        if group {
            admin.run("CREATE ROLE idem_service NOLOGIN").await?;
        }
        let (owner, service) = (format!("bench_{run}_owner"), format!("bench_{run}_service"));
        admin.run_for("CREATE ROLE %I LOGIN PASSWORD %L", &[&owner, &owner]).await?;
        admin.run_for("CREATE ROLE %I LOGIN PASSWORD %L IN ROLE idem_service", &[&service, &service]).await?;
        let (server, made) = (host_of(url).to_owned(), Mutex::new(Vec::new()));
        let superuser = url.rsplit_once('/').map_or(url, |(server, _)| server).to_owned();
        Ok(Self { admin, server, superuser, run: run.to_owned(), made, group_is_ours: group })
    }

    /// An empty database of this run.
    pub(crate) async fn database(&self, name: &str) -> Result<TestBed> {
        let name = format!("bench_{}_{name}", self.run);
        let (owner, service) = (format!("bench_{}_owner", self.run), format!("bench_{}_service", self.run));
        self.admin.run_for("CREATE DATABASE %I OWNER %I", &[&name, &owner]).await?;
        self.made.lock().unwrap_or_else(PoisonError::into_inner).push(name.clone());
        let url = |role: &str| format!("postgres://{role}:{role}@{}/{name}", self.server);
        Ok(TestBed {
            superuser_url: format!("{}/{name}", self.superuser),
            service_url: url(&service),
            owner_url: url(&owner),
            name,
        })
    }

    /// Drops a database before the end of the run.
    pub(crate) async fn remove(&self, database: &TestBed) -> Result<()> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner).retain(|name| *name != database.name);
        self.admin.run_for("DROP DATABASE %I WITH (FORCE)", &[&database.name]).await
    }

    /// CPU seconds of the server's processes so far, with those that have ended; `None` if it runs on another machine.
    pub(crate) async fn cpu_seconds(&self) -> Result<Option<f64>> {
        let rows = self.admin.query("SELECT pid, pid = pg_backend_pid() FROM pg_stat_activity", &[]).await;
        let rows = rows.context("list the server's processes")?;
        let rows =
            rows.iter().filter_map(|row| Some((u32::try_from(row.get::<_, i32>(0)).ok()?, row.get(1))));
        let processes: Vec<(u32, bool)> = rows.collect();
        let own = processes.iter().find_map(|&(pid, is_own)| is_own.then_some(pid));
        let Some(ended) = own.and_then(parent).and_then(cpu_time_with_ended_children) else {
            return Ok(None);
        };
        let living: Duration = processes.iter().filter_map(|&(pid, _)| cpu_time(pid)).sum();
        Ok(Some((ended + living).as_secs_f64()))
    }

    /// Bytes of WAL written so far.
    pub(crate) async fn wal_bytes(&self) -> Result<f64> {
        let row =
            self.admin.one("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8").await?;
        Ok(row.get(0))
    }

    /// Drops all databases of this run, and writes out what the server still holds of them.
    pub(crate) async fn remove_all(&self) -> Result<()> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner).split_off(0);
        for name in made {
            self.admin.run_for("DROP DATABASE %I WITH (FORCE)", &[&name]).await?;
        }
        self.admin.run("CHECKPOINT").await
    }

    /// Drops databases and roles.
    pub(crate) async fn clean(&self) -> Result<()> {
        self.remove_all().await?;
        for role in ["owner", "service"] {
            self.admin.run_for("DROP ROLE %I", &[&format!("bench_{}_{role}", self.run)]).await?;
        }
        if self.group_is_ours {
            self.admin.run("DROP ROLE idem_service").await?;
        }
        Ok(())
    }
}

/// The URLs of one database, for either role.
#[derive(Clone)]
pub(crate) struct TestBed {
    pub(crate) name: String,
    pub(crate) superuser_url: String,
    pub(crate) service_url: String,
    pub(crate) owner_url: String,
}

impl TestBed {
    /// A session of the owner.
    pub(crate) async fn owner(&self) -> Result<Session> {
        Session::open(&self.owner_url).await
    }
}
