//! `payments reconcile`: reconciles once.

use chrono::TimeDelta;
use clap::Args;
use operators::{CommandOutput, Read};
use runtime::Context;

use crate::Payments;
use crate::reconcile::{ReconcileError, Start, reconcile};

/// The arguments.
#[derive(Debug, Args)]
pub struct Reconcile {
    /// Start of the compared period: a length of time before now (90s, 15m, 36h, 7d), or a time in RFC 3339. Default:
    /// as far back as the job compares
    #[arg(long, value_name = "WHEN", value_parser = start)]
    since: Option<Start>,
    #[command(flatten)]
    read: Read,
}

impl Reconcile {
    pub(super) async fn run(self, context: &Context<Payments>) -> Result<CommandOutput, ReconcileError> {
        let start = self.since.unwrap_or(Start::Configured);
        let report = reconcile(&context.database, &context.settings, start).await?;
        Ok(self.read.output(report.agrees, "", &report))
    }
}

fn start(text: &str) -> Result<Start, &'static str> {
    if let Some(time) = database::time::from_rfc3339(text) {
        return Ok(Start::At(time));
    }
    let wrong =
        "expected a length of time such as 90s, 15m, 36h or 7d, or a time such as 2026-11-20T12:00:00Z";
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or(wrong)?;
    let number: i64 = number.parse().map_err(|_| wrong)?;
    let length = match unit {
        "s" => TimeDelta::try_seconds(number),
        "m" => TimeDelta::try_minutes(number),
        "h" => TimeDelta::try_hours(number),
        "d" => TimeDelta::try_days(number),
        _ => None,
    };
    // At most 100 years, so that the start is a time that the database can store.
    length.filter(|length| (1..36_500).contains(&(length.num_days() + 1))).map(Start::Ago).ok_or(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_a_length_of_time_or_a_time() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("36h", 129_600), ("7d", 604_800)] {
            assert!(
                matches!(start(text), Ok(Start::Ago(length)) if length.num_seconds() == seconds),
                "{text}"
            );
        }
        assert!(matches!(start("2026-11-20T12:00:00Z"), Ok(Start::At(_))));
        for nonsense in ["", "d", "7", "-1d", "7w", "1é", "99999999d", "yesterday"] {
            assert!(start(nonsense).is_err(), "{nonsense}");
        }
    }
}
