//! `operator explain`: everything that is known about one order.

mod facts;
mod inventory;
mod line;
mod messages;
mod obstacle;
mod offsets;
mod order_status;
mod orders;
mod page;
mod payments;
mod provider;
mod requests;

#[cfg(test)]
mod tests;

use clap::Args;
use serde_json::json;
use uuid::Uuid;

use self::facts::{Facts, ReadRows};
use self::messages::Positions;
use self::order_status::OrderStatus;
use self::page::Page;
use crate::{Output, Sources, as_json};

/// The arguments.
#[derive(Debug, Args)]
pub struct Explain {
    /// The id of the order
    order: Uuid,
    /// Read the topics, too, and show the offset of each event
    #[arg(long)]
    offsets: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    sources: Sources,
}

impl Explain {
    /// Reads the order. All is well if every part could be read and there is such an order.
    pub async fn run(self) -> Output {
        let books = self.sources.books();
        let mut facts = Facts::read(&books, self.order).await;
        let positions = self.positions(&mut facts).await;
        let lines = facts.lines(&self.sources.topics(), &positions);
        let is_unknown = matches!(facts.order, ReadRows::Nothing);
        if is_unknown && lines.is_empty() && facts.unread.is_empty() {
            let sentence = format!("there is no order {}", self.order);
            return (if self.json { as_json(&json!({ "error": sentence })) } else { sentence + "\n" }, false);
        }
        let is_well = facts.unread.is_empty() && !is_unknown;
        let page = Page::new(self.order, &facts, lines, OrderStatus::of(&facts));
        (if self.json { as_json(&page) } else { page.to_string() }, is_well)
    }

    /// The positions of the events on the topics, if they are asked for. Brokers that are away leave a gap.
    async fn positions(&self, facts: &mut Facts) -> Positions {
        if !self.offsets {
            return Positions::new();
        }
        let Some(kafka) = self.sources.kafka() else {
            facts.unread.push("the topics cannot be read: no brokers are given".to_owned());
            return Positions::new();
        };
        match offsets::read(&kafka, facts).await {
            Ok(positions) => positions,
            Err(error) => {
                facts.unread.push(format!("the topics cannot be read: {error}"));
                Positions::new()
            }
        }
    }
}
