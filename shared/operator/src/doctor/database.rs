//! The database server: reachable, durable, with usable sessions, the migrations of this program, a role without more rights
//! than it needs, and a clock like this machine's.

use chrono::Utc;
use database::Database;
use diesel::sql_types::{BigInt, Bool, Double, Text};
use diesel::{QueryableByName, sql_query};
use diesel_async::RunQueryDsl;

use super::{Expected, Finding};

/// The settings without which a commit may be lost, the rights that no service needs, and the clock.
const SERVER: &str = "\
    SELECT current_setting('server_version') AS version, \
           concat_ws(', ', CASE WHEN current_setting('fsync') = 'off' THEN 'fsync = off' END, \
                           CASE WHEN current_setting('full_page_writes') = 'off' THEN 'full_page_writes = off' END, \
                           CASE WHEN current_setting('synchronous_commit') = 'off' THEN 'synchronous_commit = off' END) AS risks, \
           current_user::text AS role, \
           (SELECT rolsuper OR rolbypassrls OR rolcreaterole FROM pg_roles WHERE rolname = current_user) \
             OR EXISTS (SELECT FROM pg_class WHERE relowner = current_user::regrole AND relname LIKE 'outbox%') AS is_privileged, \
           extract(epoch FROM clock_timestamp())::float8 AS clock, \
           current_setting('max_connections')::bigint AS connections, \
           (SELECT count(*) FROM pg_stat_activity WHERE usename IS NOT NULL) AS used";

#[derive(QueryableByName)]
struct Server {
    #[diesel(sql_type = Text)]
    version: String,
    #[diesel(sql_type = Text)]
    risks: String,
    #[diesel(sql_type = Text)]
    role: String,
    #[diesel(sql_type = Bool)]
    is_privileged: bool,
    #[diesel(sql_type = Double)]
    clock: f64,
    #[diesel(sql_type = BigInt)]
    connections: i64,
    #[diesel(sql_type = BigInt)]
    used: i64,
}

/// The difference between two clocks at which the times of tokens and webhooks are judged wrongly, in seconds.
const CLOCKS_DIFFER: f64 = 30.0;

pub(super) async fn examine(database: &Database, expected: &Expected) -> Vec<Finding> {
    let server = match read(database).await {
        Ok(server) => server,
        Err(error) => {
            return vec![Finding::fault(
                "PostgreSQL",
                error,
                "start the server, or correct IDEM_DATABASE__URL; the services connect again by themselves",
            )];
        }
    };
    vec![
        durability(&server),
        role(&server),
        clock(&server),
        connections(&server),
        sessions(database).await,
        migrations(expected),
    ]
}

async fn read(database: &Database) -> database::Result<Server> {
    Ok(sql_query(SERVER).get_result(&mut database.connection().await?).await?)
}

fn durability(Server { version, risks, .. }: &Server) -> Finding {
    if risks.is_empty() {
        return Finding::ok("PostgreSQL", format!("{version} answers, and its commits are durable"));
    }
    let cure = "set it back in postgresql.conf, or by ALTER ROLE or ALTER DATABASE where it was set: a power failure loses \
                commits that clients have the response of";
    Finding::fault("PostgreSQL", format!("{version} runs with {risks}"), cure)
}

fn role(Server { role, is_privileged, .. }: &Server) -> Finding {
    if !is_privileged {
        return Finding::ok(
            "role",
            format!("{role} owns no table, and can only do what the migrations grant"),
        );
    }
    let cure = "give IDEM_DATABASE__URL the role that serves; only migrations need the owner (IDEM_DATABASE__MIGRATION_URL)";
    Finding::fault("role", format!("{role} can change the outbox, the audit facts and the ledger"), cure)
}

fn clock(Server { clock, .. }: &Server) -> Finding {
    #[expect(clippy::disallowed_methods, reason = "the clock of this machine is what is examined")]
    let here = Utc::now().timestamp_micros();
    #[expect(clippy::cast_precision_loss, reason = "microseconds since 1970 fit")]
    let difference = (here as f64 / 1e6 - clock).abs();
    if difference < CLOCKS_DIFFER {
        return Finding::ok("clock", "the database's clock and this machine's agree");
    }
    let seen = format!("the database's clock and this machine's differ by {difference:.0} s");
    Finding::fault("clock", seen, "synchronise both by NTP: tokens and webhooks are judged by the time")
}

fn connections(Server { connections, used, .. }: &Server) -> Finding {
    let seen = format!("{used} of {connections} are in use, those of other databases included");
    if used * 10 < connections * 9 {
        return Finding::ok("connections", seen);
    }
    Finding::warning(
        "connections",
        seen,
        "raise max_connections, or lower the sizes of the pools: SERVICE defaults, [database]",
    )
}

async fn sessions(database: &Database) -> Finding {
    match database.unusable_session().await {
        Ok(None) => Finding::ok("sessions", "have their timeouts, and messages that can be classified"),
        Ok(Some(unusable)) => {
            Finding::fault("sessions", unusable, "change the setting that this fault names")
        }
        Err(error) => Finding::fault("sessions", error, "run this command again"),
    }
}

fn migrations(Expected { service, pending_migrations, .. }: &Expected) -> Finding {
    let cure = format!("run `{service} migrate` with IDEM_DATABASE__MIGRATION_URL");
    match pending_migrations {
        Ok(0) => Finding::ok("migrations", "all migrations of this program are applied"),
        Ok(number) => Finding::fault("migrations", format!("{number} are not applied"), cure),
        Err(error) => Finding::fault("migrations", error, cure),
    }
}
