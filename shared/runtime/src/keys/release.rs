//! `keys release`: frees the key of an operation that had no effect and never will.

use audit::{Fact, Operator};
use clap::Args;
use database::Database;
use idempotency::{HeldKey, KeyRelease, RecordState, release_key};
use serde::Serialize;
use uuid::Uuid;

use crate::CommandOutput;

/// The arguments.
#[derive(Debug, Args)]
pub(crate) struct Release {
    /// The operation that was accepted with the key (keys show, or the field operation of the log)
    operation_id: Uuid,
    #[command(flatten)]
    operator: Operator,
    /// Show whether the key would be freed, and change nothing
    #[arg(long)]
    dry_run: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    dry_run: bool,
    operation_id: Uuid,
    /// True if this command freed the key. In a dry run: true if the command would do so.
    released: bool,
    /// The state of the key before; null if no key belongs to the operation.
    state: Option<&'static str>,
    /// Why the key is not freed, or what is possible now.
    detail: String,
}

impl Release {
    /// Is done if the key is free.
    pub(super) async fn run(self, database: &Database) -> Result<CommandOutput, Box<dyn std::error::Error>> {
        let id = self.operation_id;
        let mut tx = database.begin().await?;
        let release = release_key(&mut tx, id.into()).await?;
        match &release {
            KeyRelease::Released(key) if !self.dry_run => {
                let fact =
                    Fact::by_operator(&self.operator, Some(&key.tenant()?), "key.release", "operation", id);
                audit::record(&mut tx, fact.with(serde_json::json!({ "state": <&str>::from(key.state) })));
                tx.commit().await?;
            }
            _ => tx.rollback().await?,
        }
        let report = Report::of(self.dry_run, id, &release);
        Ok(CommandOutput::new(self.json, report.released, &report, Report::text))
    }
}

impl Report {
    fn of(dry_run: bool, operation_id: Uuid, release: &KeyRelease) -> Self {
        let (released, key, detail) = match release {
            KeyRelease::Released(key) => {
                (true, Some(key), "the next request with it is a new command".to_owned())
            }
            KeyRelease::Kept(key) => (false, Some(key), kept_because(key)),
            KeyRelease::InUse(key) => {
                (false, Some(key), "a request with it runs now: run this command again".to_owned())
            }
            KeyRelease::NotFound => (
                false,
                None,
                "no key belongs to it: it was released before, or its response has expired".to_owned(),
            ),
        };
        Self { dry_run, operation_id, released, state: key.map(|key| key.state.into()), detail }
    }

    fn text(&self) -> String {
        let Self { dry_run, operation_id, released, detail, .. } = self;
        let verb = match (released, dry_run) {
            (true, true) => "would be free",
            (true, false) => "is free",
            (false, _) => "is not freed",
        };
        format!("the key of operation {operation_id} {verb}: {detail}\n")
    }
}

/// Why a key stays that has, or may have, an effect.
fn kept_because(key: &HeldKey) -> String {
    let HeldKey { method, route, state, .. } = key;
    let why = match state {
        RecordState::Started => "is being carried out",
        RecordState::Unknown => "may have taken effect: its outcome is looked up, or decided in a review",
        _ => "has its stored response, which a retry gets",
    };
    format!("{method} {route} {why}")
}
