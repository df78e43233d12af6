//! Makes databases with two roles each: the owner migrates; the service role reads and writes, and owns nothing.

use crate::Result;
use diesel::{
    QueryResult, QueryableByName, sql_query,
    sql_types::{Bool, Text},
};
use diesel_async::{AsyncPgConnection, RunQueryDsl, SimpleAsyncConnection};

/// The group of every service role. Migrations grant rights to it by name.
const GROUP: &str = "idem_service";

/// Makes each database with its roles `NAME_owner` and `NAME_service`. Existing roles and databases are unchanged.
pub(crate) async fn make(admin_url: &str, names: &[String]) -> Result<()> {
    let mut admin = database::connect(admin_url)
        .await
        .map_err(|error| format!("cannot connect to PostgreSQL as superuser: {error}"))?;
    make_all(&mut admin, names).await.map_err(|error| format!("cannot make roles and databases: {error}"))
}

async fn make_all(admin: &mut AsyncPgConnection, names: &[String]) -> QueryResult<()> {
    // Two scripts may use one server, and CREATE ROLE has no IF NOT EXISTS. The lock ends with the connection.
    admin.batch_execute("SELECT pg_advisory_lock(hashtext('devtool databases'))").await?;
    make_role(admin, GROUP, Login::No).await?;
    for name in names {
        make_one(admin, name).await?;
    }
    Ok(())
}

async fn make_one(admin: &mut AsyncPgConnection, database: &str) -> QueryResult<()> {
    let owner = format!("{database}_owner");
    let service = format!("{database}_service");
    make_role(admin, &owner, Login::Yes).await?;
    make_role(admin, &service, Login::Yes).await?;
    execute(admin, "GRANT %I TO %I", GROUP, &service).await?;
    execute(admin, "GRANT %I TO %I", "pg_read_all_stats", &owner).await?; // for oldest_transaction_seconds()
    if !exists(admin, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", database).await? {
        execute(admin, "CREATE DATABASE %I OWNER %I", database, &owner).await?;
    }
    // By default every role may connect to a new database.
    execute(admin, "REVOKE ALL ON DATABASE %I FROM PUBLIC", database, "").await?;
    execute(admin, "GRANT CONNECT ON DATABASE %I TO %I", database, &service).await
}

enum Login {
    Yes,
    No,
}

/// In development the password of a role is its name.
async fn make_role(admin: &mut AsyncPgConnection, role: &str, login: Login) -> QueryResult<()> {
    if exists(admin, "SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)", role).await? {
        return Ok(());
    }
    match login {
        Login::Yes => execute(admin, "CREATE ROLE %I LOGIN PASSWORD %L", role, role).await,
        Login::No => execute(admin, "CREATE ROLE %I NOLOGIN", role, "").await,
    }
}

async fn exists(admin: &mut AsyncPgConnection, query: &str, name: &str) -> QueryResult<bool> {
    #[derive(QueryableByName)]
    struct Existence {
        #[diesel(sql_type = Bool)]
        exists: bool,
    }
    let database: Existence = sql_query(query).bind::<Text, _>(name).get_result(admin).await?;
    Ok(database.exists)
}

/// Executes a statement about roles or databases. Such statements take no parameters, so `PostgreSQL` first formats the
/// statement and quotes the names.
async fn execute(
    admin: &mut AsyncPgConnection,
    template: &str,
    first: &str,
    second: &str,
) -> QueryResult<()> {
    #[derive(QueryableByName)]
    struct Statement {
        #[diesel(sql_type = Text)]
        statement: String,
    }
    let quoted: Statement = sql_query("SELECT format($1, $2, $3) AS statement")
        .bind::<Text, _>(template)
        .bind::<Text, _>(first)
        .bind::<Text, _>(second)
        .get_result(admin)
        .await?;
    admin.batch_execute(&quoted.statement).await
}

#[cfg(test)]
mod tests;
