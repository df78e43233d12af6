//! What each section means. The comments that users read stand in `defaults.toml`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU32;
use std::time::Duration;

use chrono::TimeDelta;
use contracts::Topics;
use edge::{Authenticator, EdgeSettings, JwksSource, RateLimit};
use idempotency::{GroupSettings, KeyPolicy, Retention};
use inbox::RunnerSettings;
use messaging::Brokers;
use outbox::RelaySettings;
use secrecy::{ExposeSecret, SecretString};
use tracing_subscriber::EnvFilter;

use super::Fields;

/// The longest that any timeout may be, in seconds: beyond a day it is a slip of the keyboard.
const DAY: u64 = 86_400;

/// The listeners.
#[derive(Debug)]
pub(crate) struct Http {
    pub(crate) address: SocketAddr,
    pub(crate) admin: SocketAddr,
    /// `None`: one for each processor.
    pub(crate) workers: Option<usize>,
    pub(crate) max_connections: usize,
    pub(crate) client_timeout: Duration,
    pub(crate) keep_alive: Duration,
}

pub(super) fn http(fields: &mut Fields) -> Http {
    let ip = fields.parsed("http.bind", "an IP address", IpAddr::V4(Ipv4Addr::LOCALHOST));
    let port = fields.number("http.port", 0..=65_535);
    Http {
        address: SocketAddr::new(ip, port),
        admin: SocketAddr::new(ip, admin_port(fields, port)),
        workers: fields.optional_number("http.workers", 1..=1024),
        max_connections: fields.number("http.max_connections", 1..=1_000_000),
        client_timeout: fields.seconds("http.client_timeout_seconds", 1..=DAY),
        keep_alive: fields.seconds("http.keep_alive_seconds", 1..=DAY),
    }
}

fn admin_port(fields: &mut Fields, port: u16) -> u16 {
    let set = fields.optional_number("admin.port", 0..=65_535);
    // Where the system chooses one port, it chooses the other.
    let admin = set.or(if port == 0 { Some(0) } else { port.checked_add(1000) });
    let Some(admin) = admin else {
        fields.refuse("admin.port", "set, as http.port + 1000 is above 65535");
        return 0;
    };
    if admin == port && port != 0 {
        fields.refuse("admin.port", "another port than http.port");
    }
    admin
}

/// How commands are received.
pub(super) fn edge(fields: &mut Fields) -> EdgeSettings {
    let retention = Retention {
        reply: TimeDelta::hours(fields.number("idempotency.reply_hours", 1..=8_760)),
        tombstone: TimeDelta::days(fields.number("idempotency.tombstone_days", 1..=3_650)),
    };
    if retention.tombstone < retention.reply {
        fields.refuse("idempotency.tombstone_days", "at least as long as idempotency.reply_hours");
    }
    let policies = [("uuid", KeyPolicy::Uuid), ("any", KeyPolicy::Any)];
    EdgeSettings {
        retention,
        key_policy: fields.one_of("idempotency.key_policy", &policies),
        body_limit: fields.number("http.body_limit_bytes", 1_024..=1_048_576),
        body_deadline: fields.seconds("http.body_deadline_seconds", 1..=DAY),
        mismatch_status: fields.one_of("idempotency.mismatch_status", &[("409", 409), ("422", 422)]),
        operation_wait: fields.milliseconds("http.operation_wait_milliseconds", 0..=60_000),
        groups: groups(fields),
        rate_limit: rate_limit(fields),
    }
}

fn groups(fields: &mut Fields) -> GroupSettings {
    GroupSettings {
        size: fields.number("groups.size", 1..=1_000),
        at_once: fields.number("groups.at_once", 1..=1_000),
        waiting: fields.number("groups.waiting", 1..=1_000_000),
        wait: fields.milliseconds("groups.wait_milliseconds", 1..=60_000),
    }
}

fn rate_limit(fields: &mut Fields) -> Option<RateLimit> {
    let per_second = NonZeroU32::new(fields.number("limits.requests_per_second", 0..=1_000_000));
    let burst = NonZeroU32::new(fields.number("limits.burst", 1..=1_000_000));
    per_second.zip(burst).map(|(per_second, burst)| RateLimit { per_second, burst })
}

/// Who checks tokens.
pub(crate) struct Auth {
    /// `None` if this process checks none.
    pub(crate) authenticator: Option<Authenticator>,
    /// How often its keys are read again.
    pub(crate) refresh: Duration,
}

/// The keys that tokens are checked with. A file is read here, so that its faults stand in the list.
pub(super) fn auth(fields: &mut Fields, needed: bool) -> Auth {
    let issuer = fields.text("auth.issuer", "who issues the tokens (iss)");
    let audience = fields.text("auth.audience", "for whom tokens must be (aud)");
    let place = fields.text("auth.jwks", "the path or URL of the keys that tokens are checked with");
    let plain_http = fields.switch("auth.jwks_plain_http");
    let refresh = fields.seconds("auth.jwks_refresh_seconds", 1..=DAY);
    if place.is_empty() || !needed {
        return Auth { authenticator: None, refresh };
    }
    let opened = JwksSource::parse(&place, plain_http)
        .and_then(|source| Authenticator::from_source(source, &issuer, &audience));
    let refuse = |error| fields.refuse("auth.jwks", &format!("the path or URL of a key set: {error}"));
    Auth { authenticator: opened.map_err(refuse).ok(), refresh }
}

pub(super) fn database(fields: &mut Fields) -> database::Settings {
    let url = fields.secret("database.url", &format!("the database, as the role that serves: {URL}"));
    check_url(fields, "database.url", &url);
    database::Settings {
        url,
        pool_size: fields.number("database.pool_size", 1..=1_000),
        pool_wait: fields.milliseconds("database.pool_wait_milliseconds", 1..=60_000),
        statement_timeout: fields.seconds("database.statement_timeout_seconds", 1..=DAY),
        lock_timeout: fields.seconds("database.lock_timeout_seconds", 1..=DAY),
        idle_in_transaction_timeout: fields.seconds("database.idle_in_transaction_timeout_seconds", 1..=DAY),
    }
}

/// The owner's URL: for `migrate`, and for `serve` if it is to migrate at start.
pub(super) fn migration_url(fields: &mut Fields) -> Option<SecretString> {
    let url = fields.optional_secret("database.migration_url");
    match &url {
        Some(url) => check_url(fields, "database.migration_url", url),
        None => fields.missing("database.migration_url", &format!("the database, as its owner: {URL}")),
    }
    url
}

const URL: &str = "postgres://role:password@host:port/database";

fn check_url(fields: &mut Fields, path: &str, url: &SecretString) {
    let url = url.expose_secret();
    // A placeholder is empty, and its fault has been noted.
    if !url.is_empty() && !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
        fields.refuse(path, &format!("a URL such as {URL}"));
    }
}

/// Where events go.
pub(crate) struct Kafka {
    /// `None` if nobody set them.
    pub(crate) brokers: Option<Brokers>,
    pub(crate) topics: Topics,
}

pub(super) fn kafka(fields: &mut Fields) -> Kafka {
    let brokers = fields.text("kafka.brokers", "the brokers, host:port, several separated by commas");
    let brokers = match brokers.parse::<Brokers>() {
        Ok(brokers) => Some(brokers),
        Err(_) if brokers.is_empty() => None,
        Err(_) => {
            fields.refuse("kafka.brokers", "host:port, several separated by commas, as in localhost:9092");
            None
        }
    };
    let prefix = fields.text("kafka.topic_prefix", "what topic names begin with; may be empty");
    let legal = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if prefix.len() > 100 || !prefix.chars().all(legal) {
        fields.refuse("kafka.topic_prefix", "100 characters A-Z a-z 0-9 . _ - at most");
    }
    Kafka { brokers, topics: Topics::with_prefix(prefix) }
}

pub(super) fn inbox(fields: &mut Fields) -> RunnerSettings {
    RunnerSettings { attempts: fields.number("inbox.attempts", 1..=1_000), ..RunnerSettings::default() }
}

/// The relay, and whether `serve` runs it.
#[derive(Debug)]
pub(crate) struct Relay {
    pub(crate) in_process: bool,
    pub(crate) settings: RelaySettings,
}

pub(super) fn relay(fields: &mut Fields) -> Relay {
    let settings = RelaySettings {
        lease: fields.seconds("relay.lease_seconds", 1..=DAY),
        idle_poll: fields.milliseconds("relay.idle_poll_milliseconds", 1..=60_000),
        gather: fields.milliseconds("relay.gather_milliseconds", 0..=60_000),
        ..RelaySettings::default()
    };
    Relay { in_process: fields.switch("relay.in_process"), settings }
}

/// How log lines look.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LogFormat {
    /// For people.
    #[default]
    Pretty,
    /// For machines.
    Json,
}

/// What is logged, and how.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) format: LogFormat,
    pub(crate) filter: EnvFilter,
}

pub(super) fn log(fields: &mut Fields) -> Log {
    let expected = "error, warn, info, debug or trace, or directives such as info,orders=debug";
    Log {
        format: fields.one_of("log.format", &[("pretty", LogFormat::Pretty), ("json", LogFormat::Json)]),
        filter: fields.parsed("log.level", expected, EnvFilter::default()),
    }
}

/// How long requests that are under way may still take after the end was asked for.
pub(super) fn drain(fields: &mut Fields) -> Duration {
    fields.seconds("shutdown.drain_seconds", 1..=DAY)
}
