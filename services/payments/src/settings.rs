//! What `payments` lets you set.

use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;
use runtime::Fields;

use crate::processor::{Breaker, Forms, Manners, Processor, ProcessorError};
use crate::reconcile::Rules;
use crate::webhooks::Webhooks;
use crate::worker::{Limits, Pace};

/// Where nothing else is said.
const SEAL_EVERY: Duration = Duration::from_secs(1);

/// Where nothing else is said.
const PAYMENT_LIFE: Duration = Duration::from_mins(15);

/// The sections `[payments]`, `[processor]`, `[worker]`, `[ledger]` and `[reconcile]` of `config.toml`.
#[derive(Clone)]
pub struct Settings {
    /// Talks to the processor; `None` only in a configuration with faults, which nobody gets.
    pub(crate) processor: Option<Processor>,
    /// Writes what it is asked.
    pub(crate) forms: Forms,
    /// How the worker behaves.
    pub(crate) limits: Limits,
    /// How long after its acceptance a payment's first attempt may start, where no order sets another limit.
    pub(crate) payment_life: Duration,
    /// How the processor's events are known to be its own.
    pub(crate) webhooks: Webhooks,
    /// How our books are compared with the processor's.
    pub(crate) reconcile: Rules,
    /// Between two looks for what is to be sealed in the ledger.
    pub(crate) seal_every: Duration,
}

impl Settings {
    /// Settings that are made and not read: for tests.
    pub fn new(processor: Processor, forms: Forms, limits: Limits) -> Self {
        Self {
            processor: Some(processor),
            forms,
            limits,
            payment_life: PAYMENT_LIFE,
            webhooks: Webhooks::default(),
            reconcile: Rules::default(),
            seal_every: SEAL_EVERY,
        }
    }

    /// The same, comparing books by these rules.
    #[must_use]
    pub fn with_rules(self, reconcile: Rules) -> Self {
        Self { reconcile, ..self }
    }

    /// The same, with events of the processor.
    #[must_use]
    pub fn with_webhooks(self, webhooks: Webhooks) -> Self {
        Self { webhooks, ..self }
    }

    pub(crate) fn read(fields: &mut Fields) -> Self {
        let manners = manners(fields);
        let processor = processor(fields, &manners);
        let forms = Forms::of(deployment(fields));
        let limits = limits(fields);
        if limits.lease <= manners.total {
            fields.refuse("worker.lease_seconds", "more than processor.total_timeout_milliseconds");
        }
        let seal_every = fields.milliseconds("ledger.seal_milliseconds", 10..=60_000);
        let payment_life = fields.seconds("payments.life_seconds", 1..=86_400);
        Self {
            processor,
            forms,
            limits,
            payment_life,
            webhooks: Webhooks::read(fields),
            reconcile: Rules::read(fields),
            seal_every,
        }
    }
}

fn manners(fields: &mut Fields) -> Manners {
    let manners = Manners {
        version: fields.text("processor.api_version", "the version of the processor's protocol"),
        connect: fields.milliseconds("processor.connect_timeout_milliseconds", 1..=60_000),
        request: fields.milliseconds("processor.timeout_milliseconds", 10..=60_000),
        total: fields.milliseconds("processor.total_timeout_milliseconds", 10..=600_000),
        concurrency: fields.number("processor.concurrency", 1..=1024),
        breaker: Breaker {
            failures: fields.number("processor.breaker_failures", 1..=10_000),
            pause: fields.milliseconds("processor.breaker_pause_milliseconds", 1..=600_000),
        },
    };
    if manners.total < manners.request {
        fields.refuse("processor.total_timeout_milliseconds", "at least processor.timeout_milliseconds");
    }
    manners
}

fn processor(fields: &mut Fields, manners: &Manners) -> Option<Processor> {
    let base = fields.parsed("processor.url", "an http or https URL", Base(None)).0;
    let secret_key = fields.secret("processor.secret_key", "the processor's API key, such as sk_test_…");
    match Processor::new(base?, &secret_key, manners) {
        Ok(processor) => Some(processor),
        Err(ProcessorError::SecretKey) => {
            fields.refuse("processor.secret_key", "printable ASCII");
            None
        }
        Err(ProcessorError::Version) => {
            fields.refuse("processor.api_version", "printable ASCII");
            None
        }
        Err(ProcessorError::Client(error)) => {
            fields.refuse("processor.url", &format!("an address that this system can call: {error}"));
            None
        }
    }
}

/// The processor's address.
struct Base(Option<Url>);

impl FromStr for Base {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let url: Url = text.parse().map_err(|_| ())?;
        let is_plain = url.username().is_empty() && url.password().is_none() && url.query().is_none();
        if matches!(url.scheme(), "http" | "https") && is_plain { Ok(Self(Some(url))) } else { Err(()) }
    }
}

fn deployment(fields: &mut Fields) -> String {
    let name = fields.text("processor.deployment", "the name of this deployment");
    if !(1..=64).contains(&name.len()) || name.contains(char::is_control) {
        fields.refuse("processor.deployment", "1 to 64 bytes of text");
    }
    name
}

fn limits(fields: &mut Fields) -> Limits {
    Limits {
        concurrency: fields.number("worker.concurrency", 1..=256),
        lease: fields.seconds("worker.lease_seconds", 1..=600),
        poll: fields.milliseconds("worker.poll_milliseconds", 10..=60_000),
        key_life: fields.seconds("worker.key_life_seconds", 60..=2_592_000),
        pace: Pace {
            first: fields.milliseconds("worker.first_pause_milliseconds", 1..=60_000),
            longest: fields.milliseconds("worker.longest_pause_milliseconds", 1..=3_600_000),
        },
        look_ups: fields.number("worker.look_ups", 1..=1000),
        faults: fields.number("worker.faults", 1..=1000),
        look_up_pace: Pace {
            first: fields.milliseconds("worker.first_look_up_pause_milliseconds", 1..=600_000),
            longest: fields.milliseconds("worker.longest_look_up_pause_milliseconds", 1..=86_400_000),
        },
    }
}
