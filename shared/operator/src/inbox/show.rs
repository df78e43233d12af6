//! `inbox show`: prints one waiting message with its headers and payload.

use std::error::Error;

use clap::Args;
use diesel::sql_types::{BigInt, Bytea, Jsonb, Text, Uuid as SqlUuid};
use diesel::{OptionalExtension, QueryableByName, sql_query};
use diesel_async::RunQueryDsl;
use serde::Serialize;
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

/// The columns that the list leaves out.
const CONTENT: &str = "\
    SELECT headers, payload, encode(sha256(payload), 'hex') AS sha256, \
           translate(encode(payload, 'base64'), E'\\n', '') AS base64, \
           1 + coalesce((SELECT last_sequence FROM inbox_sequence \
                          WHERE (consumer, source, aggregate_id) = (parked.consumer, parked.source, parked.aggregate_id)), 0) \
               AS next_sequence \
      FROM inbox_parked AS parked WHERE consumer = $1 AND message_id = $2";

#[derive(QueryableByName)]
struct Content {
    #[diesel(sql_type = Jsonb)]
    headers: Value,
    #[diesel(sql_type = Bytea)]
    payload: Vec<u8>,
    #[diesel(sql_type = Text)]
    sha256: String,
    #[diesel(sql_type = Text)]
    base64: String,
    #[diesel(sql_type = BigInt)]
    next_sequence: i64,
}

#[derive(Serialize)]
struct Shown<'a> {
    #[serde(flatten)]
    message: &'a Report,
    /// The sequence of the aggregate's next message.
    next_sequence: i64,
    headers: Value,
    payload_bytes: usize,
    payload_sha256: String,
    /// The payload, if it is UTF-8.
    payload_text: Option<String>,
    /// The payload, if it is not UTF-8.
    payload_base64: Option<String>,
}

impl Show {
    pub(super) async fn run(self, context: &Installation) -> Result<CommandOutput, Box<dyn Error>> {
        let mut connection = context.database.connection().await?;
        let consumer = context.consumer()?.name();
        let which = json!({ "consumer": consumer, "message": self.message_id });
        let listed = query(&mut connection, PARKED, &which).await?;
        let content = sql_query(CONTENT).bind::<Text, _>(consumer).bind::<SqlUuid, _>(self.message_id);
        let content: Option<Content> = content.get_result(&mut connection).await.optional()?;
        let ([message], Some(content)) = (&listed[..], content) else {
            return Ok(CommandOutput::not_found(format!("message {} does not wait", self.message_id)));
        };
        let Content { headers, payload, sha256, base64, next_sequence } = content;
        let shown = Shown {
            message,
            next_sequence,
            headers,
            payload_bytes: payload.len(),
            payload_sha256: sha256,
            payload_base64: std::str::from_utf8(&payload).is_err().then_some(base64),
            payload_text: String::from_utf8(payload).ok(),
        };
        Ok(self.read.output(true, "", &shown))
    }
}
