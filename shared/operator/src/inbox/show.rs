//! `inbox show`: prints one waiting message with its headers and payload.

use std::error::Error;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clap::Args;
use serde_json::{Value, json};
use uuid::Uuid;

use super::parked::PARKED;
use crate::{CommandOutput, Installation, Read, Report, query};

/// The arguments.
#[derive(Debug, Args)]
pub struct Show {
    /// The id of the waiting message
    message_id: Uuid,
    #[command(flatten)]
    read: Read,
}

impl Show {
    pub(super) async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        let mut connection = context.database.connection().await?;
        let which = json!({ "consumer": context.consumer()?.name(), "message": self.message_id });
        let message = query(&mut connection, PARKED, &which).await?.pop();
        let content = query(&mut connection, include_str!("show.sql"), &which).await?.pop();
        let (Some(Report::Object(mut shown)), Some(Report::Object(content))) = (message, content) else {
            return Ok(CommandOutput::not_found(format!("message {} does not wait", self.message_id)));
        };
        shown.extend(content);
        // A payload that is UTF-8 is shown as text.
        if let Some(Report::Scalar(Value::String(payload))) = shown.get("payload_base64")
            && let Ok(text) = String::from_utf8(BASE64_STANDARD.decode(payload)?)
        {
            shown.insert("payload_text".to_owned(), Report::Scalar(text.into()));
            shown.insert("payload_base64".to_owned(), Report::Scalar(Value::Null));
        }
        Ok(self.read.output(true, "", &shown))
    }
}
