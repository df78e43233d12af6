//! Asks the audits, again and again: every question of `audits/`, and those that join databases.

use std::time::Duration;

use crate::lab::Lab;
use crate::state::Source;

/// The longest that the command may take. It asks questions that join databases again for ten seconds.
const LIMIT: Duration = Duration::from_mins(2);
/// The pause between two audits.
const PAUSE: Duration = Duration::from_secs(1);

/// Runs one audit after the other, never two at once. An audit that finds violations is read as one that finds none.
pub(crate) async fn watch(lab: &Lab) {
    loop {
        lab.state.send_modify(|state| state.audit.begin());
        let report = match lab.dev.read_json(&["audit", "--json"], LIMIT).await {
            Ok(report) => Source::Read(report),
            Err(error) => Source::Away(error.to_string()),
        };
        lab.state.send_modify(|state| state.audit.end(report));
        tokio::time::sleep(PAUSE).await;
    }
}
