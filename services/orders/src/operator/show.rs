//! `orders show`: an order of any tenant, as the database has it, and its timeline.

use clap::Args;
use database::time::to_rfc3339;
use database::{Database, Result};
use operators::{CommandOutput, Read};
use serde::Serialize;
use uuid::Uuid;

use crate::store::orders::{self, OrderRow};
use crate::store::timeline::{self, EntryRow};

/// The arguments.
#[derive(Debug, Args)]
pub struct Show {
    /// The order, or its payment
    order_id: Uuid,
    #[command(flatten)]
    read: Read,
}

#[derive(Serialize)]
struct Report {
    order_id: Uuid,
    tenant: String,
    status: &'static str,
    total: String,
    payment_id: Option<String>,
    placed_at: String,
    expires_at: String,
    timeline: Vec<Entry>,
}

/// An entry of the timeline.
#[derive(Serialize)]
struct Entry {
    at: String,
    what: &'static str,
    status: &'static str,
    /// Request, message or job, with its id and its author.
    cause: String,
}

impl Show {
    pub(super) async fn run(self, database: &Database) -> Result<CommandOutput> {
        let mut connection = database.connection().await?;
        let Some(order) = orders::find_by_order_or_payment(&mut connection, self.order_id).await? else {
            return Ok(not_found(self.order_id));
        };
        let timeline = timeline::of_order(&mut connection, &order.tenant()?, order.id()).await?;
        let report = Report::of(&order, &timeline.unwrap_or_default())?;
        Ok(self.read.output(true, "", &report))
    }
}

impl Report {
    fn of(order: &OrderRow, timeline: &[EntryRow]) -> Result<Self> {
        let entry = |entry: &EntryRow| Entry {
            at: to_rfc3339(entry.at),
            what: entry.what.into(),
            status: entry.state.into(),
            cause: format!("{} {} by {}", <&str>::from(entry.cause_kind), entry.cause_id, entry.cause_by),
        };
        Ok(Self {
            order_id: order.id,
            tenant: order.tenant()?.to_string(),
            status: order.state()?.status().into(),
            total: order.total()?.to_string(),
            payment_id: order.payment().map(|payment| payment.to_string()),
            placed_at: to_rfc3339(order.placed_at),
            expires_at: to_rfc3339(order.expires_at),
            timeline: timeline.iter().map(entry).collect(),
        })
    }
}

pub(super) fn not_found(order: Uuid) -> CommandOutput {
    CommandOutput::not_found(format!("there is no order {order}"))
}
