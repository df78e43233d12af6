//! `operator explain`: everything that is known about one order. The statements of `explain*.sql` beside the audits name the tables; this joins their
//! rows.

mod fact;
mod facts;
mod obstacle;
mod offsets;
mod page;

#[cfg(test)]
mod tests;

use clap::Args;
use serde_json::json;
use uuid::Uuid;

use self::facts::Facts;
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
        let mut facts = Facts::read(&self.sources.books(), self.order).await;
        let may_be_missing = self.sources.kafka().is_some() && !obstacle::not_consumed(&facts).is_empty();
        if self.offsets || may_be_missing {
            // Brokers that are away leave a gap.
            let unread = self.read_offsets(&mut facts).await.err();
            facts.unread.extend(unread);
        }
        let page = Page::new(self.order, &facts, &self.sources.topics());
        let has_read_all = facts.unread.is_empty();
        if has_read_all && page.tenant.is_none() && page.lines.is_empty() {
            let sentence = format!("there is no order {}", self.order);
            return (if self.json { as_json(&json!({ "error": sentence })) } else { sentence + "\n" }, false);
        }
        let is_well = has_read_all && page.tenant.is_some();
        (if self.json { as_json(&page) } else { page.to_string() }, is_well)
    }

    async fn read_offsets(&self, facts: &mut Facts) -> Result<(), String> {
        let kafka = self.sources.kafka().ok_or("the topics cannot be read: no brokers are given")?;
        offsets::read(&kafka, facts).await.map_err(|error| format!("the topics cannot be read: {error}"))
    }
}
