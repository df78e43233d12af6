//! The stock of a run.

use diesel::sql_types::{Array, BigInt, Text};
use diesel::{QueryableByName, sql_query};
use harness::{Part, Result};

use crate::demo::Demo;
use crate::report::Step;
use crate::steps::of_services::ServiceSide;

/// The stock of an item, and its movements.
#[derive(Debug, QueryableByName)]
struct Item {
    #[diesel(sql_type = Text)]
    sku: String,
    #[diesel(sql_type = BigInt)]
    on_hand: i64,
    #[diesel(sql_type = BigInt)]
    reserved: i64,
    #[diesel(sql_type = BigInt)]
    adjusted: i64,
    #[diesel(sql_type = BigInt)]
    shipped: i64,
}

/// The side of inventory.
pub(crate) struct Side;

impl ServiceSide for Side {
    async fn figures(demo: &Demo<'_>, step: &mut Step<'_>, tenants: &[String]) -> Result<()> {
        let hint = "./dev psql inventory";
        let query = sql_query(include_str!("facts/stock.sql")).bind::<Array<Text>, _>(tenants.to_vec());
        let items: Vec<Item> = demo.books.load(Part::INVENTORY, query).await?;
        step.check("items of this run", "some", items.len(), !items.is_empty(), hint);
        for item in &items {
            let accounted = item.on_hand + item.shipped;
            step.equal(&format!("{} on hand + shipped", item.sku), item.adjusted, accounted, hint);
            step.equal(&format!("{} reserved, with no order open", item.sku), 0, item.reserved, hint);
        }
        let sum = |of: fn(&Item) -> i64| items.iter().map(of).sum::<i64>();
        let (adjusted, shipped) = (sum(|item| item.adjusted), sum(|item| item.shipped));
        let (on_hand, reserved) = (sum(|item| item.on_hand), sum(|item| item.reserved));
        step.detail(format!(
            "stock      {adjusted} delivered = {on_hand} on hand + {shipped} shipped; {reserved} reserved"
        ));
        Ok(())
    }
}
