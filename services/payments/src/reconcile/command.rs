//! `payments reconcile`: the comparison by hand.

use chrono::TimeDelta;
use clap::Args;
use runtime::{CommandOutput, Context};

use super::gather::Unread;
use super::round::{Round, Since};
use crate::Payments;

/// The arguments.
#[derive(Debug, Args)]
pub struct Reconcile {
    /// From when on: so long ago (90s, 15m, 36h, 7d), or a moment as RFC 3339 has it; without it, as far as the job does
    #[arg(long, value_name = "WHEN", value_parser = since)]
    since: Option<Since>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

impl Reconcile {
    pub(crate) async fn run(self, context: &Context<Payments>) -> Result<CommandOutput, Unread> {
        let round = Round { database: &context.database, settings: &context.settings };
        let since = self.since.unwrap_or_else(|| Since::Back(context.settings.reconcile.look_back()));
        let report = round.run(since).await?;
        Ok(CommandOutput::new(self.json, report.agrees, &report, super::report::Report::text))
    }
}

fn since(text: &str) -> Result<Since, &'static str> {
    if let Some(moment) = database::time::from_rfc3339(text) {
        return Ok(Since::At(moment));
    }
    let wrong = "a length of time such as 90s, 15m, 36h or 7d, or a moment such as 2026-11-20T12:00:00Z";
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or(wrong)?;
    let number: i64 = number.parse().map_err(|_| wrong)?;
    let length = match unit {
        "s" => TimeDelta::try_seconds(number),
        "m" => TimeDelta::try_minutes(number),
        "h" => TimeDelta::try_hours(number),
        "d" => TimeDelta::try_days(number),
        _ => None,
    };
    // A century ago there were no cards.
    length.filter(|length| (1..36_500).contains(&(length.num_days() + 1))).map(Since::Back).ok_or(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_a_length_or_a_moment() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("36h", 129_600), ("7d", 604_800)] {
            assert!(
                matches!(since(text), Ok(Since::Back(length)) if length.num_seconds() == seconds),
                "{text}"
            );
        }
        assert!(matches!(since("2026-11-20T12:00:00Z"), Ok(Since::At(_))));
        for nonsense in ["", "d", "7", "-1d", "7w", "1é", "99999999d", "yesterday"] {
            assert!(since(nonsense).is_err(), "{nonsense}");
        }
    }
}
