//! The settings that only `payments` has: the sections `[payments]`, `[processor]`, `[worker]` and `[reconcile]` of
//! `config.toml`.
//!
//! Reading them collects every error, so that an operator sees all of them at once. It also makes the client of the
//! processor, because an unusable key or address must stop the start.

use std::time::Duration;

use chrono::TimeDelta;
use reqwest::Url;
use runtime::SettingsReader;
use secrecy::{ExposeSecret, SecretString};

use crate::domain::refund::RefundRetries;
use crate::domain::{Backoff, LookupLimits};
use crate::processor::{
    BreakerSettings, CallPolicy, ClientSettings, Processor, ProcessorError, RequestBodies,
};

/// The longest lease of an attempt, in seconds.
const LONGEST_LEASE: u64 = 600;

/// The longest life of a key, in seconds. Stripe deletes a key after 24 hours at the earliest, and an attempt may arrive as late as
/// its lease ends.
const LONGEST_KEY_LIFE: u64 = 86_400 - LONGEST_LEASE;

const HTTP_URL: &str = "an http or https URL";

/// The secrets of the demo, which everybody knows.
const DEMO_SECRET_KEY: &str = "sk_test_idem";
const DEMO_WEBHOOK_SECRET: &str = "whsec_idem";

/// The settings of the service.
#[derive(Clone)]
pub struct Settings {
    /// The client of the processor. It is `None` only if the configuration has errors, and then the service stops.
    pub processor: Option<Processor>,
    /// How calls to the processor are written, looked up and repeated.
    pub policy: CallPolicy,
    /// The worker.
    pub worker: WorkerSettings,
    /// The life of a payment without an order. Its first attempt must start within this time.
    pub payment_life: Duration,
    /// The events that the processor sends.
    pub webhooks: WebhookSettings,
    /// The comparison with the processor's records.
    pub reconcile: ReconcileSettings,
}

/// The settings of the worker.
#[derive(Debug, Clone)]
pub struct WorkerSettings {
    /// Concurrent requests.
    pub concurrency: usize,
    /// Concurrent lookups, besides the requests.
    pub look_up_concurrency: usize,
    /// How long an attempt may take. After it, another worker takes the call.
    pub lease: Duration,
    /// How often the worker looks for due calls, besides being woken.
    pub poll: Duration,
    /// Under load, the shortest time between two transactions that take calls, and between two that record results.
    pub gather: Duration,
    /// The pauses between attempts.
    pub backoff: Backoff,
    /// The pauses between lookups.
    pub look_up_backoff: Backoff,
    /// How often a call may fail with a permanent error, while it is taken or its result is recorded. Then a review is opened.
    pub faults: i32,
}

/// The settings for verifying and keeping webhook events.
#[derive(Clone)]
pub struct WebhookSettings {
    /// The signing secrets: several while a secret is being replaced. Without a secret, every event is refused.
    pub secrets: Vec<SecretString>,
    /// The greatest difference between the time of signing and the clock of this machine, in both directions.
    pub tolerance: Duration,
    /// How long an event is kept after nothing is left to be done with it.
    pub keep: TimeDelta,
}

/// The settings for comparing our records with the processor's.
#[derive(Debug, Clone)]
pub struct ReconcileSettings {
    /// The interval of the job; `None`: only operators reconcile.
    pub every: Option<Duration>,
    /// Objects younger than this may be missing on one side.
    pub grace: Duration,
    /// The length of the compared period.
    pub look_back: Duration,
}

impl Settings {
    pub(crate) fn read(fields: &mut SettingsReader) -> Self {
        let client = client(fields);
        let processor = processor(fields, &client);
        let (policy, worker) = (policy(fields), worker(fields));
        if worker.lease <= client.total {
            fields.refuse("worker.lease_seconds", "more than processor.total_timeout_milliseconds");
        }
        if policy.limits.review_after <= policy.limits.key_life {
            fields.refuse("worker.review_after_seconds", "more than worker.key_life_seconds");
        }
        Self {
            processor,
            policy,
            worker,
            payment_life: fields.seconds("payments.life_seconds", 1..=86_400),
            webhooks: webhooks(fields),
            reconcile: reconcile(fields),
        }
    }
}

fn client(fields: &mut SettingsReader) -> ClientSettings {
    let client = ClientSettings {
        version: fields.text("processor.api_version", "the version of the processor's protocol"),
        connect: fields.milliseconds("processor.connect_timeout_milliseconds", 1..=60_000),
        request: fields.milliseconds("processor.timeout_milliseconds", 10..=60_000),
        total: fields.milliseconds("processor.total_timeout_milliseconds", 10..=600_000),
        concurrency: fields.number("processor.concurrency", 1..=1024),
        breaker: BreakerSettings {
            failures: fields.number("processor.breaker_failures", 1..=10_000),
            pause: fields.milliseconds("processor.breaker_pause_milliseconds", 1..=600_000),
        },
    };
    if client.total < client.request {
        fields.refuse("processor.total_timeout_milliseconds", "at least processor.timeout_milliseconds");
    }
    client
}

fn processor(fields: &mut SettingsReader, client: &ClientSettings) -> Option<Processor> {
    let url = fields.optional("processor.url", HTTP_URL);
    let url: Option<Url> = fields.required("processor.url", HTTP_URL, url);
    let secret_key = fields.secret("processor.secret_key", "the processor's API key, such as sk_test_…");
    let url = url?;
    let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
    if !matches!(url.scheme(), "http" | "https") || !is_plain {
        fields.refuse("processor.url", HTTP_URL);
    }
    let is_live = ["sk_live_", "rk_live_"].iter().any(|live| secret_key.expose_secret().starts_with(live));
    if is_live && url.scheme() == "http" {
        fields.refuse_in_production("processor.url", "an https URL, because the key is live");
    }
    if secret_key.expose_secret() == DEMO_SECRET_KEY {
        fields.refuse_in_production("processor.secret_key", "a key of your own, not that of the demo");
    }
    let refuse = |error| match error {
        ProcessorError::SecretKey => fields.refuse("processor.secret_key", "printable ASCII"),
        ProcessorError::Version => fields.refuse("processor.api_version", "printable ASCII"),
        ProcessorError::Client(error) => {
            fields.refuse("processor.url", &format!("an address that this system can call: {error}"));
        }
    };
    Processor::new(url, &secret_key, client).map_err(refuse).ok()
}

fn policy(fields: &mut SettingsReader) -> CallPolicy {
    CallPolicy {
        bodies: RequestBodies::of(fields.text("deployment.name", "the name of this deployment")),
        limits: LookupLimits {
            key_life: fields.seconds("worker.key_life_seconds", 60..=LONGEST_KEY_LIFE),
            look_ups: fields.number("worker.look_ups", 1..=1000),
            review_after: fields.seconds("worker.review_after_seconds", 60..=2_592_000),
        },
        retries: RefundRetries {
            tries: fields.number("worker.refund_tries", 1..=1000),
            backoff: Backoff {
                first: fields.milliseconds("worker.first_refund_pause_milliseconds", 1..=86_400_000),
                longest: fields.milliseconds("worker.longest_refund_pause_milliseconds", 1..=604_800_000),
            },
        },
    }
}

fn worker(fields: &mut SettingsReader) -> WorkerSettings {
    WorkerSettings {
        concurrency: fields.number("worker.concurrency", 1..=1024),
        look_up_concurrency: fields.number("worker.look_up_concurrency", 1..=256),
        lease: fields.seconds("worker.lease_seconds", 1..=LONGEST_LEASE),
        poll: fields.milliseconds("worker.poll_milliseconds", 10..=60_000),
        gather: fields.milliseconds("worker.gather_milliseconds", 0..=60_000),
        backoff: Backoff {
            first: fields.milliseconds("worker.first_pause_milliseconds", 1..=60_000),
            longest: fields.milliseconds("worker.longest_pause_milliseconds", 1..=3_600_000),
        },
        faults: fields.number("worker.faults", 1..=1000),
        look_up_backoff: Backoff {
            first: fields.milliseconds("worker.first_look_up_pause_milliseconds", 1..=600_000),
            longest: fields.milliseconds("worker.longest_look_up_pause_milliseconds", 1..=86_400_000),
        },
    }
}

fn webhooks(fields: &mut SettingsReader) -> WebhookSettings {
    let listed = fields.optional_secret("processor.webhook_secrets");
    let listed = listed.as_ref().map_or("", |secrets| secrets.expose_secret());
    let secrets: Vec<SecretString> =
        listed.split(',').map(str::trim).filter(|_| !listed.is_empty()).map(SecretString::from).collect();
    if secrets.iter().any(|secret| secret.expose_secret().is_empty()) {
        fields.refuse("processor.webhook_secrets", "secrets, separated by single commas");
    }
    if secrets.iter().any(|secret| secret.expose_secret() == DEMO_WEBHOOK_SECRET) {
        fields.refuse_in_production("processor.webhook_secrets", "secrets of your own, not that of the demo");
    }
    let tolerance = fields.seconds("processor.webhook_tolerance_seconds", 1..=3_600);
    let keep = TimeDelta::days(fields.number("processor.webhook_keep_days", 7..=3_650));
    WebhookSettings { secrets, tolerance, keep }
}

fn reconcile(fields: &mut SettingsReader) -> ReconcileSettings {
    let every = fields.seconds("reconcile.every_seconds", 0..=604_800);
    let grace = fields.seconds("reconcile.grace_seconds", 1..=86_400);
    let look_back = fields.seconds("reconcile.look_back_seconds", 60..=7_776_000);
    if grace >= look_back {
        fields.refuse("reconcile.grace_seconds", "less than reconcile.look_back_seconds");
    }
    ReconcileSettings { every: (!every.is_zero()).then_some(every), grace, look_back }
}
