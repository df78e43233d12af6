//! `keys release`: frees the key of an operation that had no effect and never will.

use std::error::Error;

use clap::Args;
use database::Tx;
use idempotency::{HeldKey, KeyRelease, RecordState, release_key};
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use crate::{Change, CommandOutput, Installation, Outcome};

/// The arguments.
#[derive(Debug, Args)]
pub struct Release {
    /// The operation that was accepted with the key (keys show, or the field operation of the log)
    operation_id: Uuid,
    #[command(flatten)]
    change: Change,
}

#[derive(Serialize)]
struct Report {
    operation_id: Uuid,
    /// True if this command freed the key.
    released: bool,
    /// The state of the key before; null if no key belongs to the operation.
    state: Option<&'static str>,
    /// Why the key is not freed, or what is possible now.
    detail: String,
}

impl Release {
    /// Is done if the key is free.
    pub(super) async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        self.change.run(&context.database, async |tx| self.release(tx).await).await
    }

    async fn release(&self, tx: &mut Tx) -> Result<Outcome<Report>, Box<dyn Error>> {
        let id = self.operation_id;
        let release = release_key(tx, id.into()).await?;
        let (key, detail) = match &release {
            KeyRelease::Released(key) => (Some(key), "the next request with it is a new command".to_owned()),
            KeyRelease::Kept(key) => (Some(key), kept_because(key)),
            KeyRelease::InUse(key) => {
                (Some(key), "a request with it runs now: run this command again".to_owned())
            }
            KeyRelease::NotFound => {
                (None, "no key belongs to it: it was released before, or its response has expired".to_owned())
            }
        };
        let (released, state) = (matches!(release, KeyRelease::Released(_)), key.map(|key| key.state.into()));
        let verb = if released { "is free" } else { "is not freed" };
        let sentence = format!("the key of operation {id} {verb}: {detail}");
        let report = Report { operation_id: id, released, state, detail };
        let KeyRelease::Released(key) = release else { return Ok(Outcome::refused(report, sentence)) };
        let fact = self.change.fact(Some(&key.tenant()?), "key.release", "operation", id);
        Ok(Outcome::changed(report, sentence, fact.with(json!({ "state": state }))))
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
