//! The cases. A number never changes its meaning. The number of a withdrawn case is not used again: 215.

mod abuse;
mod concurrency;
mod errors;
mod expiry;
mod fence;
mod fingerprint;
mod grammar;
mod phased;
mod replay;
mod scope;

use std::pin::Pin;

use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use crate::case_error::CaseResult;
use crate::trial::Trial;

/// A group of cases.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Display, EnumString, IntoStaticStr, VariantArray,
)]
#[strum(serialize_all = "snake_case")]
pub enum Group {
    /// The header: cases 101 and up.
    Grammar,
    /// The response to a retry: 201 and up.
    Replay,
    /// What counts as the same request: 301 and up.
    Fingerprint,
    /// Requests at the same time: 401 and up.
    Concurrency,
    /// The callers that share a key: 501 and up.
    Scope,
    /// Requests that are refused: 601 and up.
    Errors,
    /// Keys that have expired: 701 and up.
    Expiry,
    /// Requests that are meant to do harm: 801 and up.
    Abuse,
    /// Commands whose outcome comes later: 901 and up.
    Phased,
    /// Keys that a client gives up: 1001 and up.
    Fence,
}

type Running<'t> = Pin<Box<dyn Future<Output = CaseResult> + 't>>;

/// A rule, and the requests that test it.
pub struct Case {
    /// The number, which never changes.
    pub number: u16,
    /// The rule as a sentence, with underscores.
    pub(crate) name: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
    /// Why the rule is there.
    pub reason: &'static str,
    /// True if a sound server may decide otherwise.
    pub is_optional: bool,
    run: for<'t> fn(&'t Trial<'t>) -> Running<'t>,
}

impl Case {
    /// The group.
    pub fn group(&self) -> Group {
        Group::VARIANTS[usize::from(self.number / 100).saturating_sub(1)]
    }

    /// The rule as a sentence.
    pub fn title(&self) -> String {
        self.name.replace('_', " ")
    }

    pub(crate) async fn run(&self, trial: &Trial<'_>) -> CaseResult {
        (self.run)(trial).await
    }

    const fn optional(self) -> Self {
        Self { is_optional: true, ..self }
    }
}

// The sources of most rules.
const DRAFT: &str = "IETF draft-07";
const IDEM: &str = "Idem";
const STRIPE: &str = "Stripe";
const ACP: &str = "Agentic Commerce Protocol";

/// `case!(number, function, source, reason)`
macro_rules! case {
    ($number:literal, $name:ident, $source:expr, $reason:literal) => {
        $crate::cases::Case {
            number: $number,
            name: stringify!($name),
            source: $source,
            reason: $reason,
            is_optional: false,
            run: |trial| Box::pin($name(trial)),
        }
    };
}
use case;

/// Every case, by number.
pub(crate) fn all() -> impl Iterator<Item = &'static Case> {
    let groups: [&[Case]; 10] = [
        grammar::CASES,
        replay::CASES,
        fingerprint::CASES,
        concurrency::CASES,
        scope::CASES,
        errors::CASES,
        expiry::CASES,
        abuse::CASES,
        phased::CASES,
        fence::CASES,
    ];
    groups.into_iter().flatten()
}
