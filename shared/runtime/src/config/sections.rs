//! Reads each section. `defaults.toml` documents the settings for users.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::time::Duration;

use chrono::TimeDelta;
use database::Address;
use edge::{CardNumbers, EdgeSettings, Limits, RateLimit};
use envelope::{Topics, is_name};
use idempotency::{KeyPolicy, Retention};
use inbox::RunnerSettings;
use messaging::Brokers;
use outbox::{RelaySettings, RetentionSettings};
use reqwest::Url;
use secrecy::{ExposeSecret, SecretString};
use tracing_subscriber::EnvFilter;

use super::SettingsReader;

/// The longest timeout, in seconds.
pub(super) const DAY: u64 = 86_400;

/// The name of the demo's deployment.
const DEVELOPMENT_NAME: &str = "idem-dev";

/// The topics of the deployment that `deployment.name` names. Processes of one name share topics, groups and processor.
pub(super) fn deployment(reader: &mut SettingsReader, needed: bool) -> Topics {
    let name = reader.text("deployment.name", "the name of this deployment");
    if !is_name(&name) {
        reader.refuse("deployment.name", "1 to 64 characters A-Z a-z 0-9 . _ -");
    }
    if needed && name == DEVELOPMENT_NAME {
        reader.refuse_in_production("deployment.name", "a name that only this deployment has");
    }
    Topics::of(name)
}

/// The listeners.
#[derive(Debug)]
pub(crate) struct Http {
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    /// Whether `admin.port` is set. The default belongs to `serve`, so that `relay` can run beside it.
    pub(crate) admin_is_set: bool,
    /// `None`: one thread for each processor.
    pub(crate) workers: Option<usize>,
    pub(crate) max_connections: usize,
    pub(crate) keep_alive: Duration,
    /// How long a client may accept nothing of a response.
    pub(crate) stall: Duration,
}

pub(super) fn http(reader: &mut SettingsReader) -> Http {
    let mut ip = |path| reader.parsed(path, "an IP address", IpAddr::V4(Ipv4Addr::LOCALHOST));
    let (public, admin) = (ip("http.bind"), ip("admin.bind"));
    let port = reader.number("http.port", 0..=65_535);
    let admin_port = reader.optional_number("admin.port", 0..=65_535);
    if admin_port == Some(port) && port != 0 {
        reader.refuse("admin.port", "another port than http.port");
    }
    Http {
        address: SocketAddr::new(public, port),
        admin: SocketAddr::new(admin, admin_port.unwrap_or_else(|| default_admin_port(reader, port))),
        admin_is_set: admin_port.is_some(),
        workers: reader.optional_number("http.workers", 1..=1024),
        max_connections: reader.number("http.max_connections", 1..=1_000_000),
        keep_alive: reader.seconds("http.keep_alive_seconds", 1..=DAY),
        stall: reader.seconds("http.stall_seconds", 1..=DAY),
    }
}

fn default_admin_port(reader: &mut SettingsReader, port: u16) -> u16 {
    // If the system chooses one port, it chooses the other, too.
    let admin = if port == 0 { Some(0) } else { port.checked_add(1000) };
    admin.unwrap_or_else(|| {
        reader.refuse("admin.port", "set, as http.port + 1000 is above 65535");
        0
    })
}

/// The settings of the HTTP edge.
pub(super) fn edge(reader: &mut SettingsReader) -> EdgeSettings {
    let retention = Retention {
        reply: TimeDelta::seconds(reader.number("idempotency.reply_seconds", 1..=31_536_000)),
        tombstone: TimeDelta::days(reader.number("idempotency.tombstone_days", 1..=3_650)),
    };
    if retention.tombstone < retention.reply {
        reader.refuse("idempotency.tombstone_days", "at least as long as idempotency.reply_seconds");
    }
    let policies = [("uuid", KeyPolicy::Uuid), ("any", KeyPolicy::Any)];
    EdgeSettings {
        retention,
        replay_cache: reader.number::<u64>("idempotency.replay_cache_mebibytes", 0..=65_536) << 20,
        key_policy: reader.one_of("idempotency.key_policy", &policies),
        body_deadline: reader.seconds("http.body_deadline_seconds", 1..=DAY),
        card_numbers_in_references: reader.one_of(
            "http.card_numbers_in_references",
            &[("refuse", CardNumbers::Refused), ("store", CardNumbers::Stored)],
        ),
        mismatch_status: reader.one_of("idempotency.mismatch_status", &[("409", 409), ("422", 422)]),
        operation_wait: reader.milliseconds("http.operation_wait_milliseconds", 0..=60_000),
        cors_origins: reader
            .optional("http.cors_origins", "origins such as https://shop.example, separated by commas")
            .unwrap_or_default(),
        docs: reader.switch("http.docs"),
        limits: limits(reader),
        ..EdgeSettings::default()
    }
}

fn limits(reader: &mut SettingsReader) -> Limits {
    let mut number = |path, range: RangeInclusive<u64>| NonZeroU32::new(reader.number(path, range));
    let per_second = number("limits.requests_per_second", 0..=1_000_000);
    let burst = number("limits.burst", 1..=1_000_000);
    let percent = number("limits.client_percent", 1..=100);
    let part = |of: NonZeroU32, percent: NonZeroU32| of.saturating_mul(percent).get().div_ceil(100);
    let tenant = per_second.zip(burst).map(|(per_second, burst)| RateLimit { per_second, burst });
    let client = tenant.zip(percent).and_then(|(RateLimit { per_second, burst }, percent)| {
        let per_second = NonZeroU32::new(part(per_second, percent))?;
        Some(RateLimit { per_second, burst: NonZeroU32::new(part(burst, percent))? })
    });
    Limits { tenant, client }
}

pub(super) fn database(reader: &mut SettingsReader) -> database::Settings {
    let url = reader.secret("database.url", &format!("the database, as the role that serves: {URL}"));
    check_url(reader, "database.url", &url);
    database::Settings {
        url,
        pool_size: reader.number("database.pool_size", 1..=1_000),
        pool_wait: reader.milliseconds("database.pool_wait_milliseconds", 1..=60_000),
        statement_timeout: reader.seconds("database.statement_timeout_seconds", 1..=DAY),
        lock_timeout: reader.seconds("database.lock_timeout_seconds", 1..=DAY),
        idle_in_transaction_timeout: reader.seconds("database.idle_in_transaction_timeout_seconds", 1..=DAY),
    }
}

/// The owner's URL, for `migrate`, and for a `serve` that migrates at start.
pub(super) fn migration_url(reader: &mut SettingsReader) -> Option<SecretString> {
    let url = reader.optional_secret("database.migration_url");
    let url =
        reader.required("database.migration_url", &format!("the database, as its owner: {URL}"), url)?;
    check_url(reader, "database.migration_url", &url);
    Some(url)
}

const URL: &str = "postgres://role:password@host:port/database";

/// Refuses a URL that no connection could use, and files of certificates that cannot be read.
fn check_url(reader: &mut SettingsReader, path: &str, url: &SecretString) {
    let url = url.expose_secret();
    // A placeholder is empty, and its error is in the list.
    if url.is_empty() {
        return;
    }
    if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        return reader.refuse(path, &format!("a URL such as {URL}"));
    }
    let checked = url.parse::<Address>().and_then(|address| address.check_files());
    if let Err(error) = checked {
        reader.refuse(path, &format!("a URL such as {URL}: {error}"));
    }
}

/// The brokers; `None` if the setting is missing.
pub(super) fn brokers(reader: &mut SettingsReader) -> Option<Brokers> {
    let addresses = reader.text("kafka.brokers", "the brokers, host:port, several separated by commas");
    let properties = reader.table("kafka.properties");
    let checked =
        Brokers::new(&addresses, properties).and_then(|brokers| brokers.check_files().map(|()| brokers));
    // The missing address has its error already.
    checked.map_err(|faults| faults.iter().for_each(|it| reader.report(&it.setting, &it.problem))).ok()
}

pub(super) fn inbox(reader: &mut SettingsReader) -> RunnerSettings {
    RunnerSettings {
        attempts: reader.number("inbox.attempts", 1..=1_000),
        handler_limit: reader.seconds("inbox.handler_limit_seconds", 1..=DAY),
        parking_limit: reader.number("inbox.parking_limit", 1..=1_000_000),
        parking_window: reader.seconds("inbox.parking_window_seconds", 1..=DAY),
        ..RunnerSettings::default()
    }
}

/// How long the rows of outbox and inbox are kept.
#[derive(Debug, Clone)]
pub(crate) struct LogRetention {
    pub(crate) outbox: RetentionSettings,
    /// The age at which entries of the inbox are deleted.
    pub(crate) inbox: TimeDelta,
}

pub(super) fn retention(reader: &mut SettingsReader) -> LogRetention {
    LogRetention {
        outbox: RetentionSettings {
            keep_days: reader.number("outbox.keep_days", 1..=3_650),
            keep_detached_days: reader.number("outbox.keep_detached_days", 0..=3_650),
        },
        inbox: TimeDelta::days(reader.number("inbox.keep_days", 1..=3_650)),
    }
}

/// The settings of the relay, and whether `serve` runs it.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) in_process: bool,
    pub(crate) settings: RelaySettings,
}

pub(super) fn relay(reader: &mut SettingsReader) -> Relay {
    let lease = reader.seconds("relay.lease_seconds", 1..=DAY);
    let settings = RelaySettings { lease, ..RelaySettings::default() };
    Relay { in_process: reader.switch("relay.in_process"), settings }
}

pub(super) fn audit_pause(reader: &mut SettingsReader) -> Option<Duration> {
    Some(reader.seconds("audit.pause_seconds", 0..=30 * DAY)).filter(|pause| !pause.is_zero())
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Pretty,
    /// For machines.
    Json,
}

/// The settings of the log.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) format: LogFormat,
    pub(crate) filter: EnvFilter,
}

pub(super) fn log(reader: &mut SettingsReader) -> Log {
    let expected = "error, warn, info, debug or trace, or directives such as info,orders=debug";
    let filter = reader.parsed("log.level", expected, EnvFilter::default());
    let format = reader.one_of("log.format", &[("pretty", LogFormat::Pretty), ("json", LogFormat::Json)]);
    Log { format, filter }
}

/// The collector of spans; `None`: spans are not exported.
pub(super) fn traces(reader: &mut SettingsReader) -> Option<traces::Settings> {
    let one_in = reader.number("traces.one_in", 1..=1_000_000);
    let endpoint: Url = reader.optional("traces.endpoint", HTTP_URL)?;
    let is_here = matches!(endpoint.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    match endpoint.scheme() {
        "https" => {}
        "http" if is_here => {}
        "http" => reader.refuse_in_production(
            "traces.endpoint",
            "an https URL, because its collector is on another machine",
        ),
        _ => reader.refuse("traces.endpoint", HTTP_URL),
    }
    Some(traces::Settings { endpoint, one_in })
}

const HTTP_URL: &str = "an http or https URL";

/// The time limit for running requests after the shutdown has begun.
pub(super) fn drain(reader: &mut SettingsReader) -> Duration {
    reader.seconds("shutdown.drain_seconds", 1..=DAY)
}
