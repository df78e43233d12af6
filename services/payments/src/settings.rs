//! What `payments` lets you set.

use std::str::FromStr;
use std::time::Duration;

use reqwest::Url;
use runtime::Fields;

use crate::processor::{Forms, Processor, ProcessorError};
use crate::worker::{Limits, Pace};

/// The sections `[processor]` and `[worker]` of `config.toml`.
#[derive(Clone)]
pub struct Settings {
    /// Talks to the processor; `None` only in a configuration with faults, which nobody gets.
    pub(crate) processor: Option<Processor>,
    /// Writes what it is asked.
    pub(crate) forms: Forms,
    /// How the worker behaves.
    pub(crate) limits: Limits,
}

impl Settings {
    /// Settings that are made and not read: for tests.
    pub fn new(processor: Processor, forms: Forms, limits: Limits) -> Self {
        Self { processor: Some(processor), forms, limits }
    }

    pub(crate) fn read(fields: &mut Fields) -> Self {
        let deadline = fields.milliseconds("processor.timeout_milliseconds", 10..=60_000);
        let processor = processor(fields, deadline);
        let forms = Forms::of(deployment(fields));
        let limits = limits(fields);
        // An attempt is one call, and a second one where the first finds a customer missing.
        if limits.lease < deadline * 2 {
            fields.refuse("worker.lease_seconds", "at least twice processor.timeout_milliseconds");
        }
        Self { processor, forms, limits }
    }
}

fn processor(fields: &mut Fields, deadline: Duration) -> Option<Processor> {
    let base = fields.parsed("processor.url", "an http or https URL", Base(None)).0;
    let secret_key = fields.secret("processor.secret_key", "the processor's API key, such as sk_test_…");
    match Processor::new(base?, &secret_key, deadline) {
        Ok(processor) => Some(processor),
        Err(ProcessorError::SecretKey) => {
            fields.refuse("processor.secret_key", "printable ASCII");
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
    }
}
